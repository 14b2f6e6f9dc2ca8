"""Generalized matrix factorization."""

from typing import ClassVar

import torch
from torch import Tensor

from recsieve.data.interactions import CSR
from recsieve.denoisers import Range
from recsieve.models.base import Model, embedding, output_layer
from recsieve.models.scorer import Factors


class GMF(Model):
    """A weighted dot product of a user and an item vector (He et al., 2017)."""

    search_space: ClassVar[dict[str, Range]] = {"factors": Range(8, 256, whole=True)}

    def __init__(self, profiles: CSR, generator: torch.Generator, *, factors: int = 32) -> None:
        super().__init__(profiles)
        self.user = embedding("users", profiles, factors, generator)
        self.item = embedding("items", profiles, factors, generator)
        self.output = output_layer(factors, generator)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        pairs = self.user(users) * self.item(items)  # (n, factors)
        return self.output(pairs).squeeze(-1)

    @torch.no_grad()
    def factors(self, users: Tensor) -> Factors:
        vectors = self.user.weight[users] * self.output.weight
        return Factors(vectors, self.item.weight, constant=self.output.bias.item())
