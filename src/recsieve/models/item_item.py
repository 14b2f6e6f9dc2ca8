"""Scores from the items of a user: profiles times item-item weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.models.scorer import Scorer
from recsieve.models.state import checked_profiles

# Weights are read in tiles of so many columns, a share of which stays in the cache from user to user.
_TILE = 128


class ItemItemScorer(Scorer):
    """The score of item j is the sum over the user's items i of their value times the weight from i to j.

    Two items are similar if one contributes to the score of the other. `as_profile` turns interaction weights into the
    values of a profile, for fitted and for new users.
    """

    def __init__(
        self, title: str, weights_of_users: csr_array, as_profile: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray
    ) -> None:
        super().__init__()
        self.title, self._as_profile = title, as_profile
        self.n_users, self.n_items = weights_of_users.shape
        values = as_profile(weights_of_users.data.astype(np.float32, copy=False))
        offsets, items = weights_of_users.indptr, weights_of_users.indices
        self._profiles = (offsets.astype(np.int64, copy=False), items.astype(np.int32, copy=False), values)

    @torch.no_grad()
    def score(self, users: Tensor) -> Tensor:
        if len(users) and not 0 <= int(users.min()) <= int(users.max()) < self.n_users:
            raise IndexError(f"there are {self.n_users} users, numbered from 0")  # the kernels do not look
        scores = torch.zeros(len(users), self.n_items)
        self._add(users.numpy(), *self._profiles, scores.numpy())
        return scores

    def _read(self, profile: csr_array) -> tuple[Tensor, Tensor]:
        """The items of a profile, and their values."""
        profile = checked_profiles(profile, self.n_items)
        values = self._as_profile(profile.data.astype(np.float32, copy=False))
        return torch.from_numpy(profile.indices.astype(np.int64)), torch.from_numpy(values)

    @abstractmethod
    def _add(self, users: NDArray, offsets: NDArray, items: NDArray, values: NDArray, scores: NDArray) -> None:
        """Add the weights of what users have to their scores."""


class DenseItemScorer(ItemItemScorer):
    """Profiles times a full matrix of weights: (items, items), float32."""

    def __init__(
        self,
        title: str,
        weights_of_users: csr_array,
        weights: Tensor,
        as_profile: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray,
    ) -> None:
        super().__init__(title, weights_of_users, as_profile)
        self.weights: Tensor
        self.register_buffer("weights", weights)

    def _add(self, users: NDArray, offsets: NDArray, items: NDArray, values: NDArray, scores: NDArray) -> None:
        _add_dense(users, offsets, items, values, self.weights.numpy(), scores)

    def fold_in(self, profiles: csr_array) -> DenseItemScorer:
        return DenseItemScorer(self.title, checked_profiles(profiles, self.n_items), self.weights, self._as_profile)

    def similar(self, items: Tensor) -> Tensor:
        return self.weights[:, items].T

    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        met, values = self._read(profile)
        return values * self.weights[met[:, None], items].T


class SparseItemScorer(ItemItemScorer):
    """Profiles times the weights of each item's neighbours, as sparse rows: (items, items), float32."""

    def __init__(self, title: str, weights_of_users: csr_array, offsets: Tensor, items: Tensor, values: Tensor) -> None:
        super().__init__(title, weights_of_users)
        self.offsets: Tensor
        self.items: Tensor
        self.values: Tensor
        self.register_buffer("offsets", offsets)  # (items + 1,) int64
        self.register_buffer("items", items)  # (weights,) int32
        self.register_buffer("values", values)  # (weights,) float32

    @classmethod
    def of_nearest(cls, title: str, weights_of_users: csr_array, neighbours: csr_array) -> SparseItemScorer:
        """From a row for each item with the weights of the items that contribute to its score."""
        rows = neighbours.T.tocsr()
        offsets, items = torch.from_numpy(rows.indptr.astype(np.int64)), torch.from_numpy(rows.indices.astype(np.int32))
        return cls(title, weights_of_users, offsets, items, torch.from_numpy(rows.data))

    def _rows(self) -> tuple[NDArray, NDArray, NDArray]:
        return self.offsets.numpy(), self.items.numpy(), self.values.numpy()

    def _add(self, users: NDArray, offsets: NDArray, items: NDArray, values: NDArray, scores: NDArray) -> None:
        _add_sparse(users, offsets, items, values, *self._rows(), scores)

    def fold_in(self, profiles: csr_array) -> SparseItemScorer:
        profiles = checked_profiles(profiles, self.n_items)
        return SparseItemScorer(self.title, profiles, self.offsets, self.items, self.values)

    def similar(self, items: Tensor) -> Tensor:
        offsets, neighbours, values = self._rows()
        weights = csr_array((values, neighbours, offsets), shape=(self.n_items, self.n_items))
        return torch.from_numpy(weights[:, items.numpy()].T.toarray())

    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        met, values = self._read(profile)
        offsets, neighbours, weights = self._rows()
        rows = csr_array((weights, neighbours, offsets), shape=(self.n_items, self.n_items))[met.numpy()]
        return values * torch.from_numpy(rows[:, items.numpy()].toarray()).T


@njit(cache=True, nogil=True)
def _add_dense(users, offsets, items, values, weights, scores):
    for first in range(0, scores.shape[1], _TILE):
        last = min(first + _TILE, scores.shape[1])
        for row in range(len(users)):
            total = scores[row, first:last]
            for k in range(offsets[users[row]], offsets[users[row] + 1]):
                value, of_item = values[k], weights[items[k], first:last]
                for j in range(len(total)):
                    total[j] += value * of_item[j]


@njit(cache=True, nogil=True)
def _add_sparse(users, offsets, items, values, starts, neighbours, weights, scores):
    for row in range(len(users)):
        for k in range(offsets[users[row]], offsets[users[row] + 1]):
            value, item = values[k], items[k]
            for j in range(starts[item], starts[item + 1]):
                scores[row, neighbours[j]] += value * weights[j]
