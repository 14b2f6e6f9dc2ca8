"""Batches of observed interactions and sampled negatives, as a pure function of seed, epoch and position.

Nothing of an epoch is stored: the place of a row in the shuffled epoch comes from a keyed permutation and a negative
from a hash of its place, so memory stays bounded, any thread or process draws the same samples, and a run goes on in
the middle of an epoch from three numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np
import torch
from numba import njit, uint64
from torch import Tensor

from recsieve.data.interactions import CSR, Interactions
from recsieve.errors import DataError

_CHUNK = 1 << 16  # rows drawn at once
_ROUNDS = 4  # of the permutation; even, so that both halves come back to their widths


@dataclass(frozen=True)
class Batch:
    """Observed interactions and negatives, shuffled together; `ids` number the training interactions, −1 a negative."""

    users: Tensor  # (n,) int32
    items: Tensor  # (n,) int32
    labels: Tensor  # (n,) float32: 1 observed (or what its label says), 0 negative
    ids: Tensor  # (n,) int64
    weights: Tensor | None = None  # (n,) float32, given with the data; 1 for a negative

    def __len__(self) -> int:
        return len(self.labels)

    def split(self, size: int) -> Iterator[Batch]:
        """Consecutive parts of a size, the last one maybe smaller."""
        columns = (self.users, self.items, self.labels, self.ids)
        weights = repeat(None) if self.weights is None else self.weights.split(size)
        return map(Batch, *(column.split(size) for column in columns), weights)


class Sampler:
    """Draws the batches of every epoch: each interaction once, with fresh negatives, uniform over unobserved items.

    Interactions are shuffled one by one, each followed by its negatives (the paper's Algorithm 1), or with `by_user`
    user by user, so that a batch holds all rows of a few users.
    """

    def __init__(
        self,
        data: Interactions,
        *,
        seed: int,
        negatives: int = 1,
        observed: CSR | None = None,
        by_user: bool = False,
        labels: np.ndarray | None = None,  # (interactions,) float32; 1 for each where left out
    ) -> None:
        if len(data) == 0:
            raise DataError("there are no interactions to draw batches from: give at least one.")
        self._data = data
        self._observed = data.csr if observed is None else observed
        self._negatives = negatives
        self._labels = labels
        self._seed = seed
        # A user who has every item gets no negatives; their interactions come at the end of an epoch.
        has_room = (self._observed.counts() < data.n_items)[data.users]
        self._rest = np.flatnonzero(~has_room)
        self._sources = np.flatnonzero(has_room) if len(self._rest) else self._rest  # empty: all of them
        self._by_user = _ByUser(data, self._observed, negatives) if by_user else None

    @property
    def rows_per_epoch(self) -> int:
        return len(self._data) + (len(self._data) - len(self._rest)) * self._negatives

    def steps_per_epoch(self, batch_size: int) -> int:
        return -(-self.rows_per_epoch // batch_size)

    def batches(self, epoch: int, batch_size: int, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch in order, from batch `first` on."""
        at_once = max(1, _CHUNK // batch_size)
        stops = [*range(first + at_once, self.steps_per_epoch(batch_size), at_once), self.steps_per_epoch(batch_size)]
        for rows in self.stretches(epoch, batch_size, first, stops):
            yield from rows.split(batch_size)

    def stretches(self, epoch: int, batch_size: int, first: int, stops: Sequence[int]) -> Iterator[Batch]:
        """Batches of an epoch in one piece, from batch `first` to each of `stops`; the next is drawn meanwhile."""
        bounds = [min(stop * batch_size, self.rows_per_epoch) for stop in (first, *stops)]
        ranges = list(pairwise(bounds))
        with ThreadPoolExecutor(1) as other_core:
            coming = other_core.submit(self.draw, epoch, *ranges[0])
            for following in [*ranges[1:], None]:
                rows = coming.result()
                if following is not None:
                    coming = other_core.submit(self.draw, epoch, *following)
                yield rows

    def draw(self, epoch: int, start: int, stop: int) -> Batch:
        """The rows from `start` to `stop` of a shuffled epoch."""
        n = stop - start
        users, items, ids = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
        key = np.uint64(np.random.SeedSequence([self._seed, epoch]).generate_state(1, np.uint64)[0])
        data, observed = self._data, self._observed
        if self._by_user is None:
            _draw(
                users, items, ids, start, key, data.users, data.items, self._sources, self._rest,
                self._negatives, observed.offsets, observed.items, observed.n_items,
            )  # fmt: skip
        else:
            order, ends, rows, offsets = self._by_user.shuffled(key)
            _draw_by_user(
                users, items, ids, start, key, order, ends, rows, offsets, data.items,
                observed.offsets, observed.items, observed.n_items,
            )  # fmt: skip
        weights = None
        if data.weight is not None:
            weights = torch.from_numpy(np.where(ids >= 0, data.weight[ids], np.float32(1)))
        positives = (ids >= 0).astype(np.float32)
        labels = torch.from_numpy(positives if self._labels is None else positives * self._labels[ids])
        return Batch(torch.from_numpy(users), torch.from_numpy(items), labels, torch.from_numpy(ids), weights)


class _ByUser:
    """Where the rows of each user are, and how many an epoch has of them."""

    def __init__(self, data: Interactions, observed: CSR, negatives: int) -> None:
        counts = data.user_counts()
        self._rows = np.argsort(data.users, kind="stable")
        self._offsets = np.concatenate([[0], np.cumsum(counts)])
        self._lengths = counts * np.where(observed.counts() < data.n_items, 1 + negatives, 1)
        self._last: tuple[np.uint64, tuple[np.ndarray, ...]] | None = None

    def shuffled(self, key: np.uint64) -> tuple[np.ndarray, ...]:
        """The users in a random order, where the rows of each end in the epoch, and where they are in the data."""
        if self._last is None or self._last[0] != key:  # all chunks of an epoch have the same key
            order = np.random.default_rng(int(key)).permutation(np.flatnonzero(self._lengths))
            self._last = key, (order, np.cumsum(self._lengths[order]), self._rows, self._offsets)
        return self._last[1]


@njit(inline="always", cache=True)
def _mix(x):
    """Turn a counter into 64 random bits (the finaliser of splitmix64)."""
    x = uint64(x) + uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@njit(inline="always", cache=True)
def _permuted(position, n, key, left_bits, right_bits):
    """Where a position goes in a random permutation of 0…n−1: a Feistel network, walked until it lands inside."""
    x = uint64(position)
    while True:
        a_bits, b_bits = left_bits, right_bits
        a, b = x >> b_bits, x & ((uint64(1) << b_bits) - uint64(1))
        for turn in range(_ROUNDS):
            mixed = _mix(key ^ (b + (uint64(turn) << uint64(56))))
            a, b = b, (a ^ mixed) & ((uint64(1) << a_bits) - uint64(1))
            a_bits, b_bits = b_bits, a_bits
        x = (a << b_bits) | b
        if x < uint64(n):
            return np.int64(x)


@njit(inline="always", cache=True)
def _unobserved(bits, low, high, observed, n_items):
    """A random item outside the sorted list `observed[low:high]`; −1 where none is left.

    The r-th unobserved item is r plus the number of observed items before it, found by halving: no draw is rejected.
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


@njit(nogil=True, cache=True)
def _draw(users, items, ids, start, key, data_users, data_items, sources, rest, negatives, offsets, observed, n_items):
    # In loops of their own, so that the processor waits for many places of memory at once instead of one by one.
    period = 1 + negatives
    rows = _rows_at(start, len(users), key, len(data_users) - len(rest), period, sources, rest)
    for i in range(len(users)):
        users[i], items[i] = data_users[rows[i]], data_items[rows[i]]
    negative_key, n_paired = _mix(key), (len(data_users) - len(rest)) * period
    for i in range(len(users)):
        within = (start + i) % period if start + i < n_paired else 0
        ids[i] = rows[i] if within == 0 else -1
        if within > 0:
            noise = _mix(negative_key ^ uint64(rows[i] * period + within))
            items[i] = _unobserved(noise, offsets[users[i]], offsets[users[i] + 1], observed, n_items)


@njit(nogil=True, cache=True)
def _rows_at(start, n, key, n_groups, period, sources, rest):
    """The interaction behind each place of a shuffled epoch: that of a negative is the one before it."""
    bits = 10  # fewer would not mix the few rows of a tiny epoch well
    while (1 << bits) < n_groups:
        bits += 1
    left_bits, right_bits = uint64(bits - bits // 2), uint64(bits // 2)
    rows, row = np.empty(n, np.int64), 0
    for i in range(n):
        group, within = divmod(start + i, period)
        if group >= n_groups:
            row = rest[start + i - n_groups * period]
        elif within == 0 or i == 0:
            row = _permuted(group, n_groups, key, left_bits, right_bits)
            row = sources[row] if len(sources) > 0 else row
        rows[i] = row
    return rows


@njit(nogil=True, cache=True)
def _draw_by_user(
    users, items, ids, start, key, order, ends, rows, row_offsets, data_items, offsets, observed, n_items
):
    place = np.searchsorted(ends, start, side="right")
    for i in range(len(users)):
        while ends[place] <= start + i:
            place += 1
        user = order[place]
        within = start + i - (ends[place - 1] if place > 0 else 0)
        n_positives = row_offsets[user + 1] - row_offsets[user]
        period = (ends[place] - (ends[place - 1] if place > 0 else 0)) // n_positives  # a positive and its negatives
        users[i] = user
        if within % period == 0:
            row = rows[row_offsets[user] + within // period]
            items[i], ids[i] = data_items[row], row
        else:
            noise = _mix(key ^ _mix(uint64(start + i)))
            items[i] = _unobserved(noise, offsets[user], offsets[user + 1], observed, n_items)
            ids[i] = -1
