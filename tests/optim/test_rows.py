"""Rows that are caught up at once are where Adam would have taken them step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recsieve.optim.rows import NEVER, RowAdam, Timeline, sums_by_index

EPS = 1e-8


class OneRow:
    """A row under Adam in float64, all missed steps of a gap written out."""

    def __init__(self, values, betas):
        self.values, self.betas = values.astype(np.float64), betas
        self.mean, self.square, self.step = np.zeros_like(self.values), np.zeros_like(self.values), 0
        self.movement = 0.0  # how far it went in all, to and fro

    def miss(self, learning_rates):
        for part in np.array_split(learning_rates, len(learning_rates) // 5_000 + 1):
            gap = np.arange(1, len(part) + 1)[:, None]
            self._move(part, self.mean * self.betas[0] ** gap, self.square * self.betas[1] ** gap, self.step + gap)
            self.mean, self.square = (
                moment * beta ** len(part) for moment, beta in zip((self.mean, self.square), self.betas, strict=True)
            )
            self.step += len(part)

    def learn(self, gradient, learning_rate):
        self.mean = self.betas[0] * self.mean + (1 - self.betas[0]) * gradient
        self.square = self.betas[1] * self.square + (1 - self.betas[1]) * gradient**2
        self.step += 1
        self._move(np.array([learning_rate]), self.mean[None], self.square[None], np.array([[self.step]]))

    def _move(self, learning_rates, mean, square, steps):
        beta1, beta2 = self.betas
        moves = learning_rates[:, None] / (1 - beta1**steps) * mean / (np.sqrt(square / (1 - beta2**steps)) + EPS)
        self.values -= moves.sum(axis=0)
        self.movement += np.abs(moves).sum()


def new_rows(n_rows, factors, betas=(0.9, 0.999)):
    moments = np.zeros((2, n_rows, factors), np.float32)
    return RowAdam(moments[0], moments[1], np.full(n_rows, NEVER, np.int32), Timeline(betas), EPS)


gaps = st.one_of(st.integers(0, 30), st.integers(0, 700), st.integers(0, 5_000), st.just(100_000))
learning_rates = st.sampled_from([1e-3, 1e-3, 0.1, 1e-6, 0.0])
# From gradients that make denormal second moments (1e-21) to large ones.
gradients = st.builds(lambda sign, exponent: sign * 10.0**exponent, st.sampled_from([-1, 1]), st.floats(-24, 3))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(gaps, learning_rates, learning_rates, gradients, gradients), min_size=1, max_size=6),
    st.sampled_from([(0.9, 0.999), (0.9, 0.999), (0.8, 0.99), (0.0, 0.9), (0.95, 0.9999)]),
)
def test_a_row_is_where_every_missed_step_would_have_taken_it(events, betas):
    table = np.array([[0.5, -0.01]], np.float32)
    rows, exact, row = new_rows(1, 2, betas), OneRow(table[0], betas), np.zeros(1, np.int64)
    for gap, lr_before, lr_after, *gradient in events:
        missed = np.repeat([lr_before, lr_after], [gap // 2, gap - gap // 2])
        rows.timeline.advance(missed, gap)
        exact.miss(missed)
        rows.catch_up(table, row)
        rows.step(table, row, np.array([gradient], np.float32), lr_after)
        exact.learn(np.array(gradient, np.float32).astype(np.float64), lr_after)
    rows.timeline.advance(1e-3, 100)
    exact.miss(np.full(100, 1e-3))
    rows.catch_up(table, row)
    np.testing.assert_allclose(rows.exp_avg[0], exact.mean, rtol=1e-5, atol=2e-37 + 1e-6 * np.abs(exact.mean).max())
    np.testing.assert_allclose(rows.exp_avg_sq[0], exact.square, rtol=1e-5, atol=2e-37)
    np.testing.assert_allclose(table[0], exact.values, rtol=0, atol=1e-6 * (0.5 + exact.movement))


@pytest.mark.parametrize("start", [1, 10, 100, 424, 1_000, 20_000])
@pytest.mark.parametrize("root", [1e-12, 1e-8, 1e-4])  # √v far below, near and far above ε
def test_a_movement_at_once_has_the_accuracy_of_float32(start, root):
    for gap in (1, 2, 3, 10, 100, 197, 1_000):
        rows, exact = new_rows(1, 1), OneRow(np.zeros(1), (0.9, 0.999))
        rows.timeline.advance(1e-3, start + gap)
        rows.last[0], exact.step = start, start
        rows.exp_avg[0], rows.exp_avg_sq[0] = root, root**2
        exact.mean, exact.square = np.float64(rows.exp_avg[0]), np.float64(rows.exp_avg_sq[0])
        table = np.zeros((1, 1), np.float32)
        rows.catch_up(table, np.zeros(1, np.int64))
        exact.miss(np.full(gap, 1e-3))
        assert table[0, 0] == pytest.approx(exact.values[0], rel=1e-6)


def test_a_row_that_is_twice_in_a_batch_gets_one_step_with_the_sum_of_its_gradients():
    twice, once = new_rows(3, 2), new_rows(3, 2)
    tables = np.ones((2, 3, 2), np.float32)
    unique, inverse = twice.unique(np.array([2, 0, 2]))
    assert (unique.tolist(), inverse.tolist()) == ([2, 0], [0, 1, 0])
    sums = sums_by_index(np.array([[1, 2], [3, 4], [5, 6]], np.float32), inverse, 2)
    twice.step(tables[0], unique, sums, 0.1)
    once.step(tables[1], np.array([0, 2]), np.array([[3, 4], [6, 8]], np.float32), 0.1)
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(twice.exp_avg, once.exp_avg)
    assert twice.last.tolist() == once.last.tolist() == [1, NEVER, 1]


def test_gradients_in_parts_make_the_step_of_their_sums_in_the_order_of_the_parts():
    random, n_rows, factors = np.random.default_rng(0), 30, 5
    table = random.standard_normal((n_rows, factors)).astype(np.float32)
    expected, plain, in_parts = table.copy(), new_rows(n_rows, factors), new_rows(n_rows, factors)
    for _ in range(20):
        rows = [random.permutation(n_rows)[:length].astype(np.int32) for length in (7, 0, 12)]
        gradients = [random.standard_normal((len(part), factors)).astype(np.float32) for part in rows]
        unique, inverse = plain.unique(np.concatenate(rows))
        plain.catch_up(expected, unique)
        plain.step(expected, unique, sums_by_index(np.concatenate(gradients), inverse, len(unique)), 0.1)
        in_parts.catch_up(table, unique)
        firsts = np.cumsum([2, *map(len, rows)])[:-1]  # the first two numbers belong to nobody
        parts = [(first, 3 + (first - 2) * factors, len(part)) for first, part in zip(firsts, rows, strict=True)]
        numbers, flat = (
            np.concatenate([[0, 0], *rows]).astype(np.int32),
            np.concatenate([[0] * 3, *map(np.ravel, gradients)]),
        )
        in_parts.step_sums(table, numbers, flat.astype(np.float32), np.array(parts), 0.1)
    assert np.array_equal(table, expected)
    assert np.array_equal(in_parts.exp_avg_sq, plain.exp_avg_sq)


def test_rows_are_lent_as_they_are_now_and_borrowed_without_their_moments():
    random, n_rows, factors = np.random.default_rng(0), 10, 4
    table, owner = random.standard_normal((n_rows, factors)).astype(np.float32), new_rows(n_rows, factors)
    rows, gradients = np.array([1, 3, 5]), random.standard_normal((3, factors)).astype(np.float32)
    owner.step(table, rows, gradients, 0.1)
    owner.step(table, rows[:1], gradients[:1], 0.1)  # the others miss a step
    expected = owner.read(table.copy(), rows.copy())
    owner.last[rows[1:]] = 1
    owner.exp_avg[rows[1:]], owner.exp_avg_sq[rows[1:]] = 0.1 * gradients[1:], 0.001 * gradients[1:] ** 2
    values = np.empty((3, factors), np.float32)
    owner.lend(table, rows, values)
    assert np.allclose(values, expected, atol=1e-7)
    assert np.array_equal(table[rows], values)

    copy, borrower = np.zeros_like(table), new_rows(n_rows, factors)
    borrower.timeline.advance(0.1, 2)
    borrower.borrow(copy, rows, values)
    assert np.array_equal(borrower.read(copy, rows), values)  # nothing is caught up: they are up to date
    assert not copy[[0, 2, 4]].any()
    assert not borrower.exp_avg.any()


def test_tiny_moments_are_cleared_so_that_no_denormal_number_slows_anything():
    rows, table = new_rows(1, 2), np.ones((1, 2), np.float32)
    rows.step(table, np.zeros(1, np.int64), np.array([[1e-20, 1e-5]], np.float32), 1e-3)
    rows.timeline.advance(1e-3, 800)
    rows.catch_up(table, np.zeros(1, np.int64))
    assert rows.exp_avg[0].tolist() == [0, 0]
    assert rows.exp_avg_sq[0, 0] == 0
    assert rows.exp_avg_sq[0, 1] > 0


def test_a_gradient_that_is_no_number_shows():
    rows, table = new_rows(1, 1), np.ones((1, 1), np.float32)
    rows.step(table, np.zeros(1, np.int64), np.array([[np.nan]], np.float32), 1e-3)
    assert np.isnan(table).all()


def test_the_same_learning_rates_give_the_same_timeline_to_the_bit():
    rates = np.random.default_rng(0).uniform(0, 0.1, 3_000)
    one_by_one, at_once = Timeline((0.9, 0.999)), Timeline((0.9, 0.999))
    for rate in rates:
        one_by_one.advance(rate)
    at_once.advance(rates, len(rates))
    np.testing.assert_array_equal(one_by_one.nodes[:3_000], at_once.nodes[:3_000])
    np.testing.assert_array_equal(one_by_one.history, rates)


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_does_not_exist_is_an_error(row):
    with pytest.raises(IndexError, match=f"row {row} was looked up in a table of 3 rows"):
        new_rows(3, 1).unique(np.array([0, row]))
