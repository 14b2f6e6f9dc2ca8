"""Batches of observed interactions and sampled negatives, as a pure function of seed, epoch and position.

Nothing of an epoch is stored. The position of a row in the shuffled epoch comes from a keyed permutation, and a
negative from a hash of its position. So memory is bounded, any thread or process gets the same samples, and a run
resumes in the middle of an epoch from three numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numba import njit, uint64
from numpy.typing import NDArray
from torch import Tensor

from recsieve.data.codes import offsets_of
from recsieve.data.interactions import CSR, Interactions
from recsieve.errors import ConfigError, DataError
from recsieve.prefetch import AHEAD, prefetch
from recsieve.sampling.draws import mix, permuted, unobserved, widths
from recsieve.sampling.joint import draw_joint
from recsieve.sampling.own_rows import OwnRows, next_group

_CHUNK = 1 << 16  # rows drawn at once

# How rows follow each other: interactions one by one, each with its negatives (the paper's Algorithm 1); user by user,
# so that a batch holds all rows of a few; or positives and negatives shuffled together (the authors' released code).
Layout = Literal["interactions", "users", "joint"]


@dataclass(frozen=True)
class Batch:
    """Observed interactions, each followed by its negatives; `ids` are the numbers of training interactions, −1 for a
    negative.

    With the layout "joint", a batch has any rows of the epoch, in any order, and has no pairs.

    A batch has the interactions whose own row falls into it, with all of their negatives. If ranks share the data,
    these are the rows of one rank, and `positions` are their positions among the `n_all` rows of all ranks.
    """

    users: Tensor  # (n,) int32
    items: Tensor  # (n,) int32
    labels: Tensor  # (n,) float32: 1 observed (or what its label says), 0 negative
    ids: Tensor  # (n,) int64
    weights: Tensor | None = None  # (n,) float32, given with the data; 1 for a negative
    positions: Tensor | None = None  # (n,) int64, ascending; None: all are here
    n_all: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def pairs(self) -> tuple[Tensor, Tensor]:
        """The rows of the interactions that have negatives, and those of the negatives: (n,) and (n, negatives)."""
        starts = (self.ids >= 0).nonzero().squeeze(1)
        lengths = torch.diff(starts, append=starts.new_tensor([len(self)])) - 1
        most = int(lengths.max()) if len(lengths) else 0
        positive = starts[lengths > 0]  # a user who has every item has no negatives
        return positive, positive[:, None] + torch.arange(1, most + 1)

    def take(self, rows: Tensor | slice) -> Batch:
        """Some of the rows."""
        columns = {name: column[rows] for name, column in vars(self).items() if isinstance(column, Tensor)}
        return replace(self, **columns)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Chunk:
    """Several consecutive batches in one piece."""

    rows: Batch
    bounds: NDArray[np.int64]  # (batches + 1,) where each begins among the rows of all ranks, the first at 0

    def batches(self) -> Iterator[Batch]:
        """The batches one by one; a rank may have no rows in some."""
        positions = self.rows.positions
        ends = self.bounds if positions is None else np.searchsorted(positions.numpy(), self.bounds)
        for (start, stop), (first, last) in zip(pairwise(ends), pairwise(self.bounds), strict=True):
            part = self.rows.take(slice(start, stop))
            if part.positions is not None:
                part = replace(part, positions=part.positions - int(first), n_all=int(last - first))
            yield part


class Sampler:
    """Samples the batches of every epoch: each interaction once, with new negatives, uniform over unobserved items.

    `layout` says how they are shuffled.
    """

    def __init__(
        self,
        data: Interactions,
        *,
        seed: int,
        negatives: int = 1,
        observed: CSR | None = None,
        layout: Layout = "interactions",
        labels: NDArray[np.float32] | None = None,  # (interactions,); 1 for each where left out
    ) -> None:
        if data.all_reduce_length() == 0:
            raise DataError("there are no interactions to sample from: give at least one.")
        if layout == "joint" and data.rows is not None:
            raise ConfigError("fidelity is 'authors', which works in one process only: start it without torchrun.")
        self._data, self._seed, self._negatives, self._layout = data, seed, negatives, layout
        self._observed = data.csr if observed is None else observed
        self._labels, self._weights = labels, data.weight
        # Never joined: an epoch that is left in the middle ends when it is garbage, and nothing may wait there.
        self._other_core = ThreadPoolExecutor(1)
        self._own = (
            None if data.rows is None else OwnRows(data, self._observed, negatives, user_grouped=layout == "users")
        )
        self.choose(None)
        self.without_negatives = len(self._rest) if self._own is None else self._own.n_without_negatives
        self._all_rows = self.rows_per_epoch

    def choose(self, chosen: NDArray[np.int64] | None) -> None:
        """Use only some interactions in the following epochs, possibly repeated; None: each interaction once.

        The length of an epoch does not change: a short selection is repeated.
        """
        if chosen is not None and self._own is not None:
            raise ConfigError(
                "the strategy selects the interactions of an epoch, which works in one process only: start it without "
                "torchrun."
            )
        self._chosen = None if chosen is None else np.resize(chosen, len(self._data))
        data = self._data if self._chosen is None else self._data.take(self._chosen)
        # A user who has every item gets no negatives; their interactions come at the end of an epoch.
        has_room = (self._observed.counts() < data.n_items)[data.users]
        self._epoch_data, self._rest = data, np.flatnonzero(~has_room)
        self._sources = np.flatnonzero(has_room) if len(self._rest) else self._rest  # empty: all of them
        shuffles_users = self._layout == "users" and self._own is None
        self._user_grouped = _UserGrouped(data, self._observed, self._negatives) if shuffles_users else None

    def relabel(self, labels: NDArray[np.float32] | None, weights: NDArray[np.float32] | None) -> None:
        """Give interactions other labels, or additional weights; None leaves them unchanged."""
        if labels is not None:
            self._labels = labels
        if weights is not None:
            self._weights = weights if self._data.weight is None else weights * self._data.weight

    @property
    def rows_per_epoch(self) -> int:
        """The number of rows of an epoch, on all ranks together."""
        if self._own is not None:
            return self._own.n_rows
        n = len(self._epoch_data)
        return n + (n - len(self._rest)) * self._negatives

    def steps_per_epoch(self, batch_size: int) -> int:
        """The number of batches of an epoch; the last has the remaining rows, and none is empty."""
        period = 1 if self._layout == "joint" else 1 + self._negatives
        if batch_size < period:
            raise ConfigError(too_small_batch(batch_size, period))
        singles_last = self._layout == "interactions" and self.without_negatives > 0
        return max((self._all_rows - (1 if singles_last else period)) // batch_size + 1, 1)

    def bounds(self, epoch: int, batch_size: int) -> NDArray[np.int64]:
        """The boundaries of the batches of an epoch: (batches + 1,)."""
        even = np.arange(self.steps_per_epoch(batch_size), dtype=np.int64) * batch_size
        if self._own is not None:
            starts = self._own.group_starts(self._key(epoch), even)
        elif self._user_grouped is not None:
            starts = self._user_grouped.group_starts(self._key(epoch), even)
        elif self._layout == "joint":
            starts = even
        else:
            period = 1 + self._negatives
            starts = np.where(even > self.rows_per_epoch - len(self._rest), even, -(-even // period) * period)
        return np.append(np.minimum(starts, self.rows_per_epoch), self.rows_per_epoch)

    def batches(self, epoch: int, batch_size: int, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch in order, from batch `first` on."""
        at_once = max(1, _CHUNK // batch_size)
        stops = [*range(first + at_once, self.steps_per_epoch(batch_size), at_once), self.steps_per_epoch(batch_size)]
        for chunk in self.chunks(epoch, batch_size, first, stops):
            yield from chunk.batches()

    def chunks(self, epoch: int, batch_size: int, first: int, stops: Sequence[int]) -> Iterator[Chunk]:
        """Batches of an epoch in one piece, from batch `first` to each of `stops`; the next is sampled meanwhile."""
        bounds = self.bounds(epoch, batch_size)
        ranges = list(pairwise([first, *stops]))
        coming = self._other_core.submit(self.draw, epoch, bounds[ranges[0][0]], bounds[ranges[0][1]])
        for (start, stop), following in zip(ranges, [*ranges[1:], None], strict=True):
            rows = coming.result()
            if following is not None:
                coming = self._other_core.submit(self.draw, epoch, bounds[following[0]], bounds[following[1]])
            yield Chunk(rows, bounds[start : stop + 1] - bounds[start])

    def draw(self, epoch: int, start: int, stop: int) -> Batch:
        """The rows from `start` to `stop` of a shuffled epoch, or this rank's share of them."""
        key = self._key(epoch)
        if self._own is None:
            users, items, index = self._draw_all(key, start, stop)
            return self._batch(users, items, index if self._chosen is None else _mapped(self._chosen, index))
        drawn = self._own.draw(key, start, stop)
        rows = self._batch(drawn.users, drawn.items, drawn.interactions)
        ids, positions = torch.from_numpy(drawn.ids), torch.from_numpy(drawn.positions - start)
        return replace(rows, ids=ids, positions=positions, n_all=int(stop - start))

    def _key(self, epoch: int) -> np.uint64:
        return np.uint64(np.random.SeedSequence([self._seed, epoch]).generate_state(1, np.uint64)[0])

    def _batch(self, users: np.ndarray, items: np.ndarray, index: np.ndarray) -> Batch:
        labels, weights = (index >= 0).astype(np.float32), None
        if self._labels is not None:
            labels[index >= 0] = self._labels[index[index >= 0]]
        if self._weights is not None:
            weights = np.ones(len(index), np.float32)
            weights[index >= 0] = self._weights[index[index >= 0]]
        rows = Batch(*map(torch.from_numpy, (users, items, labels, index)))  # type: ignore[arg-type]
        return rows if weights is None else replace(rows, weights=torch.from_numpy(weights))

    def _draw_all(self, key: np.uint64, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = stop - start
        users, items, ids = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
        data, observed = self._epoch_data, self._observed
        if self._user_grouped is None:
            draw = draw_joint if self._layout == "joint" else _draw
            draw(
                users, items, ids, start, key, data.users, data.items, self._sources, self._rest,
                self._negatives, observed.offsets, observed.items, observed.n_items,
            )  # fmt: skip
        else:
            order, ends, rows, offsets = self._user_grouped.shuffled(key)
            _draw_user_grouped(
                users, items, ids, start, key, order, ends, rows, offsets, data.items,
                observed.offsets, observed.items, observed.n_items,
            )  # fmt: skip
        return users, items, ids


class _UserGrouped:
    """Where the rows of each user are, and how many an epoch has of them."""

    def __init__(self, data: Interactions, observed: CSR, negatives: int) -> None:
        counts = data.user_counts()
        self._rows = np.argsort(data.users, kind="stable")
        self._offsets = offsets_of(counts)
        self._periods = np.where(observed.counts() < data.n_items, 1 + negatives, 1)
        self._lengths = counts * self._periods
        self._last: tuple[np.uint64, tuple[np.ndarray, ...]] | None = None

    def shuffled(self, key: np.uint64) -> tuple[np.ndarray, ...]:
        """The users in a random order, where the rows of each end in the epoch, and where they are in the data."""
        if self._last is None or self._last[0] != key:  # all chunks of an epoch have the same key
            order = np.random.default_rng(int(key)).permutation(np.flatnonzero(self._lengths))
            self._last = key, (order, np.cumsum(self._lengths[order]), self._rows, self._offsets)
        return self._last[1]

    def group_starts(self, key: np.uint64, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first row at or after each position that is an interaction's own."""
        order, ends, *_ = self.shuffled(key)
        return next_group(positions, ends, self._periods[order])


def _mapped(chosen: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which interactions some places of a choice stand for; −1 stays."""
    return np.where(index < 0, index, chosen[np.maximum(index, 0)])


@njit(nogil=True, cache=True)
def _draw(users, items, ids, start, key, data_users, data_items, sources, rest, negatives, offsets, observed, n_items):
    # In loops of their own, so that the processor waits for many places of memory at once instead of one by one.
    period = 1 + negatives
    rows = _rows_at(start, len(users), key, len(data_users) - len(rest), period, sources, rest)
    for i in range(len(users)):
        if i + AHEAD < len(users):
            prefetch(data_users, rows[i + AHEAD])  # type: ignore[call-arg]
            prefetch(data_items, rows[i + AHEAD])
        users[i], items[i] = data_users[rows[i]], data_items[rows[i]]
    negative_key, n_paired = mix(key), (len(data_users) - len(rest)) * period
    for i in range(len(users)):
        if i + AHEAD < len(users):
            later = users[i + AHEAD]
            prefetch(observed, (offsets[later] + offsets[later + 1]) >> 1)  # type: ignore[call-arg]
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
def _draw_user_grouped(
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


def too_small_batch(batch_size: int, rows: int) -> str:
    """The error message for a batch size that has no room for an interaction with its negatives."""
    return (
        f"batch_size is {batch_size}, but an interaction and its negatives are {rows} rows that stay together: give "
        f"{rows} or more."
    )
