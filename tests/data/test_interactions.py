"""The columns of interactions and the items of each user."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.interactions import CLEAN, CSR, NOISY, UNLABELLED, Interactions
from recsieve.errors import DataError

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)))


def csr(pairs):
    columns = np.array(pairs, np.int32).reshape(-1, 2).T
    return CSR.from_pairs(columns[0], columns[1], n_users=5, n_items=7)


def interactions(flags=None):
    codes = np.array([0, 1, 1], np.int32)
    return Interactions(codes, codes, pl.Series(["a", "b"]), pl.Series([10, 20]), flags)


@given(PAIRS)
def test_a_row_holds_the_distinct_items_of_a_user_in_order(pairs):
    rows = csr(pairs)
    for user in range(5):
        assert rows.row(user).tolist() == sorted({item for other, item in pairs if other == user})
    assert rows.counts().sum() == len(set(pairs))
    assert set(zip(rows.users().tolist(), rows.items.tolist(), strict=True)) == set(pairs)


@given(PAIRS, PAIRS)
def test_a_union_holds_the_pairs_of_both(first, second):
    union, direct = csr(first).union(csr(second)), csr(first + second)
    assert union.offsets.tolist() == direct.offsets.tolist()
    assert union.items.tolist() == direct.items.tolist()


def test_flags_say_what_is_known():
    data = interactions(np.array([NOISY, CLEAN, UNLABELLED], np.int8))
    assert data.is_false_positive.tolist() == [True, False, False]
    assert data.to_frame()["false_positive"].to_list() == [True, False, None]
    assert data.has_flags
    assert not data.take([2]).has_flags
    assert not interactions().has_flags


@pytest.mark.parametrize("rows", [[2, 0], np.array([True, False, True]), slice(1, 3)])
def test_some_rows_keep_the_ids(rows):
    part = interactions().take(rows)
    assert len(part) == 2
    assert part.n_users == 2
    assert part.item_counts().sum() == part.user_counts().sum() == 2


def test_columns_of_different_length_are_refused():
    with pytest.raises(DataError, match="'weight' has 1 rows"):
        Interactions(np.zeros(2, np.int32), np.zeros(2, np.int32), pl.Series([1]), pl.Series([1]), weight=np.ones(1))
