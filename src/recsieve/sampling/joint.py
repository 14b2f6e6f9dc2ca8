"""All positives and negatives of an epoch shuffled together, as in the authors' released code."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from recsieve.sampling.draws import mix, permuted, unobserved, widths


@njit(nogil=True, cache=True)
def draw_joint(
    users, items, ids, start, key, data_users, data_items, sources, rest, negatives, offsets, observed, n_items
):
    """Fill in the rows from `start` on, with the same samples as in the layout of interactions and their negatives."""
    period, negative_key = 1 + negatives, mix(key)
    n_paired = (len(data_users) - len(rest)) * period
    n_rows = n_paired + len(rest)
    left_bits, right_bits = widths(n_rows)
    for i in range(len(users)):
        place = permuted(start + i, n_rows, key, left_bits, right_bits)
        row, within = divmod(place, period) if place < n_paired else (rest[place - n_paired], 0)
        if place < n_paired and len(sources) > 0:
            row = sources[row]
        users[i], items[i], ids[i] = data_users[row], data_items[row], row
        if within > 0:
            bits = mix(negative_key ^ uint64(row * period + within))
            items[i] = unobserved(bits, offsets[users[i]], offsets[users[i] + 1], observed, n_items)
            ids[i] = np.int64(-1)
