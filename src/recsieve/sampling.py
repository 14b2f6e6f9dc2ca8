"""Batches of observed interactions and sampled negatives, as a pure function of seed, epoch and position.

Nothing of an epoch is stored: the place of a row in the shuffled epoch comes from a keyed permutation and a negative
from a hash of its place, so memory stays bounded, any thread or process draws the same samples, and a run goes on in
the middle of an epoch from three numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise, repeat

import numpy as np
import torch
from numba import njit, uint64
from torch import Tensor

from recsieve.data.interactions import CSR, Interactions
from recsieve.draws import mix, permuted, unobserved, widths
from recsieve.errors import DataError
from recsieve.own_rows import OwnRows

_CHUNK = 1 << 16  # rows drawn at once


@dataclass(frozen=True)
class Batch:
    """Observed interactions and negatives, shuffled together; `ids` number the training interactions, −1 a negative.

    Where a group shares the data out, these are the rows of one rank, and `places` says where they stand among those
    of all, of which there are `n_all`.
    """

    users: Tensor  # (n,) int32
    items: Tensor  # (n,) int32
    labels: Tensor  # (n,) float32: 1 observed (or what its label says), 0 negative
    ids: Tensor  # (n,) int64
    weights: Tensor | None = None  # (n,) float32, given with the data; 1 for a negative
    places: Tensor | None = None  # (n,) int64, ascending; None: all are here
    n_all: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def split(self, size: int) -> Iterator[Batch]:
        """Consecutive parts of a size, the last one maybe smaller; a rank may have no rows of some."""
        sections: int | list[int] = size
        if self.places is not None:
            ends = torch.searchsorted(self.places, torch.arange(0, self.n_all, size)).tolist()
            sections = [end - start for start, end in pairwise([*ends, len(self)])]
        columns = (self.users, self.items, self.labels, self.ids, self.weights, self.places)
        split = [repeat(None) if column is None else column.split(sections) for column in columns]
        for first, parts in zip(range(0, max(self.n_all, len(self), 1), size), zip(*split, strict=False), strict=True):
            part = Batch(*parts)
            if part.places is not None:
                part = replace(part, places=part.places - first, n_all=min(size, self.n_all - first))
            yield part


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
        if data.total() == 0:
            raise DataError("there are no interactions to draw batches from: give at least one.")
        self._data = data
        self._observed = data.csr if observed is None else observed
        self._negatives = negatives
        self._labels = labels
        self._seed = seed
        self._own = None if data.rows is None else OwnRows(data, self._observed, negatives, by_user=by_user)
        # A user who has every item gets no negatives; their interactions come at the end of an epoch.
        has_room = (self._observed.counts() < data.n_items)[data.users]
        self._rest = np.flatnonzero(~has_room)
        self._sources = np.flatnonzero(has_room) if len(self._rest) else self._rest  # empty: all of them
        self._by_user = _ByUser(data, self._observed, negatives) if by_user and self._own is None else None

    @property
    def rows_per_epoch(self) -> int:
        """The rows of an epoch, on all ranks together."""
        if self._own is not None:
            return self._own.n_rows
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
        """The rows from `start` to `stop` of a shuffled epoch, or this rank's share of them."""
        key = np.uint64(np.random.SeedSequence([self._seed, epoch]).generate_state(1, np.uint64)[0])
        if self._own is None:
            return self._batch(*self._draw_all(key, start, stop))
        drawn = self._own.draw(key, start, stop)
        rows = self._batch(drawn.users, drawn.items, drawn.interactions)
        ids = torch.from_numpy(self._data.ids_of(drawn.interactions))
        return replace(rows, ids=ids, places=torch.from_numpy(drawn.positions - start), n_all=stop - start)

    def _batch(self, users: np.ndarray, items: np.ndarray, index: np.ndarray) -> Batch:
        labels, weights = (index >= 0).astype(np.float32), None
        if self._labels is not None:
            labels[index >= 0] = self._labels[index[index >= 0]]
        if self._data.weight is not None:
            weights = np.ones(len(index), np.float32)
            weights[index >= 0] = self._data.weight[index[index >= 0]]
        rows = Batch(*map(torch.from_numpy, (users, items, labels, index)))  # type: ignore[arg-type]
        return rows if weights is None else replace(rows, weights=torch.from_numpy(weights))

    def _draw_all(self, key: np.uint64, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = stop - start
        users, items, ids = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
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
        return users, items, ids


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


@njit(nogil=True, cache=True)
def _draw(users, items, ids, start, key, data_users, data_items, sources, rest, negatives, offsets, observed, n_items):
    # In loops of their own, so that the processor waits for many places of memory at once instead of one by one.
    period = 1 + negatives
    rows = _rows_at(start, len(users), key, len(data_users) - len(rest), period, sources, rest)
    for i in range(len(users)):
        users[i], items[i] = data_users[rows[i]], data_items[rows[i]]
    negative_key, n_paired = mix(key), (len(data_users) - len(rest)) * period
    for i in range(len(users)):
        within = (start + i) % period if start + i < n_paired else 0
        ids[i] = rows[i] if within == 0 else -1
        if within > 0:
            noise = mix(negative_key ^ uint64(rows[i] * period + within))
            items[i] = unobserved(noise, offsets[users[i]], offsets[users[i] + 1], observed, n_items)


@njit(nogil=True, cache=True)
def _rows_at(start, n, key, n_groups, period, sources, rest):
    """The interaction behind each place of a shuffled epoch: that of a negative is the one before it."""
    left_bits, right_bits = widths(n_groups)
    rows, row = np.empty(n, np.int64), 0
    for i in range(n):
        group, within = divmod(start + i, period)
        if group >= n_groups:
            row = rest[start + i - n_groups * period]
        elif within == 0 or i == 0:
            row = permuted(group, n_groups, key, left_bits, right_bits)
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
            noise = mix(key ^ mix(uint64(start + i)))
            items[i] = unobserved(noise, offsets[user], offsets[user + 1], observed, n_items)
            ids[i] = -1
