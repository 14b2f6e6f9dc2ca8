"""Distributing a total over places with limited room."""

import numpy as np
from numpy.typing import NDArray


def spread(
    total: int, weights: NDArray[np.floating] | NDArray[np.integer], room: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample how much of a total goes to each place by its weight; what does not fit goes where there is room."""
    placed = rng.multinomial(total, weights / weights.sum())
    while excess := int((placed - room).clip(min=0).sum()):
        placed = np.minimum(placed, room)
        left = room - placed
        placed += rng.multinomial(excess, left / left.sum())
    return placed
