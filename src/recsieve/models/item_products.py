"""Products of sparse matrices over the users, one row of items × items at a time: memory grows with what is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.cores import all_cores
from recsieve.data.codes import blocks, offsets_of
from recsieve.data.sharing import balanced_cuts

_ROWS = 64  # items that a thread takes at once


def gram_matrix(
    matrix: csr_array, targets: csr_array | None = None, group: Communicator = SINGLE_PROCESS
) -> NDArray[np.float32]:
    """MᵀM, or MᵀT if targets are given: (items, items). Only the lower half of MᵀM is filled in.

    In a group of ranks, each has the rows of its own users, and all get the sum.
    """
    n_items = matrix.shape[1]
    gram = np.zeros((n_items, n_items), np.float32)
    left, right = _parts(matrix.T.tocsr()), _parts(matrix if targets is None else targets)

    def fill(rows: slice) -> None:
        _fill_rows(*left, *right, rows.start, rows.stop, targets is None, gram)

    _in_threads(fill, slice(n_items))
    group.all_reduce(torch.from_numpy(gram))
    return gram


def nearest(left: csr_array, right: csr_array, k: int, group: Communicator = SINGLE_PROCESS) -> csr_array:
    """The k largest entries (0: all above 0) of each row of left · right, without the diagonal: (items, items).

    `left` is (items, users), `right` is (users, items), and no entry is below 0. Of equal ones the first columns are
    kept. In a group of ranks, all have both matrices, each finds the entries of a range of rows, and all get the
    entries of all.
    """
    n_items = right.shape[1]
    k = min(k, n_items) or n_items
    left_parts, right_parts = _parts(left), _parts(right)

    def find(rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        n_rows = rows.stop - rows.start
        counts = np.empty(n_rows, np.int64)
        columns, values = np.empty((n_rows, k), np.int32), np.empty((n_rows, k), np.float32)
        _nearest(*left_parts, *right_parts, rows.start, counts, columns, values)
        found = np.arange(k) < counts[:, None]
        return counts, columns[found], values[found]

    nothing = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
    found = [nothing, *_in_threads(find, _own_rows(left, right, group))]
    counts, columns, values = (group.all_gather_joined(np.concatenate(parts)) for parts in zip(*found, strict=True))
    offsets = offsets_of(counts)
    return csr_array((values, columns, offsets), shape=(n_items, n_items))


def _own_rows(left: csr_array, right: csr_array, group: Communicator) -> slice:
    """The range of rows of left · right that this rank computes, about the same work as that of each other."""
    if group.size == 1:
        return slice(left.shape[0])
    products = np.diff(right.indptr)[left.indices]
    before = offsets_of(products)[left.indptr]
    cuts = balanced_cuts(np.diff(before).astype(np.float64), group.size)
    return slice(cuts[group.rank], cuts[group.rank + 1])


def _in_threads(work: Callable[[slice], Any], rows: slice) -> list[Any]:
    with all_cores() as cores:
        return list(cores.map(work, blocks(rows.stop, _ROWS, rows.start or 0)))


def _parts(matrix: csr_array) -> tuple[NDArray, NDArray, NDArray]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


@njit(cache=True, nogil=True)
def _fill_rows(starts, users, values, offsets, items, others, first, last, lower, gram):
    total = np.zeros(gram.shape[1])
    for item in range(first, last):
        end = item + 1 if lower else gram.shape[1]
        total[:end] = 0
        for k in range(starts[item], starts[item + 1]):
            value = values[k]
            for j in range(offsets[users[k]], offsets[users[k] + 1]):
                if items[j] >= end:
                    break
                total[items[j]] += value * others[j]
        for j in range(end):
            gram[item, j] = total[j]


@njit(cache=True, nogil=True)
def _nearest(starts, users, values, offsets, items, others, first, counts, columns, largest):
    n_items = len(starts) - 1
    total, touched = np.zeros(n_items), np.empty(n_items + 1, np.int32)
    for row in range(len(counts)):
        n_touched = _add_row(starts, users, values, offsets, items, others, first + row, total, touched)
        total[first + row] = 0  # no item is its own neighbour
        counts[row] = _keep_largest(total, touched[:n_touched], columns[row], largest[row])


@njit(cache=True, nogil=True)
def _add_row(starts, users, values, offsets, items, others, item, total, touched):
    """Add up a row of the product; gives how many columns were touched.

    Without a branch: a column is written to the end of `touched` each time, and the end moves on if it is new there.
    Columns are taken as unsigned, or each would be asked whether it counts from the end.
    """
    n_touched = 0
    for k in range(starts[item], starts[item + 1]):
        value = np.float64(values[k])
        mine = slice(offsets[users[k]], offsets[users[k] + 1])
        columns, weights = items[mine], others[mine]
        for j in range(len(columns)):
            column, product = np.uint32(columns[j]), value * weights[j]
            touched[n_touched] = columns[j]
            n_touched += (total[column] == 0) & (product > 0)
            total[column] += product
    return n_touched


@njit(cache=True, nogil=True)
def _keep_largest(total, touched, columns, largest):
    """Move the largest of a row to the front of a heap whose root is the least of them; gives how many there are."""
    size = 0
    for column in touched:
        value = np.float32(total[column])
        total[column] = 0
        if value > 0 and size < len(columns):
            columns[size], largest[size] = column, value
            size += 1
            if size == len(columns):
                for root in range(size // 2, -1, -1):
                    _sift(columns, largest, root)
        elif value > 0 and _is_less(largest[0], columns[0], value, column):
            columns[0], largest[0] = column, value
            _sift(columns, largest, 0)
    return size


@njit(cache=True, nogil=True)
def _sift(columns, largest, root):
    """Let an entry sink until none below it is less."""
    while 2 * root + 1 < len(columns):
        child = 2 * root + 1
        if child + 1 < len(columns) and _is_less(
            largest[child + 1], columns[child + 1], largest[child], columns[child]
        ):
            child += 1
        if not _is_less(largest[child], columns[child], largest[root], columns[root]):
            break
        columns[root], columns[child] = columns[child], columns[root]
        largest[root], largest[child] = largest[child], largest[root]
        root = child


@njit(cache=True, nogil=True)
def _is_less(value, column, other, other_column):
    """The order in which entries are dropped: of equal values the last column first."""
    return value < other or (value == other and column > other_column)
