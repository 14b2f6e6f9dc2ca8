"""The user's own ids and their codes."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.reading import ids
from recsieve.data.reading.ids import as_ids, encode_ids, ids_as_codes, text_numbered
from recsieve.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(TEXT, min_size=1) | st.lists(INT64, min_size=1))
def test_codes_lead_back_to_the_ids_and_the_table_is_sorted(ids):
    codes, table = encode_ids(as_ids(pl.Series(ids), "the user", from_text=False))
    assert table.gather(codes).to_list() == ids
    assert table.to_list() == sorted(set(ids), key=lambda each: each.encode() if isinstance(each, str) else each)
    assert codes.dtype == "int32"


@given(st.lists(TEXT, min_size=1), st.lists(TEXT))
def test_text_that_was_numbered_while_it_was_read_gets_the_same_codes(texts, read_before):
    earlier = pl.Series(read_before, dtype=pl.String).cast(text_numbered())
    codes, table = encode_ids(as_ids(pl.Series(texts).cast(text_numbered()), "the user", from_text=False))
    expected, expected_table = encode_ids(pl.Series(texts))
    assert codes.tolist() == expected.tolist()
    assert table.dtype == pl.String
    assert table.to_list() == expected_table.to_list()
    assert earlier.to_list() == read_before


def test_ids_are_looked_up_block_by_block(monkeypatch):
    monkeypatch.setattr(ids, "JOINED_ROWS", 2)
    monkeypatch.setattr(ids, "BLOCK_ROWS", 2)
    assert encode_ids(pl.Series([7, 3, 9, 3, 3]))[0].tolist() == [1, 0, 2, 0, 0]
    assert encode_ids(pl.Series(["b", "a", "c"]).cast(text_numbered()))[0].tolist() == [1, 0, 2]


@pytest.mark.parametrize("text", [None, ""])
def test_a_text_that_is_missing_is_told_with_its_row_though_it_is_numbered(text):
    with pytest.raises(DataError, match="missing in 1 of 2 rows, first in row 2"):
        as_ids(pl.Series(["a", text]).cast(text_numbered()), "the user", from_text=False)


@given(st.lists(INT64, min_size=1))
def test_integers_that_were_written_as_text_are_integers_again(ids):
    assert as_ids(pl.Series([str(each) for each in ids]), "the user", from_text=True).to_list() == ids


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        (["007", "7"], ["007", "7"]),
        (["1", "+1"], ["1", "+1"]),
        (["1", "9223372036854775808"], ["1", "9223372036854775808"]),
        (["1", "a"], ["1", "a"]),
        ([" 1", "2 "], [1, 2]),
    ],
)
def test_text_becomes_integers_only_if_no_id_is_changed_by_it(ids, kept):
    assert as_ids(pl.Series(ids), "the user", from_text=True).to_list() == kept


@pytest.mark.parametrize(
    ("column", "kept"),
    [
        (pl.Series([1.0, 2.0]), [1, 2]),
        (pl.Series([5], dtype=pl.UInt64), [5]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), ["18446744073709551615"]),
        (pl.Series([-(2**100)], dtype=pl.Int128), [str(-(2**100))]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["b", "a"]),
        (pl.Series(["1", "2"]), ["1", "2"]),
        (pl.Series(["日本", "😀", "a b"]), ["日本", "😀", "a b"]),
    ],
)
def test_ids_of_any_type_become_integers_or_text(column, kept):
    assert as_ids(column, "the user", from_text=False).to_list() == kept


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1.5]),
        pl.Series([float("inf")]),
        pl.Series([2.0**60]),
        pl.Series([[1]]),
        pl.Series([{"a": 1}]),
        pl.Series([b"\xff"]),
    ],
)
def test_what_cannot_be_an_id_is_refused(column):
    with pytest.raises(DataError, match="integers or text"):
        as_ids(column, "the user", from_text=False)


@pytest.mark.parametrize("column", [["a", None, "b", None], ["a", "", "b", ""], [1.0, float("nan"), 2.0, None]])
def test_missing_ids_are_counted_and_the_first_row_is_named(column):
    with pytest.raises(DataError, match="the user is missing in 2 of 4 rows, first in row 2"):
        as_ids(pl.Series(column), "the user", from_text=False)


def test_ids_that_stand_for_themselves_have_a_table_up_to_the_largest():
    codes, table = ids_as_codes(pl.Series([4, 0, 4]), "item")
    assert codes.tolist() == [4, 0, 4]
    assert table.to_list() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("ids", [[-1], [10**12], ["a"]])
def test_ids_that_cannot_stand_for_themselves_are_refused(ids):
    with pytest.raises(DataError, match="integers from 0"):
        ids_as_codes(pl.Series(ids), "item")
