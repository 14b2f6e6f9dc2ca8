"""Spreading a number of things over places that hold only so many."""

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
