"""Generalized matrix factorization."""

from typing import ClassVar

import torch
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.data.interactions import CSR
from recsieve.denoisers import Range
from recsieve.models.base import Model, embedding, output_layer
from recsieve.models.new_users import FoldedUsers, Priors, cosines, dot_contributions, solve_users
from recsieve.models.scorer import Factors
from recsieve.models.state import checked_profiles


class GMF(Model):
    """A weighted dot product of a user and an item vector (He et al., 2017)."""

    row_cost = 1.0
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

    @torch.no_grad()
    def fold_in(self, profiles: csr_array) -> FoldedUsers:
        users = solve_users(checked_profiles(profiles, self.n_items), self._priors(), self.item.weight)
        return FoldedUsers(Factors(users, self.item.weight.detach(), constant=self.output.bias.item()), self.title)

    @torch.no_grad()
    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        return dot_contributions(checked_profiles(profile, self.n_items), items, self._priors(), self.item.weight)

    def _priors(self) -> Priors:
        return Priors(self.user.weight * self.output.weight, self.profile_sizes)

    @torch.no_grad()
    def similar(self, items: Tensor) -> Tensor:
        """The cosine of the item vectors, with each dimension weighted as in the scores."""
        return cosines(self.item.weight * self.output.weight, items)
