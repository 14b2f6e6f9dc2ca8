"""Random numbers of a model that are hashed from a key, so that a resumed run continues with the same ones."""

import numpy as np
from numba import njit, uint64
from torch import Tensor

# The hash (splitmix64): shifts, and factors as signed numbers of 64 bits.
HASH = ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15))
DRAW_FACTOR = 0x5851F42D4C957F2D  # what a counter of draws is multiplied by before it is added to a key


def uniform(keys: Tensor) -> Tensor:
    """A number in [0, 1) from each key by hashing (splitmix64), the same on any device and in any order."""
    for shift, factor in HASH:
        keys = (keys ^ ((keys >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return ((keys >> 40) & ((1 << 24) - 1)) / float(1 << 24)


@njit(inline="always", cache=True)
def uniform_of(key):
    """The same for one key, in a kernel."""
    for shift, factor in HASH:
        key = (key ^ (key >> uint64(shift))) * uint64(factor)
    return np.float32(key >> uint64(40)) / np.float32(1 << 24)
