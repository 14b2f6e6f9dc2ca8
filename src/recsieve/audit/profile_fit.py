"""How well each interaction fits the rest of its user's profile, leaving the interaction itself out."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recsieve.data.interactions import Interactions


def profile_fit(data: Interactions) -> NDArray[np.float32]:
    """The mean cosine similarity of an item with the user's other items, counted over the other users only.

    Two items are alike if the same people have both. The user's own pairs are taken out of all counts: an item that
    nobody else has together with theirs fits with 0, and so does the only item of a profile.
    """
    by_item = np.argsort(data.items, kind="stable")
    item_offsets = np.concatenate([[0], np.cumsum(data.item_counts())])
    fit = np.zeros(len(data), np.float32)
    profiles = data.csr
    _fit(profiles.offsets, profiles.items, item_offsets, data.users[by_item], by_item, fit)
    return fit


@njit(cache=True, nogil=True, fastmath=True)
def _fit(offsets, profiles, item_offsets, item_users, rows, fit):
    """One row of the item-item matrix at a time, so that memory grows with the items and not with their square."""
    n_items = len(item_offsets) - 1
    together = np.zeros(n_items, np.int64)
    others = np.maximum(np.diff(item_offsets) - 1, 1).astype(np.float64)  # who have an item, but for the user
    scale = 1 / np.sqrt(others)
    for item in range(n_items):
        for k in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[k]
            for j in range(offsets[user], offsets[user + 1]):
                together[profiles[j]] += 1
        for k in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[k]
            total = 0.0
            for j in range(offsets[user], offsets[user + 1]):
                other = profiles[j]
                if other != item:
                    total += (together[other] - 1) * scale[other]
            fit[rows[k]] = total * scale[item] / max(1, offsets[user + 1] - offsets[user] - 1)
        together[:] = 0
