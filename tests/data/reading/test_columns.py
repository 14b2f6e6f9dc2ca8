"""Which column means what, and its values."""

import datetime
import time

import polars as pl
import pytest

from recsieve.data.reading.formats import read_interactions
from recsieve.errors import DataError


def pairs(data):
    return data.to_frame().select("user", "item").rows()


@pytest.mark.parametrize("names", ["userId,movieId", "Customer ID,product_id", "visitorid,itemid", "reviewerID,asin"])
def test_common_names_of_columns_are_guessed(names):
    assert pairs(read_interactions(pl.DataFrame([[9, 1, 2]], schema=["x", *names.split(",")], orient="row"))) == [
        (1, 2)
    ]


def test_named_columns_win_over_guessed_ones():
    frame = pl.DataFrame({"user": [1], "item": [2], "buyer": [3], "thing": [4]})
    assert pairs(read_interactions(frame, user="buyer", item="thing")) == [(3, 4)]


@pytest.mark.parametrize(
    ("column", "time"),
    [
        ([1.4, 2.6], [1, 3]),
        ([datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)], [0, 86_400_000_000]),
        ([datetime.datetime(1970, 1, 1, 0, 0, 1), datetime.datetime(1970, 1, 1)], [1_000_000, 0]),
        (["1970-01-01T00:00:02Z", "1970-01-01T00:00:01Z"], [2_000_000, 1_000_000]),
    ],
)
def test_times_are_whole_numbers_and_dates_are_microseconds(column, time):
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 2], "when": column})
    assert read_interactions(frame, time="when").time.tolist() == time


def test_rows_of_nothing_but_separators_are_left_out_and_counted(tmp_path, caplog):
    (tmp_path / "log.csv").write_text("user,item,rating\n1,2,3\n,,\n\n,,\r\n4,5,6\n\n")
    assert len(read_interactions(tmp_path / "log.csv")) == 2
    assert [record.message for record in caplog.records] == [
        f"2 rows of {tmp_path / 'log.csv'} contain only separators and were left out"
    ]


def test_blank_lines_are_nothing_to_tell(tmp_path, caplog):
    (tmp_path / "log.csv").write_text("user,item\n1,2\n\n3,4\n\n")
    assert len(read_interactions(tmp_path / "log.csv")) == 2
    assert not caplog.records


def test_a_file_of_thousands_of_columns_is_read_in_no_time(tmp_path):
    more = range(3_000)
    lines = [["user", "item", *(f"c{number}" for number in more)], *([row, row, *more] for row in range(3))]
    (tmp_path / "wide.csv").write_text("\n".join(",".join(map(str, line)) for line in lines))
    started = time.perf_counter()
    assert len(read_interactions(tmp_path / "wide.csv", false_positive="item < 1 and c1 > 0")) == 3
    assert time.perf_counter() - started < 20  # an expression for each column took minutes


def test_a_guessed_time_that_is_none_is_left_out_with_a_warning(caplog):
    data = read_interactions(pl.DataFrame({"user": [1], "item": [2], "time": ["at noon"]}))
    assert data.time is None
    assert "times are ignored" in caplog.text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"user": "usr"}, "no column 'usr' for the user: did you mean 'user'"),
        ({"item": "zzz"}, "there are: user, item"),
        ({"item": "user"}, "both the user and the item"),
        ({"weight": "negative"}, "holds -1"),
        ({"weight": "nan"}, "holds nan"),
        ({"weight": "huge"}, "holds 1e\\+39"),
        ({"weight": "text"}, "holds String"),
        ({"time": "text"}, "not a time"),
        ({"time": "huge"}, "not a time"),
        ({"time": "clock"}, "holds Time"),
        ({"false_positive": "ratin < 3"}, "there are: user"),
        ({"false_positive": "texts = 'a'"}, "did you mean 'text'"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_what_there_is(options, reason):
    frame = pl.DataFrame(
        {
            "user": [1],
            "item": [2],
            "negative": [-1],
            "nan": [float("nan")],
            "huge": [1e39],
            "text": ["a"],
            "clock": [datetime.time(1)],
        }
    )
    with pytest.raises(DataError, match=reason):
        read_interactions(frame, **options)
