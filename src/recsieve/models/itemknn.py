"""Item neighbours: two items are similar if the same users have both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.denoisers import Range, SearchSpace
from recsieve.errors import ConfigError, did_you_mean
from recsieve.models.closed_form import Solved, of_all_ranks, weight_matrix, with_values
from recsieve.models.cost import product_seconds, ranking_seconds
from recsieve.models.item_item import SparseItemScorer
from recsieve.models.item_products import nearest
from recsieve.models.state import checked_rows

_K1, _B = 1.2, 0.75  # of BM25: how slowly a weight comes to its full effect, and what a long profile takes from it


SIMILARITIES = ("cosine", "bm25")


@dataclass(frozen=True)
class ItemKNN(Solved):
    """The score of an item is the sum of its similarities to those of its nearest `neighbours` that the user has.

    The similarity is the cosine of the items' columns of weights, unchanged ("cosine") or weighted like words in
    documents ("bm25"), so that popular items and active users count less. 0 neighbours means all.
    """

    on_ranks: ClassVar[bool] = True
    search_space: ClassVar[SearchSpace] = {"neighbours": Range(10, 1_000, whole=True), "similarity": SIMILARITIES}

    similarity: Literal["cosine", "bm25"] = "bm25"
    neighbours: int = 200

    def __post_init__(self) -> None:
        if self.similarity not in SIMILARITIES:
            raise ConfigError(
                f"there is no similarity '{self.similarity}': {did_you_mean(self.similarity, SIMILARITIES)}"
            )
        require_count(self.neighbours)

    @staticmethod
    def seconds(train: Interactions, training: Mapping[str, Any]) -> float:
        """About how long it takes to fit and validate."""
        return product_seconds(train) + ranking_seconds(train)

    @staticmethod
    def grid(train: Interactions) -> list[dict[str, Any]]:
        """The few options that `auto` tries, the default first."""
        return [{}, {"neighbours": 50}, {"neighbours": 0}]

    def solve(self, train: Interactions) -> SparseItemScorer:
        """The nearest neighbours of each item."""
        weights = weight_matrix(of_all_ranks(train))
        columns = _unit_columns(_bm25(weights) if self.similarity == "bm25" else weights)
        neighbours = nearest(columns.T.tocsr(), columns, self.neighbours, train.group)
        return SparseItemScorer.of_nearest("itemknn", weights, neighbours)

    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> SparseItemScorer:
        return SparseItemScorer("itemknn", weight_matrix(train), *checked_rows(state, train.n_items))


def require_count(neighbours: int) -> None:
    """Refuse a number of neighbours that is not a count."""
    if neighbours < 0:
        raise ConfigError(
            f"neighbours is {neighbours}, but it is the number of neighbours for each item: give 0 (all) or more, e.g. "
            "100."
        )


def _unit_columns(weights: csr_array) -> csr_array:
    """Columns of length 1."""
    lengths = np.sqrt(np.bincount(weights.indices, weights.data.astype(np.float64) ** 2, minlength=weights.shape[1]))
    lengths[lengths == 0] = 1
    return with_values(weights, weights.data / lengths[weights.indices])


def _bm25(weights: csr_array) -> csr_array:
    """Users are the documents and items their words (Robertson et al., 1994); counts are sums of weights."""
    n_users, n_items = weights.shape
    of_user, of_item = (
        weights.sum(axis=1, dtype=np.float64),
        np.bincount(weights.indices, weights.data, minlength=n_items),
    )
    rarity = np.log(n_users / (1 + of_item)).clip(0)
    length = 1 - _B + _B * of_user / max(of_user.mean(), 1e-12)
    effect = weights.data * (_K1 + 1) / (_K1 * np.repeat(length, np.diff(weights.indptr)) + weights.data)
    return with_values(weights, effect * rarity[weights.indices])
