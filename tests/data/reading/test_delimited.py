"""Delimited text."""

import polars as pl
import pytest

from recsieve.data.reading.delimited import TextFile, find_separator, looks_like_header, typed, with_decimal_points
from recsieve.data.reading.formats import read_interactions
from recsieve.errors import DataError


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        (["1\t2\t3", "4\t5\t6"], "\t"),
        (["user,item", "1,2"], ","),
        (["user;item;price", "1;2;3,5", "1;3;4,5"], ";"),
        (["1|2"], "|"),
        (["title\tuser", "a, b, c\t1", "d, e, f\t2"], "\t"),
        (['"a;b;c;d",1', '"e;f",2'], ","),
        (["alone"], ","),
    ],
)
def test_the_separator_is_the_one_that_cuts_all_lines_alike(lines, separator):
    assert find_separator(lines) == separator


@pytest.mark.parametrize(
    ("cells", "asked", "is_header"),
    [
        (["user", "item"], [], True),
        (["1", "2"], [], False),
        (["user", "2024"], [], False),
        (["user", "2024"], ["user"], True),
        (["alice", "bread"], [], True),
        (["alice", "bread"], ["column_1", "column_2"], False),
    ],
)
def test_a_first_line_is_a_header_if_it_has_an_asked_name_or_no_number(cells, asked, is_header):
    assert looks_like_header(cells, asked) == is_header


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("user,item\r\n1,2\r\n", [("1", "2")]),
        ("\ufeffuser,item\n1,2\n", [("1", "2")]),
        ("\n\nuser,item\n\n1,2\n\n3,4", [("1", "2"), ("3", "4")]),
        ('user,item\n"a,b","c ""d"""\n"x\ny",z\n', [("a,b", 'c "d"'), ("x\ny", "z")]),
    ],
)
def test_line_ends_marks_blank_lines_and_quotes_are_read_as_meant(tmp_path, text, rows):
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode())
    file = TextFile.look_at(path)
    assert file.names == ["user", "item"]
    assert file.scan().drop_nulls().collect().rows() == rows


def test_names_are_made_distinct_and_those_that_are_missing_are_numbered(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(",user,user\n1,2,3\n")
    assert TextFile.look_at(path, asked=["user"]).names == ["column_1", "user", "user_3"]


@pytest.mark.parametrize("line", ["3,4", "3,4,5,6"])
def test_a_ragged_line_is_named(tmp_path, line):
    path = tmp_path / "log.csv"
    path.write_text(f"user,item,rating\n1,2,3\n\n{line}\n")
    with pytest.raises(DataError, match=rf"line 4 of .* has {line.count(',') + 1} cells where 3 are expected"):
        TextFile.look_at(path).refuse_ragged()


WHOLE = ["user,item,rating", 'u1,"a, ""b""",3', 'u1,"c', 'd",3', "u2,e,3"]


@pytest.mark.parametrize("line", ['u5,"i3,4', '"u5,i3,4', 'u5,i3,"4', 'u5,i"3,4', 'u5,"i ""3,4'])
@pytest.mark.parametrize("after", [[], WHOLE[1:], ['u6,"i4,4'], ["u6,i4,4"] * 30])
def test_the_line_of_a_quote_that_is_not_closed_is_named(tmp_path, line, after):
    path = tmp_path / "log.csv"
    path.write_text("\n".join([*WHOLE, line, *after, ""]))
    with pytest.raises(DataError, match=r"line 6 of .* has a quote that is not closed"):
        read_interactions(path)


def test_quotes_that_are_closed_are_not_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("\n".join([*WHOLE, 'u3,"', '""', '""",3', ""]))
    TextFile.look_at(path).refuse_open_quote()
    assert len(read_interactions(path)) == 4


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (["1", " 2 ", None, "NA"], [1, 2, None, None]),
        (["1.5", "nan", "2e3"], [1.5, None, 2000.0]),
        (["True", "false", ""], [True, False, None]),
        (["yes", "2"], ["yes", "2"]),
    ],
)
def test_text_is_typed_only_if_all_of_it_can_be(text, values):
    assert typed(pl.Series(text)).to_list() == values


def test_a_decimal_comma_is_read_where_the_rows_tell_it_and_said(caplog):
    column = with_decimal_points(pl.Series("stars", ["3,5", " 4", "NA", "1,234"]))
    assert column.to_list() == [3.5, 4.0, None, 1.234]
    assert "the column 'stars' holds numbers such as '3,5', read with a decimal comma" in caplog.text


def test_a_comma_that_may_mark_thousands_is_left_as_it_is_and_said(caplog):
    column = pl.Series("price", ["1,234", "20"])
    assert with_decimal_points(column).equals(column)
    assert "may mean decimals or thousands" in caplog.text


@pytest.mark.parametrize("cells", [["a,b", "c"], ["1,2,3"], ["3.5"], [], ["", None]])
def test_other_text_has_no_decimal_comma(cells, caplog):
    column = pl.Series("text", cells, dtype=pl.String)
    assert with_decimal_points(column).equals(column)
    assert caplog.text == ""
