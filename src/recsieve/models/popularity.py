"""Popularity: the same list for everybody, which every other model has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.models.closed_form import Solved
from recsieve.models.cost import ranking_seconds
from recsieve.models.scorer import Factors, Scorer
from recsieve.models.state import checked


@dataclass(frozen=True)
class Popularity(Solved):
    """The score of an item is the number of its interactions, or the sum of their weights."""

    personal: ClassVar[bool] = False
    on_ranks: ClassVar[bool] = True

    @staticmethod
    def seconds(train: Interactions, training: Mapping[str, Any]) -> float:
        """About how long it takes to fit and validate."""
        return ranking_seconds(train)

    def solve(self, train: Interactions) -> PopularityScorer:
        """The sums over all interactions."""
        sums = np.bincount(train.items, train.weight, minlength=train.n_items)
        return PopularityScorer(train.n_users, torch.from_numpy(train.group.sum(sums).astype(np.float32)))

    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> PopularityScorer:
        return PopularityScorer(train.n_users, checked(state, "popularity", torch.float32, (train.n_items,)))


class PopularityScorer(Scorer):
    """A score for each item, the same for all users."""

    title = "popularity"

    def __init__(self, n_users: int, popularity: Tensor) -> None:
        super().__init__()
        self.n_users, self.n_items = n_users, len(popularity)
        self.popularity: Tensor
        self.register_buffer("popularity", popularity)

    def factors(self, users: Tensor) -> Factors:
        return Factors(self.popularity.new_ones(len(users), 1), self.popularity[:, None])

    def fold_in(self, profiles: csr_array) -> PopularityScorer:
        return PopularityScorer(profiles.shape[0], self.popularity)
