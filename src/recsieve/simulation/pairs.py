"""Pairs of user and item as single numbers, user * n_items + item, which sort and compare fast."""

import numpy as np
from numpy.typing import NDArray


def unique_pairs(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct pairs, sorted; np.unique hashes, which is many times slower for millions of them."""
    pairs = np.sort(pairs)
    return pairs[np.diff(pairs, prepend=-1) > 0]


def outside(pairs: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """The pairs that are not among others, which are sorted."""
    place = np.searchsorted(others, pairs)
    found = np.zeros(len(pairs), dtype=bool)
    inside = place < len(others)
    found[inside] = others[place[inside]] == pairs[inside]
    return pairs[~found]
