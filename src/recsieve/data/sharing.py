"""Interactions divided among ranks by user, and operations over all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.interactions import COLUMNS, Interactions

_AT_ONCE = 1 << 20  # rows put together in one go


def share_out(data: Interactions, group: Communicator) -> Interactions:
    """The interactions of this rank's users, from interactions that every rank has."""
    if group.size == 1:
        return replace(data, group=group)
    own = np.flatnonzero(data.users % group.size == group.rank)
    return replace(data.take(own), rows=own, group=group)


def renumbered(data: Interactions) -> Interactions:
    """Number the rows of all ranks without gaps, keeping their order."""
    if data.rows is None:
        return data
    last = int(data.rows[-1]) if len(data) else -1
    n_bytes = 1 + int(data.group.all_gather_joined(np.array([last])).max()) // 8
    own = np.zeros(n_bytes, np.uint8)
    np.bitwise_or.at(own, data.rows // 8, (1 << (data.rows % 8)).astype(np.uint8))
    taken = data.group.sum(own)  # a bit for each row; no row is on two ranks, so that the sum is what any of them has
    before = np.cumsum(np.bitwise_count(taken), dtype=np.int64) - np.bitwise_count(taken)
    within = np.bitwise_count(taken[data.rows // 8] & ((1 << (data.rows % 8)) - 1).astype(np.uint8))
    return replace(data, rows=before[data.rows // 8] + within)


def in_order(data: Interactions) -> Iterator[Interactions]:
    """The interactions of all ranks in the order of their rows, which have no gaps, in blocks."""
    names = [name for name in COLUMNS if name != "rows" and getattr(data, name) is not None]
    for columns in zip(*(column_in_order(data, name) for name in names), strict=True):
        yield replace(data, **dict(zip(names, columns, strict=True)), rows=None, group=SINGLE_PROCESS)


def column_in_order(data: Interactions, name: str) -> Iterator[NDArray[np.generic]]:
    """A column of all ranks in the order of their rows, in blocks."""
    column = getattr(data, name)
    if data.rows is None:
        yield column
        return
    for start in range(0, data.all_reduce_length(), _AT_ONCE):
        low, high = np.searchsorted(data.rows, [start, start + _AT_ONCE])
        order = np.argsort(data.group.all_gather_joined(data.rows[low:high]))
        yield data.group.all_gather_joined(column[low:high])[order]


def balanced_cuts(work: NDArray[np.floating], n_ranges: int) -> NDArray[np.int64]:
    """The boundaries of consecutive ranges of rows with about equal work, given the work of each row."""
    inner = np.searchsorted(np.cumsum(work) - work / 2, work.sum() * np.arange(1, n_ranges) / n_ranges)
    return np.concatenate([[0], inner, [len(work)]])


def nth_smallest(ascending: NDArray[np.int64], n: NDArray[np.int64], group: Communicator) -> NDArray[np.int64]:
    """The n-th smallest of the numbers of all ranks, from 1, for several n; by bisection, without sending them."""
    if group.size == 1:
        return ascending[n - 1]
    ends = ascending[[0, -1]] if len(ascending) else np.zeros(0, np.int64)
    ends = group.all_gather_joined(ends)
    low, high = np.full(len(n), ends.min()), np.full(len(n), ends.max())
    while (low < high).any():
        middle = low + (high - low) // 2
        enough = group.sum(np.searchsorted(ascending, middle, side="right")) >= n
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return low


def unique_ids(own: pl.Series, group: Communicator) -> pl.Series:
    """The distinct ids of all ranks, sorted, given those of this one; text if any rank has text."""
    if group.size == 1:
        return own
    tables = [_from_bytes(table) for table in group.all_gather_arrays(_as_bytes(own))]
    if any(table.dtype == pl.String for table in tables):
        tables = [table.cast(pl.String) for table in tables]
    return pl.concat(tables).unique().sort().alias("id")


def _as_bytes(ids: pl.Series) -> NDArray[np.uint8]:
    buffer = BytesIO()
    ids.to_frame("id").write_ipc(buffer)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _from_bytes(message: NDArray[np.uint8]) -> pl.Series:
    return pl.read_ipc(BytesIO(message.tobytes()))["id"]
