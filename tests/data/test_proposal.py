"""What is proposed for a log that nobody has described."""

import polars as pl
import pytest

from recsieve.data.proposal import propose
from recsieve.data.reading.formats import read_interactions
from recsieve.errors import DataError

N = 20


def log(**columns):
    ids = {"user_id": [f"u{n % 5}" for n in range(N)], "item_id": list(range(N))}
    return pl.DataFrame(ids | {name: [values[n % len(values)] for n in range(N)] for name, values in columns.items()})


def rules(frame, **given):
    return {name: rule for name, rule in propose(frame, **given).options.items() if "positive" in name}


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"rating": [1, 2, 3, 4, 5]}, "rating < 3"),
        ({"Stars": [0.5, 5.0, 3.5]}, "Stars < 2"),
        ({"score": [1, 10, 5]}, "score < 5"),
        ({"dwell_seconds": [3, 200]}, "dwell_seconds < 10"),
        ({"dwell_ms": [3000, 200_000]}, "dwell_ms < 10000"),
        ({"dwellTime": [3000, 200_000, 90_000]}, "dwellTime < 10000"),
        ({"hours": [0.1, 40.0]}, "hours < 1"),
        ({"returned": [0, 1], "rating": [1, 5]}, "returned"),
        ({"was refunded": [True, False]}, '"was refunded"'),
        ({"event": ["click", "dislike"]}, "event in ('dislike')"),
    ],
)
def test_what_marks_noise_is_proposed_and_can_be_read(columns, rule):
    frame = log(**columns)
    assert rules(frame) == {"false_positive": rule}
    assert read_interactions(frame, false_positive=rule).is_false_positive.any()


@pytest.mark.parametrize("columns", [{}, {"rating": [5]}, {"dwell_seconds": [100, 200]}, {"price": [1, 5]}])
def test_nothing_is_proposed_that_would_mark_none_or_all(columns):
    assert rules(log(**columns)) == {}


@pytest.mark.parametrize(
    ("events", "positive"),
    [
        (["view", "addtocart", "transaction"], "event in ('transaction')"),
        (["view", "cart", "remove_from_cart"], "event in ('cart')"),
        (["pv", "fav", "cart", "buy"], "event in ('buy')"),
        (["view", "it's bought"], "event in ('it''s bought')"),
    ],
)
def test_the_strongest_kind_of_event_is_proposed_as_the_interaction(events, positive):
    frame = log(event=events)
    assert rules(frame)["positive"] == positive
    assert len(read_interactions(frame, positive=positive))


def test_columns_with_unusual_names_are_found_and_what_is_given_stays():
    frame = log(rating=[1, 5]).rename({"user_id": "cust_no", "item_id": "sku_code"}).with_columns(created_at=pl.lit(1))
    options = propose(frame, false_positive="rating < 2").options
    assert options == {"user": "cust_no", "item": "sku_code", "time": "created_at", "false_positive": "rating < 2"}


def test_columns_are_described_by_what_they_hold():
    frame = pl.DataFrame({"user": ["a", "b"], "item": [1, 2], "tags": [["x"], ["y"]], "ok": [True, None]})
    found = {c.name: (c.holds, c.distinct, c.examples, c.role) for c in propose(frame).columns}
    assert found["user"] == ("text", 2, ["a", "b"], "user")
    assert found["item"] == ("integers", 2, ["1", "2"], "item")
    assert found["tags"] == ("lists or objects", None, [], "")
    assert found["ok"] == ("true or false", 1, ["true"], "")


@pytest.mark.parametrize("line", ["u2,i1", "u2,i1,4,5"])
def test_a_ragged_line_is_named_here_too(tmp_path, line):
    path = tmp_path / "log.csv"
    path.write_text(f"user,item,rating\n{line}\n")
    with pytest.raises(DataError, match=r"line 2 of .* has \d cells where 3 are expected"):
        propose(path)
