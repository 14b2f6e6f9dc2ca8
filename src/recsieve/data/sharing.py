"""Interactions shared out over the ranks of a group by user, and what they are together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.interactions import Interactions
from recsieve.group import Group

_AT_ONCE = 1 << 20  # rows put together in one go


def share_out(data: Interactions, group: Group) -> Interactions:
    """Of interactions that every rank has, those of this rank's users."""
    if group.size == 1:
        return data
    own = np.flatnonzero(data.users % group.size == group.rank)
    return replace(data.take(own), rows=own, group=group)


def renumbered(data: Interactions) -> Interactions:
    """Number the rows of all ranks without gaps, in the order they have."""
    if data.rows is None:
        return data
    last = int(data.rows[-1]) if len(data) else -1
    n_bytes = 1 + int(data.group.joined(np.array([last])).max()) // 8
    own = np.zeros(n_bytes, np.uint8)
    np.bitwise_or.at(own, data.rows // 8, (1 << (data.rows % 8)).astype(np.uint8))
    taken = data.group.sum(own)  # a bit for each row; no row is on two ranks, so that the sum is what any of them has
    before = np.cumsum(np.bitwise_count(taken), dtype=np.int64) - np.bitwise_count(taken)
    within = np.bitwise_count(taken[data.rows // 8] & ((1 << (data.rows % 8)) - 1).astype(np.uint8))
    return replace(data, rows=before[data.rows // 8] + within)


def in_order(data: Interactions, columns: dict[str, NDArray[np.generic]]) -> Iterator[dict[str, NDArray[np.generic]]]:
    """The columns of all ranks in the order of the rows, some rows at a time; `data.rows` has no gaps."""
    if data.rows is None:
        yield columns
        return
    total = data.total()
    for start in range(0, max(total, 1), _AT_ONCE):
        low, high = np.searchsorted(data.rows, [start, start + _AT_ONCE])
        order = np.argsort(data.group.joined(data.rows[low:high]))
        yield {name: data.group.joined(column[low:high])[order] for name, column in columns.items()}


def distinct_ids(own: pl.Series, group: Group) -> pl.Series:
    """The ids that any rank has, each once, sorted; text where they are text on any rank."""
    tables = [_from_bytes(table) for table in group.arrays(_as_bytes(own.unique().alias("id")))]
    if any(table.dtype == pl.String for table in tables):
        tables = [table.cast(pl.String) for table in tables]
    return pl.concat(tables).unique().sort().alias("id")


def _as_bytes(ids: pl.Series) -> NDArray[np.uint8]:
    buffer = BytesIO()
    ids.to_frame().write_ipc(buffer)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _from_bytes(message: NDArray[np.uint8]) -> pl.Series:
    return pl.read_ipc(BytesIO(message.tobytes()))["id"]
