"""Solves one side of iALS for the other, by a few steps of conjugate gradients per row.

For a user u with confidences c the equations are (α0·HᵀH + Σ_i c_i·h_i·h_iᵀ + λ_u·1)·w = Σ_i c_i·h_i. Both sides are
first rotated into the eigenvectors of HᵀH, which changes no score. There α0·HᵀH is diagonal, so a step costs two passes
over the user's items and nothing that grows with the square of the factors. α0·HᵀH + λ_u·1 is inverted by a division,
which is the preconditioner. Each row is solved by one thread, so the result does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.codes import blocks, count, offsets_of

Result = TypeVar("Result")
ROWS = 256  # that a thread takes at once
_TABLE_ROWS = 8192  # of a table of vectors that are multiplied at once
_CONVERGED = 1e-12  # of a squared residual, beside that at the start


class Side(NamedTuple):
    """Interactions grouped by user or by item: row r is `others[offsets[r]:offsets[r + 1]]`."""

    offsets: NDArray[np.int64]
    others: NDArray[np.int32]
    order: NDArray[np.int64]  # where each interaction stands in the data

    @classmethod
    def of(cls, rows: NDArray[np.int32], others: NDArray[np.int32], n_rows: int) -> Side:
        order = np.argsort(rows, kind="stable")
        return cls(offsets_of(count(rows, n_rows)), others[order], order)


def rotate(solved: Tensor, fixed: Tensor, cores: Executor, group: Communicator = SINGLE_PROCESS) -> Tensor:
    """Rotate both tables in place into the basis in which fixedᵀ·fixed is diagonal, and return the diagonal:
    (factors,).

    In a group of ranks, both tables are the rows of this rank, and fixedᵀ·fixed is that of all.
    """
    parts = _each(lambda rows: (fixed[rows].T @ fixed[rows]).double(), len(fixed), cores)
    gram = sum(parts, torch.zeros(2 * fixed.shape[1:], dtype=torch.float64))
    group.all_reduce(gram)
    values, vectors = torch.linalg.eigh(gram)
    group.broadcast(vectors)  # on another kind of processor, some may have another sign
    turn = vectors.float()

    def multiply(table: Tensor) -> None:
        _each(lambda rows: table[rows].copy_(table[rows] @ turn), len(table), cores)

    multiply(solved)
    multiply(fixed)
    return values.clamp_(min=0).float()


def diagonal(fixed: Tensor, cores: Executor, group: Communicator = SINGLE_PROCESS) -> Tensor:
    """The diagonal of fixedᵀ·fixed, if it is diagonal: (factors,). In a group, `fixed` has the rows of this rank."""
    parts = _each(lambda rows: fixed[rows].double().square().sum(0), len(fixed), cores)
    squares = sum(parts, torch.zeros(fixed.shape[1], dtype=torch.float64))
    group.all_reduce(squares)
    return squares.float()


def solve(
    solved: Tensor,
    fixed: Tensor,
    side: Side,
    confidences: NDArray[np.float32],
    prior: Tensor,
    l2: NDArray[np.float32],
    steps: int,
    cores: Executor,
) -> None:
    """Move the vectors of one side some steps towards the optimum for the other, in place.

    `confidences` are in the order of the data, `prior` is α0 times the diagonal from `rotate`, and `l2` is λ_u of each
    row. Both tables are in the basis of `rotate`.
    """
    grouped = confidences[side.order]

    def solve_rows(rows: slice) -> None:
        _solve_rows(
            rows.start, rows.stop, side.offsets, side.others, grouped, fixed.numpy(), prior.numpy(), l2, steps,
            solved.numpy(),
        )  # fmt: skip

    list(cores.map(solve_rows, blocks(len(solved), ROWS)))


def dot_products(users: Tensor, items: Tensor, side: Side, cores: Executor) -> NDArray[np.float32]:
    """The score of each interaction, in the order of the data; `side` groups by user."""
    scores = np.empty(len(side.order), np.float32)

    def fill(rows: slice) -> None:
        _dot_products(rows.start, rows.stop, *side, users.numpy(), items.numpy(), scores)

    list(cores.map(fill, blocks(len(users), ROWS)))
    return scores


def sums_of_squares(table: Tensor, weights: NDArray[np.float32], cores: Executor) -> tuple[Tensor, float]:
    """The sum of squares of each column (factors,), and of all rows times their weights; both in float64."""

    def add(rows: slice) -> tuple[Tensor, Tensor]:
        squares = table[rows].double().square()
        return squares.sum(0), squares.sum(1) @ torch.from_numpy(weights[rows]).double()

    parts = _each(add, len(table), cores)
    of_columns = sum((part for part, _ in parts), torch.zeros(table.shape[1], dtype=torch.float64))
    return of_columns, float(sum(part for _, part in parts))


def _each(work: Callable[[slice], Result], n_rows: int, cores: Executor) -> list[Result]:
    return list(cores.map(work, blocks(n_rows, _TABLE_ROWS)))


_kernel = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


@_kernel
def _solve_rows(first, last, offsets, others, confidences, fixed, prior, l2, steps, solved):
    factors, zero, one = fixed.shape[1], np.float32(0), np.float32(1)
    residual, direction = np.empty(factors, np.float32), np.empty(factors, np.float32)
    image, scale = np.empty(factors, np.float32), np.empty(factors, np.float32)
    for row in range(first, last):
        mine = slice(offsets[row], offsets[row + 1])
        x = solved[row]
        for f in range(factors):
            scale[f] = np.float32(1) / max(prior[f] + l2[row], np.float32(1e-30))
            residual[f] = -x[f] * (prior[f] + l2[row])
        _add_rows(others[mine], confidences[mine], fixed, x, one, -one, residual)
        size = np.float32(0)
        for f in range(factors):
            direction[f] = scale[f] * residual[f]
            size += direction[f] * residual[f]
        small = np.float32(_CONVERGED) * size
        for _ in range(steps):
            if size <= small:
                break
            for f in range(factors):
                image[f] = direction[f] * (prior[f] + l2[row])
            _add_rows(others[mine], confidences[mine], fixed, direction, zero, one, image)
            step = size / _dot(direction, image)
            new_size = np.float32(0)
            for f in range(factors):
                x[f] += step * direction[f]
                residual[f] -= step * image[f]
                new_size += scale[f] * residual[f] * residual[f]
            for f in range(factors):
                direction[f] = scale[f] * residual[f] + (new_size / size) * direction[f]
            size = new_size


@_kernel
def _add_rows(others, confidences, fixed, x, shift, sign, total):
    """Σ c·(shift + sign·h·x)·h, added to a total; four at a time, so that x and the total are read once for all."""
    n_fours = len(others) // 4 * 4
    for k in range(0, n_fours, 4):
        a, b, c, d = fixed[others[k]], fixed[others[k + 1]], fixed[others[k + 2]], fixed[others[k + 3]]
        ax, bx, cx, dx = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        for f in range(len(x)):
            ax += a[f] * x[f]
            bx += b[f] * x[f]
            cx += c[f] * x[f]
            dx += d[f] * x[f]
        ax, bx = confidences[k] * (shift + sign * ax), confidences[k + 1] * (shift + sign * bx)
        cx, dx = confidences[k + 2] * (shift + sign * cx), confidences[k + 3] * (shift + sign * dx)
        for f in range(len(x)):
            total[f] += ax * a[f] + bx * b[f] + cx * c[f] + dx * d[f]
    for k in range(n_fours, len(others)):
        h = fixed[others[k]]
        hx = confidences[k] * (shift + sign * _dot(h, x))
        for f in range(len(x)):
            total[f] += hx * h[f]


@_kernel
def _dot(a, b):
    total = np.float32(0)
    for f in range(len(a)):
        total += a[f] * b[f]
    return total


@_kernel
def _dot_products(first, last, offsets, others, order, users, items, scores):
    for row in range(first, last):
        for k in range(offsets[row], offsets[row + 1]):
            scores[order[k]] = _dot(users[row], items[others[k]])
