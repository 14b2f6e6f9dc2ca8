"""Rules for false positives."""

import logging

import polars as pl
import pytest

from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED
from recsieve.data.labelling import false_positive_flags, marked
from recsieve.errors import DataError

FRAME = pl.DataFrame(
    {
        "rating": [1.0, 5.0, None, float("nan")],
        "returned": [0, 1, 0, 0],
        "skipped": [True, False, None, False],
        "comment": ["bad", "select from good", None, ""],
        "dwell seconds": [1, 2, 30, 40],
    }
)


@pytest.mark.parametrize(
    ("rule", "flags"),
    [
        ("rating < 3", [NOISY, CLEAN, UNLABELLED, UNLABELLED]),
        ("rating between 4 and 5", [CLEAN, NOISY, UNLABELLED, UNLABELLED]),
        ("skipped", [NOISY, CLEAN, UNLABELLED, CLEAN]),
        ("returned", [CLEAN, NOISY, CLEAN, CLEAN]),
        ("not returned", [NOISY, CLEAN, NOISY, NOISY]),
        ("rating < 3 or returned", [NOISY, NOISY, UNLABELLED, UNLABELLED]),
        ("rating < 3 OR skipped", [NOISY, CLEAN, UNLABELLED, UNLABELLED]),
        ("rating < 3 and returned", [CLEAN, CLEAN, CLEAN, CLEAN]),
        ("comment = 'select from good'", [CLEAN, NOISY, UNLABELLED, CLEAN]),
        ('"dwell seconds" < 10', [NOISY, NOISY, CLEAN, CLEAN]),
        ("rating is null", [CLEAN, CLEAN, NOISY, NOISY]),
        ("rating < avg(rating)", [NOISY, CLEAN, UNLABELLED, UNLABELLED]),
        ("case when returned = 1 then 1 else 0 end", [CLEAN, NOISY, CLEAN, CLEAN]),
    ],
)
def test_a_rule_marks_what_it_says_and_leaves_unknown_what_is_missing(rule, flags):
    assert false_positive_flags(FRAME, rule).tolist() == flags


@pytest.mark.parametrize("rule", ["rating", "comment", "max(rating) > 3", "comment < 3"])
def test_a_rule_that_does_not_say_yes_or_no_of_each_row_is_refused(rule):
    with pytest.raises(DataError, match="the rule"):
        false_positive_flags(FRAME, rule)


def test_an_unknown_column_is_named_with_the_closest_one():
    with pytest.raises(DataError, match="did you mean 'rating'"):
        false_positive_flags(FRAME, "ratings < 3")


def test_a_rule_that_marks_everything_is_refused():
    with pytest.raises(DataError, match="marks all 2 interactions"):
        false_positive_flags(pl.DataFrame({"rating": [1, 2]}), "rating < 3")


def test_a_rule_that_marks_nothing_is_warned_about(caplog):
    with caplog.at_level(logging.WARNING):
        flags = false_positive_flags(pl.DataFrame({"rating": [4, 5]}), "rating < 3")
    assert flags.tolist() == [CLEAN, CLEAN]
    assert "marks none of 2" in caplog.text


def test_a_rule_over_numbers_with_a_word_among_them_names_the_word():
    frame = pl.DataFrame({"rating": ["5", None, " 3 ", "good"]})
    with pytest.raises(DataError, match="rating is String, with 'good' among its numbers"):
        marked(frame, "rating < 3")
