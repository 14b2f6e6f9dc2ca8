"""RP3β: where three-step random walks end, with popular items penalised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.denoisers import Range, SearchSpace
from recsieve.errors import ConfigError
from recsieve.models.closed_form import Solved, of_all_ranks, weight_matrix, with_values
from recsieve.models.cost import product_seconds, ranking_seconds
from recsieve.models.item_item import SparseItemScorer
from recsieve.models.item_products import nearest
from recsieve.models.itemknn import require_count
from recsieve.models.state import checked_rows


@dataclass(frozen=True)
class RP3Beta(Solved):
    """A walk from a user to one of their items, to a user who has it, to an item of that user (Paudel et al., 2017).

    The probability of each step is raised to the power `alpha`, and the result is divided by the item's popularity to
    the power `beta`. For each item the `neighbours` from which most walks end there are kept; 0 means all.
    """

    on_ranks: ClassVar[bool] = True
    search_space: ClassVar[SearchSpace] = {
        "alpha": Range(0.3, 2.0),
        "beta": Range(0.05, 1.2),
        "neighbours": Range(10, 1_000, whole=True),
    }

    alpha: float = 0.6
    beta: float = 0.5
    neighbours: int = 200

    def __post_init__(self) -> None:
        if not 0 < self.alpha < math.inf:
            raise ConfigError(f"alpha is {self.alpha}, but it is a power of probabilities: give one above 0, e.g. 0.6.")
        if not 0 <= self.beta < math.inf:
            raise ConfigError(f"beta is {self.beta}, but it is a power of popularity: give 0 (none) or more, e.g. 0.5.")
        require_count(self.neighbours)

    @staticmethod
    def seconds(train: Interactions, training: Mapping[str, Any]) -> float:
        """About how long it takes to fit and validate."""
        return product_seconds(train) + ranking_seconds(train)

    @staticmethod
    def grid(train: Interactions) -> list[dict[str, Any]]:
        """The few options that `auto` tries, the default first."""
        return [{}, {"alpha": 0.8, "neighbours": 0}]

    def solve(self, train: Interactions) -> SparseItemScorer:
        """For each item, where the walks to it start."""
        weights = weight_matrix(of_all_ranks(train))
        of_item = weights.T.tocsr()
        ends, starts = _steps(weights, self.alpha).T.tocsr(), _steps(of_item, self.alpha).T.tocsr()
        walks = nearest(ends, starts, self.neighbours, train.group)
        popularity = of_item.sum(axis=1, dtype=np.float64).clip(1e-12) ** -self.beta
        walks.data *= np.repeat(popularity, np.diff(walks.indptr)).astype(np.float32)
        return SparseItemScorer.of_nearest("rp3beta", weights, walks)

    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> SparseItemScorer:
        return SparseItemScorer("rp3beta", weight_matrix(train), *checked_rows(state, train.n_items))


def _steps(weights: csr_array, alpha: float) -> csr_array:
    """The probability of each step out of a row, to the power α."""
    sums = np.repeat(weights.sum(axis=1, dtype=np.float64), np.diff(weights.indptr))
    return with_values(weights, (weights.data / sums) ** alpha)
