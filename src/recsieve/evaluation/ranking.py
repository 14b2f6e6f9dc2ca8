"""Full ranking: the best items of each user among all unseen ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from recsieve.cores import one_thread, thread_pool
from recsieve.data.codes import blocks
from recsieve.data.interactions import CSR
from recsieve.models.scorer import Scorer

BLOCK_BYTES = 8 << 20  # of scores held at once, where a model makes those of all items at once
# Where scores are a product of vectors they are made and looked through in tiles that stay in the cache.
_TILE_USERS, _TILE_ITEMS = 128, 8192
# Rows beyond a multiple of it are added up in another order: a score would depend on who is ranked for beside.
_ROWS_TOGETHER = 4
_GROUP = 16  # items whose best is found in one go: a cache line


NOTHING = np.zeros(0, np.int32)


@dataclass(frozen=True)
class Mask:
    """Items that must not be in the list of each ranked user; the rows are in the order of these users."""

    denied: CSR
    hidden: NDArray[np.int32] = field(default_factory=lambda: NOTHING)  # from all, sorted
    allowed: CSR | None = None  # where given, nothing else

    def take(self, rows: NDArray[np.integer[Any]]) -> Mask:
        """The mask of some of the users."""
        return Mask(self.denied.take(rows), self.hidden, None if self.allowed is None else self.allowed.take(rows))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        allowed = (
            (np.zeros(0, np.int64), NOTHING) if self.allowed is None else (self.allowed.offsets, self.allowed.items)
        )
        return self.denied.offsets, self.denied.items, self.hidden, *allowed


def rank_items(
    model: Scorer,
    users: NDArray[np.int32],
    k: int,
    seen: CSR | Mask | None,
    *,
    block_bytes: int = BLOCK_BYTES,
    workers: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k best items of each user and their scores, best first; −1 if fewer than k are left.

    `seen` has a row for each user of the model, a mask one for each of `users`. With `workers=1` everything is done in
    the calling thread, and nothing else in the process is changed; otherwise by as many threads as torch has.
    """
    k = min(k, model.n_items)
    top, best = np.empty((len(users), k), np.int32), np.empty((len(users), k), np.float32)
    seen = seen or CSR(np.zeros(model.n_users + 1, np.int64), np.zeros(0, np.int32), model.n_items)
    mask, positions = (seen, np.arange(len(users), dtype=np.int32)) if isinstance(seen, Mask) else (Mask(seen), users)
    here, rows = model.materialise(users)

    is_product = here.factors(torch.from_numpy(rows[:1].astype(np.int64))) is not None

    @torch.no_grad()
    def rank_share(share: slice) -> None:
        score = _Tiles(here) if is_product else _AllAtOnce(here, block_bytes)
        for some in blocks(share.stop, score.n_users, share.start):
            found = _Found(some.stop - some.start, k)
            for first, scores in score(torch.from_numpy(rows[some].astype(np.int64))):
                found.look_through(scores, first, positions[some], mask)
            _sort(*found.arrays, top[some], best[some])
            best[some] += score.constant

    if workers == 1:
        rank_share(slice(0, len(users)))
        return top, best
    with one_thread() as n_threads, thread_pool(n_threads) as cores:
        list(cores.map(rank_share, blocks(len(users), max(1, -(-len(users) // n_threads)))))
    return top, best


def rank_scores(scores: NDArray[np.float32], users: NDArray[np.int32], k: int, seen: CSR) -> NDArray[np.int32]:
    """The k best items of each user, given all scores; those of seen items are overwritten."""
    top = np.empty((len(users), min(k, scores.shape[1])), np.int32)
    found = _Found(*top.shape)
    found.look_through(scores, 0, users, Mask(seen))
    _sort(*found.arrays, top, np.empty(top.shape, np.float32))
    return top


def users_at_once(n_items: int, block_bytes: int) -> int:
    """Ranges of users whose scores fit into the allowed memory."""
    return max(1, block_bytes // (4 * n_items))


class _AllAtOnce:
    """Scores of all items, as a model makes them itself, for so many users that they fit into the memory allowed."""

    constant = 0.0

    def __init__(self, model: Scorer, block_bytes: int) -> None:
        self._model, self.n_users = model, users_at_once(model.n_items, block_bytes)

    def __call__(self, users: Tensor) -> Iterator[tuple[int, NDArray[np.float32]]]:
        yield 0, self._model.score(users).cpu().numpy()


class _Tiles:
    """Scores that are a product of vectors, for consecutive ranges of items, always in the same memory.

    `constant` is left out of them: it changes no order, and to add it would take as long as to find the best.
    """

    n_users = _TILE_USERS
    constant = 0.0

    def __init__(self, model: Scorer) -> None:
        self._model, self._memory = model, torch.empty(0)

    def __call__(self, users: Tensor) -> Iterator[tuple[int, NDArray[np.float32]]]:
        product = self._model.factors(users)
        assert product is not None  # or it would be scored all at once
        user_vectors, item_vectors, item_bias, self.constant = product
        missing = -len(users) % _ROWS_TOGETHER
        user_vectors = functional.pad(user_vectors, (0, 0, 0, missing)) if missing else user_vectors
        if not len(self._memory):  # the first are as many as any others
            self._memory = user_vectors.new_empty(len(user_vectors) * min(_TILE_ITEMS, self._model.n_items))
        for first in range(0, self._model.n_items, _TILE_ITEMS):
            tile = slice(first, first + _TILE_ITEMS)
            vectors, bias = item_vectors[tile], None if item_bias is None else item_bias[tile]
            scores = self._memory[: len(user_vectors) * len(vectors)].view(len(user_vectors), len(vectors))
            torch.mm(user_vectors, vectors.T, out=scores)
            yield first, (scores if bias is None else scores.add_(bias))[: len(users)].cpu().numpy()


class _Found:
    """Candidates for the k best of some users, in the order of the items."""

    def __init__(self, n_users: int, k: int) -> None:
        capacity = 4 * k + 2 * _GROUP
        self._k, self._counts = k, np.zeros(n_users, np.int64)
        self._floors = np.full(n_users, -np.inf, np.float32)  # no smaller score can be among the k best
        self._scores, self._items = np.empty((n_users, capacity), np.float32), np.empty((n_users, capacity), np.int32)

    def look_through(self, scores: NDArray[np.float32], first: int, rows: NDArray[np.int32], mask: Mask) -> None:
        """Take in what may be among the best of a range of items; those of masked items are overwritten."""
        _look_through(scores, first, rows, *mask.arrays, self._k, self._floors, *self.arrays)  # type: ignore[call-arg]

    @property
    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
        return self._scores, self._items, self._counts


# Without the cases of scores that are no numbers, the best of a group is found by vector instructions.
_fast = njit(cache=True, fastmath={"nnan", "nsz", "reassoc"})


@njit(cache=True, nogil=True)
def _look_through(
    scores, first, rows, offsets, denied, hidden, allowed_offsets, allowed, k, floors, found, items, counts
):
    for row in range(len(rows)):
        place = rows[row]
        if len(allowed_offsets):
            _keep_only(scores[row], first, allowed[allowed_offsets[place] : allowed_offsets[place + 1]])
        _leave_out(scores[row], first, denied[offsets[place] : offsets[place + 1]])
        _leave_out(scores[row], first, hidden)
        maxima = _group_maxima(scores[row])
        if counts[row] == 0 and len(maxima) >= k:
            floors[row] = np.partition(maxima, len(maxima) - k)[len(maxima) - k]
        floors[row], counts[row] = _add(scores[row], maxima, first, k, floors[row], found[row], items[row], counts[row])


@njit(cache=True)
def _within(items, first, n):
    """Those of sorted items that are in a range."""
    return items[np.searchsorted(items, first) : np.searchsorted(items, first + n)]


@njit(cache=True)
def _leave_out(scores, first, items):
    for item in _within(items, first, len(scores)):
        scores[item - first] = -np.inf


@njit(cache=True)
def _keep_only(scores, first, items):
    here = _within(items, first, len(scores))
    kept = scores[here - first].copy()
    scores[:] = -np.inf
    scores[here - first] = kept


@njit(cache=True)
def _add(scores, maxima, first, k, floor, found, items, count):
    """Append what is not below the floor; gives the floor after that, and how many there are."""
    for group in range(len(maxima)):
        if maxima[group] >= floor:
            if count + _GROUP >= len(found):
                floor, count = keep_best(found, items, count, k)
            for place in range(group * _GROUP, min((group + 1) * _GROUP, len(scores))):
                found[count], items[count] = scores[place], first + place  # to be overwritten if it does not count
                count += scores[place] >= floor
    return floor, count


@_fast
def _group_maxima(scores):
    """The largest score of each group of consecutive items; the last may be smaller."""
    maxima = np.empty((len(scores) + _GROUP - 1) // _GROUP, np.float32)
    whole = len(scores) // _GROUP
    for group in range(whole):
        largest = scores[group * _GROUP]
        for place in range(1, _GROUP):
            largest = max(largest, scores[group * _GROUP + place])
        maxima[group] = largest
    if whole < len(maxima):
        maxima[whole] = scores[whole * _GROUP :].max()
    return maxima


@njit(cache=True)
def keep_best(scores, items, count, k):
    """Keep the k best of the first `count` (of equal ones the first); returns the smallest kept, and how many."""
    if count <= k:
        return np.float32(-np.inf), count
    floor = np.partition(scores[:count], count - k)[count - k]
    equal = k - (scores[:count] > floor).sum()  # so many of those at the floor are among the k best
    kept = 0
    for place in range(count):
        score = scores[place]
        if score > floor or (score == floor and equal > 0):
            equal -= score == floor
            scores[kept], items[kept] = score, items[place]
            kept += 1
    return floor, kept


@njit(cache=True, nogil=True)
def _sort(found, items, counts, top, best):
    """Fill in each user's best, largest first, equal ones in the items' order."""
    for row in range(len(counts)):
        _, count = keep_best(found[row], items[row], counts[row], top.shape[1])
        order = np.argsort(-found[row, :count], kind="mergesort")
        top[row], best[row] = -1, -np.inf
        for rank in range(count):
            best[row, rank] = found[row, order[rank]]
            if best[row, rank] > -np.inf:
                top[row, rank] = items[row, order[rank]]
