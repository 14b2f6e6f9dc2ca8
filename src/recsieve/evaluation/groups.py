"""Groups of users and items: a mean over all can hide that few gain what many lose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recsieve.data.interactions import Interactions


def popularity_groups(data: Interactions) -> NDArray[np.str_]:
    """For each item "head" or "tail"; the head is the most popular items with half of the interactions."""
    return np.where(_shares_before(-data.item_counts(), data.item_counts()) < 0.5, "head", "tail")


def activity_groups(data: Interactions) -> NDArray[np.str_]:
    """For each user "low", "medium" or "high": thirds of the users by their number of interactions."""
    counts = data.user_counts()
    borders = np.quantile(counts[counts > 0], [1 / 3, 2 / 3]) if len(data) else [0, 0]
    return np.array(["low", "medium", "high"])[np.searchsorted(borders, counts)]


def sparsity_groups(data: Interactions, n_groups: int = 4) -> NDArray[np.int64]:
    """A group number from 0 for each user: by interactions, fewest first, with equal totals per group (Fig. 6)."""
    counts = data.user_counts()
    middle = _shares_before(counts, counts) + counts / (2 * max(len(data), 1))
    return np.minimum((middle * n_groups).astype(np.int64), n_groups - 1)


def some_users(data: Interactions, most: int | None) -> Interactions:
    """The interactions of a random sample of at most so many users, the same in every run."""
    users = np.flatnonzero(data.group.sum(data.user_counts()))
    if most is None or len(users) <= most:
        return data
    chosen = np.zeros(data.n_users, bool)
    chosen[np.random.default_rng(0).choice(users, most, replace=False)] = True
    return data.take(chosen[data.users])


def _shares_before(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """What share of all interactions those have that come before each, in the order of their keys."""
    order = np.argsort(keys, kind="stable")
    shares = np.empty(len(counts))
    shares[order] = np.cumsum(counts[order]) - counts[order]
    return shares / max(counts.sum(), 1)
