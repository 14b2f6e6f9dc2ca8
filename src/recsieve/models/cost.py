"""Rough time estimates for two cores, from benchmarks on ml-1m, to decide what fits into a budget."""

from __future__ import annotations

import numpy as np

from recsieve.data.interactions import Interactions

INVERSE, PRODUCT, SOLVE, STEP = 1.2e-11, 4e-9, 8e-10, 4e-7  # seconds for a unit of each
MOST_VALIDATED = 10_000  # users


def ranking_seconds(train: Interactions) -> float:
    """The time to rank all items for the users of a validation."""
    return 4e-9 * min(train.n_users, MOST_VALIDATED) * train.n_items


def product_seconds(train: Interactions) -> float:
    """The time of the product XᵀX, row by row: every pair of items that a user has."""
    return PRODUCT * float(np.square(train.user_counts(), dtype=np.float64).sum())
