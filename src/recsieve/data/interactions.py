"""Interactions as dense integer columns, with tables of the user's own ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recsieve.communicator import SINGLE_PROCESS, Communicator, Number
from recsieve.data.codes import count, merged_values, offsets_of, values_by_code
from recsieve.errors import DataError

# Values of the false-positive column.
CLEAN, NOISY, UNLABELLED = 0, 1, -1
COLUMNS = ("users", "items", "false_positive", "weight", "time", "rows")


@dataclass(frozen=True)
class CSR:
    """The distinct items of each user: row u is `items[offsets[u]:offsets[u + 1]]`, sorted."""

    offsets: NDArray[np.int64]  # (users + 1,)
    items: NDArray[np.int32]  # (pairs,)
    n_items: int
    weights: NDArray[np.float32] | None = None  # (pairs,) where some count more than others; None: all count 1

    @classmethod
    def from_pairs(cls, users: NDArray[np.int32], items: NDArray[np.int32], n_users: int, n_items: int) -> CSR:
        """Sort pairs by user and item, each pair once."""
        return cls(*values_by_code(users, items, n_users), n_items)

    @property
    def n_users(self) -> int:
        return len(self.offsets) - 1

    def row(self, user: int) -> NDArray[np.int32]:
        return self.items[self.offsets[user] : self.offsets[user + 1]]

    def counts(self) -> NDArray[np.int64]:
        """The number of items of each user."""
        return np.diff(self.offsets)

    def union(self, other: CSR) -> CSR:
        """The pairs that are in either of two."""
        return CSR(*merged_values(self.offsets, self.items, other.offsets, other.items), self.n_items)

    def take(self, rows: NDArray[np.integer[Any]]) -> CSR:
        """The rows of some users, in that order; −1 gives an empty row."""
        if len(rows) == 1 and rows[0] >= 0:  # as a service asks, again and again
            items = self.row(rows[0])
            return CSR(np.array([0, len(items)], np.int64), items, self.n_items)
        known = np.maximum(rows, 0) if self.n_users else np.zeros(len(rows), np.int64)
        starts, ends = self.offsets[known], self.offsets[known + 1] if self.n_users else self.offsets[known]
        counts = np.where(rows < 0, 0, ends - starts)
        offsets = offsets_of(counts)
        positions = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
        return CSR(offsets, self.items[positions], self.n_items)

    def emptied(self) -> CSR:
        """The same number of users, without items."""
        return CSR(np.zeros_like(self.offsets), self.items[:0], self.n_items)

    def totals(self) -> NDArray[np.float64]:
        """The sum of the weights of each user's items."""
        if self.weights is None:
            return self.counts().astype(np.float64)
        return np.bincount(self.users(), self.weights, minlength=self.n_users).astype(np.float64, copy=False)

    def users(self) -> NDArray[np.int32]:
        """The user of each stored pair."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.counts())


@dataclass(frozen=True)
class Interactions:
    """Immutable columns of interactions; `user_ids[code]` and `item_ids[code]` are the user's own ids.

    The id tables may have more users and items than occur here, because the parts of a split share them. If several
    processes share the interactions, each has all interactions of some users, and `rows` has their positions among all.
    """

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    user_ids: pl.Series  # Int64 or String, one row a code
    item_ids: pl.Series
    false_positive: NDArray[np.int8] | None = None  # CLEAN, NOISY (positive) or UNLABELLED
    weight: NDArray[np.float32] | None = None
    time: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None  # ascending; None: all are here
    group: Communicator = SINGLE_PROCESS  # the ranks that hold the rest

    def __post_init__(self) -> None:
        for name in COLUMNS:
            column = getattr(self, name)
            if column is None:
                continue
            if len(column) != len(self.users):
                raise DataError(f"the column '{name}' has {len(column)} rows but there are {len(self.users)} users.")
            column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.users)

    def all_reduce_length(self) -> int:
        """The number of interactions on all ranks; every rank has to call it."""
        return self.group.total(len(self))

    def all_gather_values(self, values: NDArray[Number]) -> NDArray[Number]:
        """The values of the interactions of all ranks, in their order, given those of the local ones."""
        if self.rows is None:
            return values
        ordered = np.empty(self.all_reduce_length(), values.dtype)
        ordered[self.group.all_gather_joined(self.rows)] = self.group.all_gather_joined(values)
        return ordered

    def ids_of(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions among all interactions, given local positions; −1 stays −1."""
        if self.rows is None:
            return index
        ids = index.copy()
        ids[index >= 0] = self.rows[index[index >= 0]]
        return ids

    @property
    def n_users(self) -> int:
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        return len(self.item_ids)

    @property
    def is_false_positive(self) -> NDArray[np.bool_]:
        """Which interactions are known to be noise."""
        if self.false_positive is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.false_positive == NOISY)

    @property
    def has_flags(self) -> bool:
        """Whether any interaction has a label."""
        return self.false_positive is not None and bool((self.false_positive != UNLABELLED).any())

    @property
    def weights_or_ones(self) -> NDArray[np.float32]:
        """What interactions count, 1 where nothing is given."""
        return np.ones(len(self), np.float32) if self.weight is None else self.weight

    @cached_property
    def csr(self) -> CSR:
        """The distinct items of each user."""
        return CSR.from_pairs(self.users, self.items, self.n_users, self.n_items)

    @cached_property
    def profiles(self) -> CSR:
        """The distinct items of each user with their weights, summed over repeated pairs."""
        if self.weight is None:
            return self.csr
        matrix = csr_array((self.weight, (self.users, self.items)), shape=(self.n_users, self.n_items))
        matrix.sort_indices()
        return replace(self.csr, weights=matrix.data.astype(np.float32, copy=False))

    @cached_property
    def counted(self) -> CSR:
        """The distinct items of each user, with the number of times the pair occurs."""
        return replace(self, weight=np.ones(len(self), np.float32)).profiles

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Interactions:
        """The interactions at some rows, with the same id tables."""
        columns = {name: column[rows] for name in COLUMNS if (column := getattr(self, name)) is not None}
        return replace(self, **columns)

    def item_counts(self) -> NDArray[np.int64]:
        """The number of interactions of each item: its popularity."""
        return count(self.items, self.n_items)

    def user_counts(self) -> NDArray[np.int64]:
        """The number of interactions of each user: their activity."""
        return count(self.users, self.n_users)

    def to_frame(self) -> pl.DataFrame:
        """A data frame with the user's own ids and all available columns."""
        columns = {"user": self.user_ids.gather(self.users), "item": self.item_ids.gather(self.items)}
        if self.false_positive is not None:
            flag = pl.Series(self.false_positive)
            columns["false_positive"] = (flag == NOISY).zip_with(
                flag != UNLABELLED, pl.Series([None], dtype=pl.Boolean)
            )
        if self.weight is not None:
            columns["weight"] = pl.Series(self.weight)
        if self.time is not None:
            columns["time"] = pl.Series(self.time)
        return pl.DataFrame(columns)


def concatenated(parts: Sequence[Interactions]) -> Interactions:
    """The parts of a split in one piece; columns that some parts lack are filled with their default."""
    absent: dict[str, Any] = {"false_positive": np.int8(UNLABELLED), "weight": np.float32(1), "time": np.int64(0)}
    columns: dict[str, Any] = {}
    for name in ("users", "items", *absent):
        given = [getattr(part, name) for part in parts]
        if any(column is not None for column in given):
            whole = [np.full(len(p), absent[name]) if c is None else c for p, c in zip(parts, given, strict=True)]
            columns[name] = np.concatenate(whole)
    return replace(parts[0], **columns)
