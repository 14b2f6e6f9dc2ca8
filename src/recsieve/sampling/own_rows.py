"""The rows of an epoch that belong to a rank: the same samples as in one process, without sampling the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from recsieve.data.interactions import CSR, Interactions
from recsieve.prefetch import AHEAD, prefetch
from recsieve.sampling.draws import mix, position_of, unobserved, widths


class Drawn(NamedTuple):
    """Some rows of a shuffled epoch."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    interactions: NDArray[np.int64]  # which of those here it is, −1 for a negative
    ids: NDArray[np.int64]  # which of those of all ranks
    positions: NDArray[np.int64]  # in the epoch, ascending


class OwnRows:
    """Finds the rows of a rank's interactions in every epoch, from their positions in the shuffled order."""

    def __init__(self, data: Interactions, observed: CSR, negatives: int, *, user_grouped: bool) -> None:
        self._data, self._observed, self._user_grouped = data, observed, user_grouped
        has_room = observed.counts() < data.n_items
        self._lengths = np.where(has_room[data.users], 1 + negatives, 1)  # an interaction and its negatives
        # Over the users of all ranks: those of the others have no interactions here.
        periods = np.where(has_room, 1 + negatives, 1)
        self._user_lengths = data.group.sum(data.user_counts() * periods)
        self._user_periods = data.group.sum(np.where(data.user_counts() > 0, periods, 0))
        self._rest = np.sort(data.group.all_gather_joined(_rows(data)[~has_room[data.users]]))
        self._n_groups, self._period = data.all_reduce_length() - len(self._rest), 1 + negatives
        self.n_without_negatives = len(self._rest)
        self.n_rows = int(self._user_lengths.sum())
        self._last: tuple[np.uint64, tuple[NDArray[np.int64], NDArray[np.int64]]] | None = None

    def draw(self, key: np.uint64, start: int, stop: int) -> Drawn:
        """Those of the rows from `start` to `stop` of an epoch that belong to this rank."""
        begins, order = self._shuffled(key)
        # A group of an interaction and its negatives may begin before the start.
        first, last = np.searchsorted(begins, [start - self._period + 1, stop])
        data, observed = self._data, self._observed
        return Drawn(*_draw(
            begins[first:last], order[first:last], start, stop, data.users, data.items, _rows(data), self._period, key,
            self._user_grouped, observed.offsets, observed.items, observed.n_items,
        ))  # fmt: skip

    def group_starts(self, key: np.uint64, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first row at or after each position that is an interaction's own, on any rank."""
        if self._user_grouped:
            order = self._user_order(key)
            return next_group(positions, np.cumsum(self._user_lengths[order]), self._user_periods[order])
        paired = self._n_groups * self._period
        return np.where(positions > paired, positions, -(-positions // self._period) * self._period)

    def _user_order(self, key: np.uint64) -> NDArray[np.int64]:
        return np.random.default_rng(int(key)).permutation(np.flatnonzero(self._user_lengths))

    def _shuffled(self, key: np.uint64) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where own interactions begin in the epoch, ascending, and which they are."""
        if self._last is None or self._last[0] != key:
            begins = self._begins_user_grouped(key) if self._user_grouped else self._begins(key)
            order = np.argsort(begins)
            self._last = key, (begins[order], order)
        return self._last[1]

    def _begins(self, key: np.uint64) -> NDArray[np.int64]:
        rows = _rows(self._data)
        of_rest = np.searchsorted(self._rest, rows)  # how many of those without negatives come before
        shuffled = _positions_of(rows - of_rest, self._n_groups, key) * self._period
        return np.where(self._without_negatives, self._n_groups * self._period + of_rest, shuffled)

    @property
    def _without_negatives(self) -> NDArray[np.bool_]:
        return self._lengths < self._period

    def _begins_user_grouped(self, key: np.uint64) -> NDArray[np.int64]:
        lengths, users = self._user_lengths, self._data.users
        shuffled = self._user_order(key)
        of_user = np.zeros(len(lengths), np.int64)
        of_user[shuffled] = np.cumsum(lengths[shuffled]) - lengths[shuffled]
        order = np.argsort(users, kind="stable")
        counts = self._data.user_counts()
        before = np.empty(len(users), np.int64)  # interactions of the same user that come before
        before[order] = np.arange(len(users)) - (np.cumsum(counts) - counts)[users[order]]
        return of_user[users] + before * self._lengths


def next_group(positions: NDArray[np.int64], ends: NDArray[np.int64], periods: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first row at or after each position at which an interaction starts.

    Users follow each other; `ends` has the end of each user's rows, and `periods` the number of rows per interaction.
    """
    user = np.minimum(np.searchsorted(ends, positions, side="right"), len(ends) - 1)
    first = np.where(user > 0, ends[user - 1], 0)
    period = periods[user]
    return first + -(-(positions - first) // period) * period


def _rows(data: Interactions) -> NDArray[np.int64]:
    return np.arange(len(data)) if data.rows is None else data.rows


@njit(nogil=True, cache=True)
def _positions_of(groups, n_groups, key):
    left_bits, right_bits = widths(n_groups)
    positions = np.zeros(len(groups), np.int64)
    for i in range(len(groups) if n_groups > 0 else 0):  # without groups, the walk would never land inside
        # Those of the rest may be numbered beyond the last group; nobody asks where they are.
        positions[i] = position_of(min(groups[i], n_groups - 1), n_groups, key, left_bits, right_bits)
    return positions


@njit(nogil=True, cache=True)
def _draw(
    begins, order, start, stop, data_users, data_items, data_rows, period, key, user_grouped, offsets, observed, n_items
):
    """The columns of `Drawn`: each interaction that begins at `begins`, and its negatives, from `start` to `stop`."""
    most, count = len(order) * period, 0
    users, items = np.empty(most, np.int32), np.empty(most, np.int32)
    interactions, ids, positions = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    # What a negative is drawn from: a counter (its place, or its row and number there), and what its user has.
    counters, lows, highs = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    for k in range(len(order)):
        if k + 2 * AHEAD < len(order):
            later = order[k + 2 * AHEAD]
            prefetch(data_users, later)  # type: ignore[call-arg]
            prefetch(data_items, later)
            prefetch(data_rows, later)
            prefetch(offsets, np.int64(data_users[order[k + AHEAD]]))
        own = order[k]
        user, item, row = data_users[own], data_items[own], data_rows[own]
        low, high = offsets[user], offsets[user + 1]
        for within in range(period if high - low < n_items else 1):
            position = begins[k] + within
            if start <= position < stop:
                users[count], items[count], positions[count] = user, item, position
                interactions[count], ids[count] = (own, row) if within == 0 else (-1, -1)
                counters[count] = position if user_grouped else row * period + within
                lows[count], highs[count] = low, high
                count += 1
    negative_key = mix(key)
    for k in range(count):
        if k + AHEAD < count:
            prefetch(observed, (lows[k + AHEAD] + highs[k + AHEAD]) >> 1)  # type: ignore[call-arg]
        if interactions[k] < 0:
            counter = uint64(counters[k])
            noise = mix(key ^ mix(counter)) if user_grouped else mix(negative_key ^ counter)
            items[k] = unobserved(noise, lows[k], highs[k], observed, n_items)
    return users[:count], items[:count], interactions[:count], ids[:count], positions[:count]
