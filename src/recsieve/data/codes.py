"""Counting and grouping by dense codes in linear time, without sorting all rows or copying them into wider types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recsieve.errors import DataError

BLOCK_ROWS = 1 << 20  # where whole columns of numbers in between would take more memory than the columns themselves


def blocks(n_rows: int, size: int = BLOCK_ROWS, first: int = 0) -> Iterator[slice]:
    """Consecutive ranges of rows, of which the last may be shorter."""
    return (slice(start, min(start + size, n_rows)) for start in range(first, n_rows, size))


def offsets_of(counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where each of some groups begins, and the last ends, given how many are in each."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def count(codes: NDArray[np.integer[Any]], n: int) -> NDArray[np.int64]:
    """How often each code from 0 to n−1 occurs."""
    _refuse_outside(codes, n)
    counts = np.zeros(n, np.int64)
    _count(codes, counts)
    return counts


def values_by_code(
    codes: NDArray[np.integer[Any]], values: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The distinct values of each code, sorted: those of code c are `values[offsets[c]:offsets[c + 1]]`."""
    offsets = offsets_of(count(codes, n))
    grouped = np.empty(len(values), np.int32)
    _group(codes, values, offsets[:-1].copy(), grouped)
    kept = _sort_each(offsets, grouped)
    return offsets, grouped if kept == len(grouped) else grouped[:kept].copy()


def merged_values(
    offsets: NDArray[np.int64], values: NDArray[np.int32], others: NDArray[np.int64], more: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The values that each code has in either of two groupings by `values_by_code`."""
    merged_offsets, merged = np.empty_like(offsets), np.empty(len(values) + len(more), np.int32)
    kept = _merge(offsets, values, others, more, merged_offsets, merged)
    return merged_offsets, merged if kept == len(merged) else merged[:kept].copy()


def positions_within(codes: NDArray[np.integer[Any]], order: NDArray[np.int64], n: int) -> NDArray[np.int32]:
    """For each row, how many rows with the same code come before it in a given order."""
    _refuse_outside(codes, n)
    position = np.empty(len(codes), np.int32)
    _position_within(codes, order, np.zeros(n, np.int32), position)
    return position


def _refuse_outside(codes: NDArray[np.integer[Any]], n: int) -> None:
    """The kernels do not look where they write."""
    if len(codes) and not 0 <= codes.min() <= codes.max() < n:
        raise DataError(
            f"there are codes from {codes.min()} to {codes.max()}, but only {n} ids: give codes from 0 to below that."
        )


@njit(cache=True, nogil=True)
def _count(codes: Any, counts: Any) -> None:
    for code in codes:
        counts[code] += 1


@njit(cache=True, nogil=True)
def _group(codes: Any, values: Any, ends: Any, grouped: Any) -> None:
    """Put the values of each code together; `ends` begin as the places of the first and are moved on."""
    for row in range(len(codes)):
        code = codes[row]
        grouped[ends[code]] = values[row]
        ends[code] += 1


@njit(cache=True, nogil=True)
def _sort_each(offsets: Any, grouped: Any) -> int:
    """Sort the values of each code and move them together, each once; gives how many remain."""
    kept = 0
    for code in range(len(offsets) - 1):
        values = grouped[offsets[code] : offsets[code + 1]]
        values.sort()
        offsets[code] = first = kept
        for value in values:
            if kept == first or value != grouped[kept - 1]:
                grouped[kept] = value
                kept += 1
    offsets[-1] = kept
    return kept


@njit(cache=True, nogil=True)
def _merge(offsets: Any, values: Any, others: Any, more: Any, merged_offsets: Any, merged: Any) -> int:
    """Go through both sorted lists of each code at once; gives how many values there are."""
    kept = 0
    for code in range(len(offsets) - 1):
        merged_offsets[code] = kept
        here, there, end, other_end = offsets[code], others[code], offsets[code + 1], others[code + 1]
        while here < end or there < other_end:
            if there == other_end or (here < end and values[here] <= more[there]):
                merged[kept] = values[here]
                there += there < other_end and values[here] == more[there]
                here += 1
            else:
                merged[kept] = more[there]
                there += 1
            kept += 1
    merged_offsets[-1] = kept
    return kept


@njit(cache=True, nogil=True)
def _position_within(codes: Any, order: Any, seen: Any, position: Any) -> None:
    for row in order:
        position[row] = seen[codes[row]]
        seen[codes[row]] += 1
