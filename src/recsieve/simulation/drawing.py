"""What simulated data is drawn with: counts over places that hold only so many, and distinct pairs.

A pair of a user and an item is a single number, user * n_items + item, which sorts and compares fast.
"""

import numpy as np
from numpy.typing import NDArray


def spread(
    total: int, weights: NDArray[np.floating] | NDArray[np.integer], room: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw how many of a total go to each place by its weight; what finds no room goes where there is some."""
    placed = rng.multinomial(total, weights / weights.sum())
    while excess := int((placed - room).clip(min=0).sum()):
        placed = np.minimum(placed, room)
        left = room - placed
        placed += rng.multinomial(excess, left / left.sum())
    return placed


def unique_pairs(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort pairs, each once; np.unique hashes, which is many times slower on millions of them."""
    pairs = np.sort(pairs)
    return pairs[np.diff(pairs, prepend=-1) > 0]


def outside(pairs: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """The pairs that are not among others, which are sorted."""
    place = np.searchsorted(others, pairs)
    found = np.zeros(len(pairs), dtype=bool)
    inside = place < len(others)
    found[inside] = others[place[inside]] == pairs[inside]
    return pairs[~found]
