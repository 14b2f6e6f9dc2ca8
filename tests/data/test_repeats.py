"""How repeats of a pair become one interaction."""

import logging

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.data.loading import load_split
from recsieve.data.reading.formats import read_interactions
from recsieve.data.repeats import REPEATS, merge_repeats
from recsieve.errors import ConfigError

LABEL = st.sampled_from([CLEAN, NOISY, UNLABELLED])
ROW = st.tuples(st.integers(0, 3), st.integers(0, 3), LABEL, st.integers(0, 9), st.integers(0, 9))
EVENTS = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2], "item": [7, 7, 8, 7, 7], "event": ["view", "return", "view", "return", "buy"]}
)
RETURNED = "event = 'return'"


def interactions(rows):
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    ids = pl.Series(range(4))
    users, items = columns[:2].astype(np.int32)
    return Interactions(users, items, ids, ids, columns[2].astype(np.int8), columns[3].astype(np.float32), columns[4])


def expected_label(repeats, labels, times):
    """The label that a pair should have, said the long way."""
    known = [label for label in labels if label != UNLABELLED]
    if not known:
        return UNLABELLED
    if repeats == "last":
        latest = sorted(range(len(labels)), key=lambda row: times[row])  # stable: of equal times the later row
        return next(labels[row] for row in reversed(latest) if labels[row] != UNLABELLED)
    enough = {"any": 1, "majority": len(known) // 2 + 1}.get(repeats, len(known))
    return NOISY if known.count(NOISY) >= enough else CLEAN


@pytest.mark.parametrize("repeats", REPEATS)
@given(st.lists(ROW))
def test_a_merged_pair_has_the_label_weight_and_time_that_its_rows_give_it(repeats, rows):
    merged = merge_repeats(interactions(rows), repeats)
    by_pair = {}
    for user, item, *rest in rows:
        by_pair.setdefault((user, item), []).append(rest)
    assert list(zip(merged.users.tolist(), merged.items.tolist(), strict=True)) == list(by_pair)
    for row, group in enumerate(by_pair.values()):
        labels, weights, times = zip(*group, strict=True)
        last = max(range(len(times)), key=lambda place: (times[place], place))
        assert merged.false_positive[row] == expected_label(repeats, labels, times)
        assert merged.weight[row] == (weights[last] if repeats == "last" else sum(weights))
        assert merged.time[row] == max(times)


def test_data_without_repeats_stays_the_same_object():
    data = interactions([(0, 0, CLEAN, 1, 1), (0, 1, CLEAN, 1, 1)])
    assert merge_repeats(data) is data


def test_a_rule_over_events_marks_a_pair_of_which_one_row_is_noise():
    assert read_interactions(EVENTS, false_positive=RETURNED).is_false_positive.tolist() == [True, False, True]
    split = load_split(EVENTS, false_positive=RETURNED, ratios=(1, 0, 0))
    report = split.report
    assert split.train.is_false_positive.tolist() == [True, False, True]
    assert "2 rows marked as noise became 2 noisy pairs: a pair is noise if any of its rows is" in report.lines()[1]


def test_a_rule_over_ratings_leaves_a_pair_clean_of_which_one_row_is():
    ratings = pl.DataFrame({"user": [1, 1, 2], "item": [7, 7, 7], "rating": [1, 5, 1]})
    assert read_interactions(ratings, false_positive="rating < 3").is_false_positive.tolist() == [False, True]


@pytest.mark.parametrize(
    ("repeats", "noisy"),
    [("any", [True, False, True]), ("all", [False] * 3), ("last", [True, False, False]), ("majority", [False] * 3)],
)
def test_how_repeats_merge_can_be_chosen(repeats, noisy):
    data = read_interactions(EVENTS, false_positive=RETURNED, repeats=repeats)
    assert data.is_false_positive.tolist() == noisy
    assert data.weight is None


def test_the_last_row_is_the_latest_and_not_the_one_that_stands_last():
    data = read_interactions(
        EVENTS.with_columns(time=pl.Series([2, 1, 0, 9, 3])), false_positive=RETURNED, repeats="last"
    )
    assert data.is_false_positive.tolist() == [False, False, True]


def test_sums_are_counts_where_no_weight_is_given():
    assert read_interactions(EVENTS, repeats="sum").weight.tolist() == [2, 1, 2]
    weighed = EVENTS.with_columns(w=pl.Series([1.5, 1, 1, 0, 3]))
    assert read_interactions(weighed, weight="w", repeats="sum").weight.tolist() == [2.5, 1, 3]
    assert read_interactions(weighed, weight="w", repeats="last").weight.tolist() == [1, 1, 3]


def test_a_rule_of_which_nothing_survives_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        read_interactions(EVENTS, false_positive=RETURNED, repeats="all")
    assert "none of the 2 rows marked as noise is left after merging repeats" in caplog.text
    split = load_split(EVENTS, false_positive=RETURNED, repeats="majority")
    report = split.report
    assert "none of the 2 rows marked as noise is left" in report.lines()[1]


def test_an_unknown_way_to_merge_is_refused_before_anything_is_read():
    with pytest.raises(ConfigError, match=r"repeats is 'lasst'.*did you mean 'last'"):
        load_split("no-such-file.csv", repeats="lasst")
