"""Adam over single rows of a table: the kernels of `LazyAdam`, on numpy arrays only.

A row without a gradient after step `start` still changes under Adam, at every later step s by m · rate_s·β1^(s-start) /
(√v · scale_s·β2^((s-start)/2) + ε) with rate_s = lr_s/(1-β1^s), scale_s = 1/√(1-β2^s). The sum of weight/(node·√v + ε)
over many steps equals, up to rounding, the same sum over only two nodes with the same first four moments (Gauss
quadrature). The two depend on `start` and the current step, not on the row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recsieve.prefetch import AHEAD, prefetch

# Missed steps that weigh less than this against the first are left out: far below the rounding of float32.
NEGLIGIBLE = 1e-9
# The largest relative error of a movement by quadrature; a row that would exceed it takes its steps one by one.
TOLERANCE = 1e-6
# Moments below this are cleared: arithmetic on denormal numbers is many times slower, and what they change is nothing.
TINY = np.float32(1e-37)
# Instead of the step up to which a row is, where it had no gradient yet: there is nothing to catch up.
NEVER = -1

CACHE_LINE = 16  # numbers of 4 bytes

_strict = njit(cache=True, nogil=True, error_model="numpy")
_fused = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})  # multiply-add, no reordering


class RowAdam:
    """Adam over the rows of one table; each row is updated up to the step in `last` until it is needed again."""

    def __init__(
        self,
        exp_avg: NDArray[np.float32],
        exp_avg_sq: NDArray[np.float32],
        last: NDArray[np.int32],
        timeline: Timeline,
        eps: float,
    ) -> None:
        self.exp_avg, self.exp_avg_sq, self.last = exp_avg, exp_avg_sq, last
        self.timeline, self.eps = timeline, eps
        self.marks = np.full(len(last), -1, np.int32)  # for `unique_rows`, so that it need not sort

    def rows(self, table: NDArray[np.float32]) -> Rows:
        """Everything that the kernels need, until the timeline grows."""
        time, (beta1, beta2) = self.timeline, self.timeline.betas
        return Rows(
            table, self.exp_avg, self.exp_avg_sq, self.last, self.marks, time.nodes, time.decay,
            time.learning_rates, time.rates, time.scales, time.window, beta1, beta2, self.eps,
        )  # fmt: skip

    def unique(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
        """The distinct rows, and the position of each row among them."""
        unique, inverse = unique_rows(rows, self.marks)
        if len(inverse) < len(rows):
            row = rows[len(inverse)]
            raise IndexError(f"row {row} was looked up in a table of {len(self.last)} rows, numbered from 0.")
        return unique, inverse

    def catch_up(self, table: NDArray[np.float32], unique: NDArray[np.integer]) -> None:
        """Bring distinct rows up to date."""
        catch_up_rows(unique, self.rows(table), self.timeline.step)

    def read(self, table: NDArray[np.float32], unique: NDArray[np.integer]) -> NDArray[np.float32]:
        """A copy of distinct rows, after they are brought up to date."""
        return read_rows(unique, self.rows(table), self.timeline.step)

    def step(
        self,
        table: NDArray[np.float32],
        unique: NDArray[np.integer],
        gradients: NDArray[np.float32],
        learning_rate: float,
    ) -> None:
        """One step with the gradients of distinct rows that are up to date."""
        self.timeline.advance(learning_rate)
        step_rows(unique, gradients, self.rows(table), self.timeline.step)

    def lend(self, table: NDArray[np.float32], rows: NDArray[np.integer], values: NDArray[np.float32]) -> None:
        """Copy rows, which are brought up to date, for another process that computes their gradients."""
        copy_rows(rows, self.rows(table), self.timeline.step, values)

    def borrow(self, table: NDArray[np.float32], rows: NDArray[np.integer], values: NDArray[np.float32]) -> None:
        """Replace rows by what another process lends, which is up to date."""
        replace_rows(rows, values, self.rows(table), self.timeline.step)

    def step_sums(
        self,
        table: NDArray[np.float32],
        numbers: NDArray[np.int32],
        flat: NDArray[np.float32],
        parts: NDArray[np.int64],
        learning_rate: float,
    ) -> None:
        """Make a step on rows that are up to date, with gradients that come in parts and are added up in their order.

        A part is the place of its rows in `numbers`, none of them twice, that of its gradients in `flat`, and how many.
        """
        unique, begins = _add_up(numbers, flat, parts, table.shape[1], self.marks)
        self.timeline.advance(learning_rate)
        _step_flat(unique, begins, flat, self.rows(table), self.timeline.step)


class Rows(NamedTuple):
    """A table, Adam's state of each row, and the past learning rates, in the form that kernels take."""

    table: Any
    exp_avg: Any
    exp_avg_sq: Any
    last: Any
    marks: Any
    nodes: Any
    decay: Any
    learning_rates: Any
    rates: Any
    scales: Any
    window: int
    beta1: float
    beta2: float
    eps: float


class Timeline:
    """The effect of missed steps on a row, as far as it is the same for all rows of a table."""

    def __init__(self, betas: tuple[float, float]) -> None:
        self.betas = float(betas[0]), float(betas[1])
        self.window = max(1, math.ceil(math.log(NEGLIGIBLE) / math.log(betas[0]))) if betas[0] > 0 else 1
        self.step = 0
        self.rates, self.scales, self.learning_rates = np.zeros((3, 0))  # by step, from 1
        self.nodes = np.zeros((0, 4), dtype=np.float32)  # by start: weight, node, weight, node
        self.decay = np.zeros((0, 2), dtype=np.float32)  # by gap: β1^gap, β2^gap

    @property
    def history(self) -> NDArray[np.float64]:
        """The learning rate of each step so far, from which the same timeline can be rebuilt."""
        return self.learning_rates[1 : self.step + 1]

    def advance(self, learning_rates: NDArray[np.float64] | float, steps: int = 1) -> None:
        """Count more steps, with these learning rates."""
        first, self.step = self.step + 1, self.step + steps
        self.reserve(0)
        self.learning_rates[first : self.step + 1] = learning_rates
        _advance(self.learning_rates, self.rates, self.scales, self.nodes, first, self.step, self.window, *self.betas)

    def reserve(self, steps: int) -> None:
        """Make room for more steps, so that a kernel can count them."""
        if self.step + steps >= len(self.rates):
            self._grow(max(1024, 2 * (self.step + steps)))

    def _grow(self, capacity: int) -> None:
        for name in ("rates", "scales", "learning_rates", "nodes"):
            old = getattr(self, name)
            grown = np.zeros((capacity, *old.shape[1:]), old.dtype)
            grown[: len(old)] = old
            setattr(self, name, grown)
        decay = np.power(self.betas, np.arange(capacity)[:, None])
        self.decay = np.where(decay < TINY, 0, decay).astype(np.float32)


def compile_kernels() -> None:
    """Compile everything here, or load it from the cache, before a clock or a progress bar starts."""
    zero = np.zeros((1, 1), np.float32)
    rows = RowAdam(zero, zero, np.full(1, NEVER, np.int32), Timeline((0.9, 0.999)), 1e-8)
    unique, inverse = rows.unique(np.zeros(1, np.int64))
    rows.catch_up(zero, unique)
    rows.step(zero, unique, sums_by_index(zero, inverse, 1), 0.0)


@_strict
def _advance(learning_rates, rates, scales, nodes, first, last, window, beta1, beta2):
    """Fill in the steps from first to last and bring the nodes of every start up to the last."""
    for step in range(first, last + 1):
        rates[step] = learning_rates[step] / (1 - beta1**step)
        scales[step] = 1 / math.sqrt(1 - beta2**step)
        _fill_nodes(rates, scales, nodes, step, window, step == last, beta1, math.sqrt(beta2))


@_strict
def advance_rows(at, step, learning_rate):
    """Count the next step, in a kernel that makes several."""
    at.learning_rates[step] = learning_rate
    _advance(at.learning_rates, at.rates, at.scales, at.nodes, step, step, at.window, at.beta1, at.beta2)


@_strict
def _fill_nodes(rates, scales, nodes, step, window, is_last, beta1, root_beta2):
    """Set the nodes of each start for the gap to this step, from moments Σ weight·node^n by Horner's rule.

    Where more steps follow, only those of the oldest start are needed: the others will change, and these will not.
    """
    moment0 = moment1 = moment2 = moment3 = moment4 = 0.0
    for start in range(step - 1, max(step - window, 0) - 1, -1):
        factor, weight, scale = beta1, rates[start + 1], scales[start + 1]
        moment0 = factor * (moment0 + weight)
        factor, weight = factor * root_beta2, weight * scale
        moment1 = factor * (moment1 + weight)
        factor, weight = factor * root_beta2, weight * scale
        moment2 = factor * (moment2 + weight)
        factor, weight = factor * root_beta2, weight * scale
        moment3 = factor * (moment3 + weight)
        factor, weight = factor * root_beta2, weight * scale
        moment4 = factor * (moment4 + weight)
        if is_last or start == step - window:
            quadrature = _two_nodes(moment0, moment1, moment2, moment3, moment4)
            nodes[start, 0], nodes[start, 1], nodes[start, 2], nodes[start, 3] = quadrature


@_strict
def _two_nodes(moment0, moment1, moment2, moment3, moment4):
    """A weight, a node, a weight, a node with the moments 0 to 3; a first node of 0 if that is not accurate enough."""
    if moment0 == 0:  # the learning rate was 0: no movement
        return 0.0, 1.0, 0.0, 1.0
    mean = moment1 / moment0
    raw2, raw3, raw4 = moment2 / moment0 / mean**2, moment3 / moment0 / mean**3, moment4 / moment0 / mean**4
    # Central moments of node/mean, whose mean is 1.
    variance, third, fourth = raw2 - 1, raw3 - 3 * raw2 + 2, raw4 - 4 * raw3 + 6 * raw2 - 3
    if variance < 1e-14:  # one step, or steps that cannot be told apart
        return moment0, mean, 0.0, mean
    skew = third / variance
    if not fourth - skew * third - variance**2 <= TOLERANCE:
        return 0.0, 0.0, 0.0, 0.0
    spread = math.sqrt(skew**2 + 4 * variance)
    below, above = (spread - skew) / 2, (spread + skew) / 2
    return moment0 * below / spread, mean * (1 + above), moment0 * above / spread, mean * (1 - below)


@_fused
def fetch_row(table, row):
    """Ask for a row of a table to be in the cache soon."""
    for column in range(0, table.shape[1], CACHE_LINE):
        prefetch(table, (np.int64(row), column))  # type: ignore[call-arg]


@_fused
def _fetch_all(table, exp_avg, exp_avg_sq, row):
    fetch_row(table, row)
    fetch_row(exp_avg, row)
    fetch_row(exp_avg_sq, row)


@_fused
def unique_rows(rows, marks):
    """The distinct rows in order of first occurrence, and the position of each; it ends at a row outside the table.

    `marks` has a -1 for each row of the table, before and after.
    """
    unique, inverse, count, known = np.empty_like(rows), np.empty(len(rows), np.int32), 0, 0
    for row in rows:
        if row < 0 or row >= len(marks):
            break
        if marks[row] < 0:
            marks[row], unique[count] = count, row
            count += 1
        inverse[known] = marks[row]
        known += 1
    for row in unique[:count]:
        marks[row] = -1
    return unique[:count], inverse[:known]


# One thread: rows come from the outer caches at the same pace for two, which also wait for each other.
@_fused
def catch_up_rows(rows, at, step):
    """Bring distinct rows to the current step, as Adam without gradients would."""
    eps, behind = np.float32(at.eps), False
    for row in rows:
        start = at.last[row]
        if start in (NEVER, step):
            continue
        behind = True
        if at.nodes[start, 1] == 0:
            missed = slice(start + 1, min(start + at.window, step) + 1)
            values, mean, square = at.table[row], at.exp_avg[row], at.exp_avg_sq[row]
            _step_one_by_one(values, mean, square, at.rates[missed], at.scales[missed], at.beta1, at.beta2, eps)
            _decay(mean, at.decay[step - start, 0])
            _decay(square, at.decay[step - start, 1])
            at.last[row] = step
    if behind:
        _catch_up_at_once(rows, at.table, at.exp_avg, at.exp_avg_sq, at.last, step, at.nodes, at.decay, eps)


@_fused
def read_rows(rows, at, step):
    """A copy of distinct rows, brought to the current step."""
    values = np.empty((len(rows), at.table.shape[1]), np.float32)
    copy_rows(rows, at, step, values)
    return values


@_fused
def copy_rows(rows, at, step, values):
    """Fill in a copy of distinct rows, brought to the current step."""
    catch_up_rows(rows, at, step)
    for place in range(len(rows)):
        if place + AHEAD < len(rows):
            fetch_row(at.table, rows[place + AHEAD])
        row = rows[place]
        for i in range(values.shape[1]):
            values[place, i] = at.table[row, i]


@_fused
def replace_rows(rows, values, at, step):
    """Set distinct rows to values that they have at a step; their moments stay behind."""
    table, last = at.table, at.last
    for place in range(len(rows)):
        if place + AHEAD < len(rows):
            fetch_row(table, rows[place + AHEAD])
        row = rows[place]
        for i in range(table.shape[1]):
            table[row, i] = values[place, i]
        last[row] = step


@_fused
def _step_one_by_one(values, exp_avg, exp_avg_sq, rates, scales, beta1, beta2, eps):
    root, total = np.sqrt(exp_avg_sq), np.zeros_like(values)
    decay1, decay2, keep2 = 1.0, 1.0, math.sqrt(beta2)
    for step in range(0, len(rates), 2):  # two at a time
        decay1, decay2 = decay1 * beta1, decay2 * keep2
        weight1, node1 = np.float32(rates[step] * decay1), np.float32(scales[step] * decay2)
        decay1, decay2 = decay1 * beta1, decay2 * keep2
        weight2, node2 = np.float32(0), node1
        if step + 1 < len(rates):
            weight2, node2 = np.float32(rates[step + 1] * decay1), np.float32(scales[step + 1] * decay2)
        for i in range(len(total)):
            total[i] += _two_parts(root[i], weight1, node1, weight2, node2, eps)
    for i in range(len(total)):
        values[i] -= exp_avg[i] * total[i]


@_fused
def _two_parts(root, weight1, node1, weight2, node2, eps):
    """weight1 / (node1·root + ε) + weight2 / (node2·root + ε), with one division: they are what takes the time."""
    below1, below2 = node1 * root + eps, node2 * root + eps
    return (weight1 * below2 + weight2 * below1) / (below1 * below2)


@_fused
def _decay(moment, factor):
    for i in range(len(moment)):
        moment[i] = cleared(moment[i] * factor)


@_fused
def _catch_up_at_once(rows, table, exp_avg, exp_avg_sq, last, step, nodes, decay, eps):
    for k in range(len(rows)):
        if k + AHEAD < len(rows):
            _fetch_all(table, exp_avg, exp_avg_sq, rows[k + AHEAD])
        row = rows[k]
        start = last[row]
        if start in (NEVER, step):
            continue
        weight1, node1, weight2, node2 = nodes[start, 0], nodes[start, 1], nodes[start, 2], nodes[start, 3]
        decay1, decay2 = decay[step - start, 0], decay[step - start, 1]
        for i in range(table.shape[1]):  # not over slices: making them would cost more than the arithmetic
            mean, square = exp_avg[row, i], exp_avg_sq[row, i]
            table[row, i] -= mean * _two_parts(np.sqrt(square), weight1, node1, weight2, node2, eps)
            exp_avg[row, i], exp_avg_sq[row, i] = cleared(mean * decay1), cleared(square * decay2)
        last[row] = step


@_fused
def cleared(moment):
    return np.float32(0) if abs(moment) < TINY else moment


@_fused
def step_rows(rows, gradients, at, step):
    """Adam's step on distinct rows that are up to date, with a gradient for each."""
    table, exp_avg, exp_avg_sq, last = at.table, at.exp_avg, at.exp_avg_sq, at.last
    factors = _factors(at.rates[step], at.scales[step], at.beta1, at.beta2, at.eps)
    for place in range(len(rows)):
        if place + AHEAD < len(rows):
            _fetch_all(table, exp_avg, exp_avg_sq, rows[place + AHEAD])
        row = rows[place]
        for i in range(table.shape[1]):
            mean, square, movement = _stepped(exp_avg[row, i], exp_avg_sq[row, i], gradients[place, i], factors)
            exp_avg[row, i], exp_avg_sq[row, i] = mean, square
            table[row, i] -= movement
        last[row] = step


@_fused
def _add_up(numbers, flat, parts, n_factors, marks):
    """The rows of all parts without repetition, and where in `flat` the gradient of each begins.

    That of a row which several parts have is added up there, in their order. `marks` has a −1 for each row of the
    table, before and after.
    """
    most, count = parts[:, 2].sum(), 0
    unique, begins = np.empty(most, np.int32), np.empty(most, np.int64)
    for first, begin, length in parts:
        for row in numbers[first : first + length]:
            known = marks[row]
            if known < 0:
                marks[row], unique[count], begins[count] = count, row, begin
                count += 1
            else:
                total, more = np.uint64(begins[known]), np.uint64(begin)
                for i in range(np.uint64(n_factors)):
                    flat[total + i] += flat[more + i]
            begin += n_factors
    for row in unique[:count]:
        marks[row] = -1
    return unique[:count], begins[:count]


@_fused
def _step_flat(unique, begins, flat, at, step):
    """As `step_rows`, with the gradient of each row somewhere in an array."""
    table, exp_avg, exp_avg_sq, last = at.table, at.exp_avg, at.exp_avg_sq, at.last
    factors = _factors(at.rates[step], at.scales[step], at.beta1, at.beta2, at.eps)
    for k in range(len(unique)):
        if k + AHEAD < len(unique):
            _fetch_all(table, exp_avg, exp_avg_sq, unique[k + AHEAD])
        row, begin = unique[k], np.uint64(begins[k])
        for i in range(np.uint64(table.shape[1])):
            mean, square, movement = _stepped(exp_avg[row, i], exp_avg_sq[row, i], flat[begin + i], factors)
            exp_avg[row, i], exp_avg_sq[row, i] = mean, square
            table[row, i] -= movement
        last[row] = step


@_fused
def step_vector(values, exp_avg, exp_avg_sq, gradient, rate, scale, beta1, beta2, eps):
    """Adam's step on a parameter that has a gradient in every step, and so never has to catch up."""
    factors = _factors(rate, scale, beta1, beta2, eps)
    for i in range(len(values)):
        exp_avg[i], exp_avg_sq[i], movement = _stepped(exp_avg[i], exp_avg_sq[i], gradient[i], factors)
        values[i] -= movement


@_fused
def _factors(rate, scale, beta1, beta2, eps):
    rate, scale, eps = np.float32(rate), np.float32(scale), np.float32(eps)
    return np.float32(beta1), np.float32(1 - beta1), np.float32(beta2), np.float32(1 - beta2), rate, scale, eps


@_fused
def _stepped(exp_avg, exp_avg_sq, gradient, factors):
    """The moments after a gradient, and by how much it changes the value."""
    keep1, take1, keep2, take2, rate, scale, eps = factors
    mean = cleared(keep1 * exp_avg + take1 * gradient)
    square = cleared(keep2 * exp_avg_sq + take2 * gradient * gradient)
    return mean, square, rate * mean / (np.sqrt(square) * scale + eps)


@_fused
def sums_by_index(gradients, inverse, n_unique):
    """The sum of the gradients of each position, in the order of the batch and in their precision."""
    sums = np.zeros((n_unique, gradients.shape[1]), gradients.dtype)
    for k in range(len(inverse)):
        place = inverse[k]  # before the loop, which is else not made in vectors: the sums might overlap the places
        for i in range(sums.shape[1]):
            sums[place, i] += gradients[k, i]
    return sums
