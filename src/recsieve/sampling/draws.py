"""Random numbers as a pure function of a key and a counter: a permutation, its inverse, and negatives."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

_ROUNDS = 4  # of the permutation; even, so that both halves come back to their widths
_inlined = njit(inline="always", cache=True)


@_inlined
def widths(n):
    """The numbers of bits of the two halves of a number below n in the permutation."""
    bits = 10  # fewer would not mix the few rows of a tiny epoch well
    while (1 << bits) < n:
        bits += 1
    return uint64(bits - bits // 2), uint64(bits // 2)


@_inlined
def mix(x):
    """Turn a counter into 64 random bits (the finaliser of splitmix64)."""
    x = uint64(x) + uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@_inlined
def permuted(position, n, key, left_bits, right_bits):
    """The image of a position in a random permutation of 0…n−1: a Feistel network, applied until it lands inside."""
    x = uint64(position)
    while True:
        a_bits, b_bits = left_bits, right_bits
        a, b = x >> b_bits, x & ((uint64(1) << b_bits) - uint64(1))
        for turn in range(_ROUNDS):
            mixed = mix(key ^ (b + (uint64(turn) << uint64(56))))
            a, b = b, (a ^ mixed) & ((uint64(1) << a_bits) - uint64(1))
            a_bits, b_bits = b_bits, a_bits
        x = (a << b_bits) | b
        if x < uint64(n):
            return np.int64(x)


@_inlined
def position_of(value, n, key, left_bits, right_bits):
    """The position that `permuted` maps to a value: the same network, applied backwards."""
    x = uint64(value)
    while True:
        a_bits, b_bits = left_bits, right_bits
        a, b = x >> b_bits, x & ((uint64(1) << b_bits) - uint64(1))
        for turn in range(_ROUNDS - 1, -1, -1):
            mixed = mix(key ^ (a + (uint64(turn) << uint64(56))))
            a, b = (b ^ mixed) & ((uint64(1) << b_bits) - uint64(1)), a
            a_bits, b_bits = b_bits, a_bits
        x = (a << b_bits) | b
        if x < uint64(n):
            return np.int64(x)


@_inlined
def unobserved(bits, low, high, observed, n_items):
    """A random item outside the sorted list `observed[low:high]`; −1 if none is left.

    The r-th unobserved item is r plus the number of observed items before it, found by bisection, so no draw is
    rejected.
    """
    room = n_items - (high - low)
    if room <= 0:
        return np.int32(-1)
    r = np.int64(((bits >> uint64(32)) * uint64(room)) >> uint64(32))
    first, last = low, high
    while first < last:
        middle = (first + last) >> 1
        if observed[middle] - (middle - low) <= r:
            first = middle + 1
        else:
            last = middle
    return np.int32(r + (first - low))
