"""Full ranking: the best items of each user among all that they have not seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numba import njit, prange
from numpy.typing import NDArray

from recsieve.data.interactions import CSR
from recsieve.models import Model

BLOCK_BYTES = 8 << 20  # of scores held at once: more would not stay in the cache
_COLUMNS = 2048  # of the first stage: their maxima stay in the fastest cache


def rank_items(
    model: Model, users: NDArray[np.int32], k: int, seen: CSR | None, *, block_bytes: int = BLOCK_BYTES
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k best items of each user and their scores, best first; −1 where fewer than k are left."""
    k = min(k, model.n_items)
    top, best = np.empty((len(users), k), np.int32), np.empty((len(users), k), np.float32)
    seen = seen or CSR(np.zeros(model.n_users + 1, np.int64), np.zeros(0, np.int32), model.n_items)
    for start, stop in blocks(len(users), model.n_items, block_bytes):
        block = users[start:stop]
        scores = model.score_all_items(torch.from_numpy(block.astype(np.int64))).cpu().numpy()
        _select(scores, block, seen.offsets, seen.items, top[start:stop], best[start:stop])
    return top, best


def blocks(n_users: int, n_items: int, block_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of users whose scores fit into the memory allowed."""
    size = max(1, block_bytes // (4 * n_items))
    for start in range(0, n_users, size):
        yield start, min(start + size, n_users)


@njit(parallel=True, cache=True)
def _select(scores, users, offsets, seen, top, best):
    """Fill in each user's largest scores among the items not seen, largest first; equal ones in the items' order."""
    for row in prange(len(users)):
        for item in seen[offsets[users[row]] : offsets[users[row] + 1]]:
            scores[row, item] = -np.inf
        places = top_places(scores[row], top.shape[1])
        for rank in range(len(places)):
            score = scores[row, places[rank]]
            top[row, rank] = places[rank] if score > -np.inf else -1
            best[row, rank] = score


@njit(cache=True)
def top_places(scores, k):
    """Where the k largest are, in two stages: the k columns with the largest maxima hold them all."""
    n_columns = min(len(scores), max(_COLUMNS, 4 * k))
    maxima = scores[:n_columns].copy()
    for start in range(n_columns, len(scores), n_columns):
        length = min(n_columns, len(scores) - start)
        for column in range(length):
            maxima[column] = max(maxima[column], scores[start + column])
    least = np.partition(maxima, n_columns - k)[n_columns - k]  # no smaller score can be among the k largest
    places, count = np.empty(len(scores), np.int64), 0
    for column in range(n_columns):
        if maxima[column] >= least:
            for place in range(column, len(scores), n_columns):
                if scores[place] >= least:
                    places[count] = place
                    count += 1
    candidates = np.sort(places[:count])
    return candidates[np.argsort(-scores[candidates], kind="mergesort")[:k]]
