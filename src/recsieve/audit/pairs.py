"""Scores and probabilities of any pair of user and item, observed or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class PairScores:
    """The score of user u and item i is `users[u] + items[i] + user_factors[u] · item_factors[i]`."""

    users: Vector  # (users,)
    items: Vector  # (items,)
    user_factors: Vector  # (users, factors)
    item_factors: Vector  # (items, factors)

    def of(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> Vector:
        """The score of each pair, without copying vectors for each."""
        scores = np.empty(len(users), np.float32)
        _score(users, items, self.users, self.items, self.user_factors, self.item_factors, scores)
        return scores

    def of_all_items(self, users: NDArray[np.int32]) -> Vector:
        """The scores of all items for a block of users: (users, items)."""
        product = self.user_factors[users] @ self.item_factors.T
        product += self.users[users, None]
        product += self.items
        return product

    def scaled(self, slope: float, intercept: float = 0.0) -> PairScores:
        """Each score times the slope plus the intercept."""
        return PairScores(
            (slope * self.users + intercept).astype(np.float32),
            (slope * self.items).astype(np.float32),
            (slope * self.user_factors).astype(np.float32),
            self.item_factors,
        )

    def arrays(self) -> dict[str, Vector]:
        """The parts by name, as saved."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def add_scores(parts: Sequence[PairScores]) -> PairScores:
    """The sum of several scores as one, with the vectors concatenated."""
    return PairScores(
        np.sum([part.users for part in parts], axis=0, dtype=np.float32),
        np.sum([part.items for part in parts], axis=0, dtype=np.float32),
        np.concatenate([part.user_factors for part in parts], axis=1),
        np.concatenate([part.item_factors for part in parts], axis=1),
    )


@dataclass(frozen=True)
class PairNoise:
    """Noise probabilities for user and item codes, from logits that are a sum plus a product of vectors."""

    logits: PairScores

    def probability(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> Vector:
        """P(noise) of each pair: (n,), (n,) -> (n,)."""
        return expit(self.logits.of(users, items))

    def log_clean(self, users: NDArray[np.int32]) -> Vector:
        """log(1 − P) of all items for a block of users, to add to scores in ranking: (n,) -> (n, items)."""
        return -np.logaddexp(np.float32(0), self.logits.of_all_items(users))


@njit(cache=True, nogil=True, fastmath=True)
def _score(users, items, user_scores, item_scores, user_factors, item_factors, scores):
    for k in range(len(users)):
        user, item = users[k], items[k]
        total = user_scores[user] + item_scores[item]
        for f in range(user_factors.shape[1]):
            total += user_factors[user, f] * item_factors[item, f]
        scores[k] = total
