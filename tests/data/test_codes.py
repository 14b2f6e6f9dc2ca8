"""Counting and grouping by dense codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.codes import blocks, count, merged_values, positions_within, values_by_code
from recsieve.errors import DataError

N = 5
PAIRS = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, 7)))


def columns(pairs):
    return np.array(pairs, np.int32).reshape(-1, 2).T.copy()


@given(PAIRS)
def test_the_values_of_each_code_are_sorted_and_each_is_there_once(pairs):
    offsets, values = values_by_code(*columns(pairs), N)
    rows = [values[offsets[code] : offsets[code + 1]].tolist() for code in range(N)]
    assert rows == [sorted({value for each, value in pairs if each == code}) for code in range(N)]
    assert len(values) == len(set(pairs))
    assert (offsets.dtype, values.dtype) == (np.int64, np.int32)


@given(PAIRS, PAIRS)
def test_two_groupings_are_merged_into_the_grouping_of_both(pairs, more):
    grouped = [values_by_code(*columns(each), N) for each in (pairs, more, pairs + more)]
    offsets, values = merged_values(*grouped[0], *grouped[1])
    assert offsets.tolist() == grouped[2][0].tolist()
    assert values.tolist() == grouped[2][1].tolist()


@given(PAIRS)
def test_every_code_is_counted(pairs):
    assert count(columns(pairs)[0], N).tolist() == [sum(each == code for each, _ in pairs) for code in range(N)]


@given(PAIRS, st.randoms())
def test_the_position_of_a_row_is_the_number_of_rows_with_its_code_before_it(pairs, random):
    order = list(range(len(pairs)))
    random.shuffle(order)
    within = positions_within(columns(pairs)[0], np.array(order, np.int64), N)
    for position, row in enumerate(order):
        assert within[row] == sum(pairs[earlier][0] == pairs[row][0] for earlier in order[:position])


@pytest.mark.parametrize("outside", [-1, -(2**31), N, 2**31 - 1])
def test_a_code_without_an_id_is_refused_before_anything_is_written(outside):
    given_codes = np.array([0, outside], np.int32)
    for use in (
        lambda: count(given_codes, N),
        lambda: values_by_code(given_codes, np.zeros(2, np.int32), N),
        lambda: positions_within(given_codes, np.arange(2), N),
    ):
        with pytest.raises(DataError, match=r"only 5 ids"):
            use()


def test_blocks_cover_all_rows_once():
    assert [(rows.start, rows.stop) for rows in blocks(10, 4)] == [(0, 4), (4, 8), (8, 10)]
    assert list(blocks(0)) == []
