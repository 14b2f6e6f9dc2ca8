"""The probability that an interaction of any user with any item is noise, also of a pair that was never observed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from recsieve.audit.pair_scores import PairScores


@dataclass(frozen=True)
class PairNoise:
    """Probabilities by codes of users and items, from logits that are a sum and a product of vectors."""

    logits: PairScores

    def probability(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        """P(noise) of each pair: (n,), (n,) -> (n,)."""
        return expit(self.logits.of(users, items))

    def log_clean(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        """log(1 − P) of all items for a block of users, to be added to scores when ranking: (n,) -> (n, items)."""
        return -np.logaddexp(np.float32(0), self.logits.of_all_items(users))
