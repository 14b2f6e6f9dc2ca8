"""What training, evaluation and users may ask of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from recsieve.data.interactions import CSR


class Model(nn.Module, ABC):
    """Scores user-item pairs; knows nothing of losses, files or devices.

    Every model is made from the profiles of the users (their training items), which say how many users and items
    there are; a model may also learn from them. Embeddings give sparse gradients.
    """

    # Whether a batch shall hold all rows of a few users, because it is users that are costly to compute.
    by_user = False
    # Whether it learns which interactions are known to be regretted, and needs data that says so.
    learns_from_flags = False

    def __init__(self, profiles: CSR) -> None:
        super().__init__()
        self.n_users, self.n_items = profiles.n_users, profiles.n_items

    @abstractmethod
    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """The logit of each pair: (n,), (n,) -> (n,)."""

    @torch.no_grad()
    def score_all_items(self, users: Tensor) -> Tensor:
        """The logits of all items for some users, without gradients: (n,) -> (n, items)."""
        user_vectors, item_vectors, item_bias, constant = self.as_product(users)
        scores = user_vectors @ item_vectors.T
        return scores.add_(constant if item_bias is None else item_bias + constant)

    def as_product(self, users: Tensor) -> tuple[Tensor, Tensor, Tensor | None, float]:
        """Vectors of users and of all items whose product is the logit, and what is added for each item, and for all.

        A model that cannot be written so has `score_all_items` of its own.
        """
        raise NotImplementedError


def embedding(rows: int, factors: int, generator: torch.Generator) -> nn.Embedding:
    """An embedding table from N(0, 0.01), with sparse gradients."""
    weight = torch.empty(rows, factors).normal_(0.0, 0.01, generator=generator)
    return nn.Embedding.from_pretrained(weight, freeze=False, sparse=True)


def output_layer(inputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer to one logit, uniform in ±√(3/inputs), without bias at first."""
    layer = nn.Linear(inputs, 1)
    bound = (3 / inputs) ** 0.5
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
