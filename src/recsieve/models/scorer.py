"""The interface of a fitted model for ranking, evaluation and serving, however it was fitted."""

from __future__ import annotations

from abc import ABC
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from recsieve.errors import ConfigError
from recsieve.storage.tensor_file import Share

SMALLEST = 1e-4  # of which the logarithm is taken


class Factors(NamedTuple):
    """Scores as a product: users · itemsᵀ, plus a number for each item, plus a constant."""

    users: Tensor  # (n, factors)
    items: Tensor  # (items, factors)
    item_bias: Tensor | None = None  # (items,)
    constant: float = 0.0


class Scorer(nn.Module, ABC):
    """Scores all items for a user; its state is tensors: the parameters and persistent buffers of the module.

    A scorer has `factors` if its scores are a product, so that ranking works tile by tile, or else its own `score`.
    """

    n_users: int
    n_items: int
    is_whole = True  # whether all of it is in this process
    title: str  # what messages call it: the name of its class, unless it says another

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "title" not in vars(cls):
            cls.title = cls.__name__

    def prepare(self) -> Self:
        """Compute what scoring needs repeatedly; called before a ranking, and after weights have changed."""
        return self

    def factors(self, users: Tensor) -> Factors | None:
        """The scores of all items for some users as a product, if they are one: (n,) -> Factors."""
        return None

    @torch.no_grad()
    def score(self, users: Tensor) -> Tensor:
        """The scores of all items for some users, in newly allocated memory: (n,) -> (n, items)."""
        product = self.factors(users)
        if product is None:
            raise TypeError(f"{type(self).__name__} has neither factors nor its own score.")
        scores = product.users @ product.items.T
        return scores.add_(product.constant if product.item_bias is None else product.item_bias + product.constant)

    def log_score(self, users: Tensor) -> Tensor:
        """The scores on a log scale, to which offsets are added: (n,) -> (n, items)."""
        return self.as_log(self.score(users))

    def as_log(self, scores: Tensor) -> Tensor:
        """Scores converted to a log scale.

        Scores that are no logits have no logarithm unless they are positive; others get that of a small number.
        """
        return scores.clamp(min=SMALLEST).log_()

    def fold_in(self, profiles: csr_array) -> Scorer:
        """A scorer for new users, from their items: rows of weights, (new users, items)."""
        raise ConfigError(f"{self.title} cannot score new users: use a run of another model, e.g. ease.")

    def similar(self, items: Tensor) -> Tensor:
        """The similarity of all items to some: (n,) -> (n, items); larger means more similar."""
        raise ConfigError(f"{self.title} cannot find similar items: use a run of another model, e.g. ease.")

    @torch.no_grad()
    def similar_users(self, users: Tensor) -> Tensor:
        """The similarity of all users to some, by the cosine of their vectors: (n,) -> (n, users)."""
        product = self.factors(torch.arange(self.n_users))
        if product is None or product.users.shape[1] < 2:  # of one number everybody has the same
            raise ConfigError(
                f"{self.title} cannot find similar users: use a run of a model with user vectors, e.g. ials."
            )
        lengths = functional.normalize(product.users)
        return lengths[users] @ lengths.T

    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        """What each item of a profile adds to the scores of some items: (1, items), (n,) -> (n, entries of the
        profile).

        The larger, the more it contributes to the recommendation. They need not add up to the whole score.
        """
        raise ConfigError(f"{self.title} cannot explain recommendations: use a run of another model, e.g. ease.")

    def saved_weights(self) -> dict[str, Tensor | Share]:
        """What a run keeps of it, of which a rank may have some rows."""
        return self.state_dict()

    def materialise(self, users: NDArray[np.int32]) -> tuple[Scorer, NDArray[np.int32]]:
        """A scorer with everything that ranking for some users needs in this process, and their codes in it."""
        return self, users
