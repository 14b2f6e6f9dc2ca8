"""Splits and their checker."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.filtering import pair_keys
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.data.repeats import merge_repeats
from recsieve.data.splitting import Split, SplitReport, make_disjoint, split_interactions
from recsieve.errors import ConfigError, DataError

HOW = ("random", "time", "leave-last-out")


def interactions(rows, n=6):
    """Interactions from (user, item, flag, time)."""
    columns = np.array([(*row, CLEAN, 0)[:4] if len(row) == 2 else row for row in rows], np.int64).reshape(-1, 4).T
    codes = columns.astype(np.int32)
    ids = pl.Series(range(n))
    return Interactions(codes[0], codes[1], ids, ids, columns[2].astype(np.int8), None, columns[3].copy())


def pairs(data):
    return list(zip(data.users.tolist(), data.items.tolist(), strict=True))


def parts(split):
    return split.train, split.validation, split.test, split.test_false_positives


ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([CLEAN, NOISY, UNLABELLED]), st.integers(0, 9)),
    min_size=1,
)


@pytest.mark.parametrize("how", HOW)
@given(rows=ROWS, seed=st.integers(0, 9))
def test_a_split_is_disjoint_and_complete_and_its_test_is_without_known_noise(how, rows, seed):
    data = merge_repeats(interactions(rows))
    split = split_interactions(data, how, seed=seed)
    assert sorted(pair for part in parts(split) for pair in pairs(part)) == sorted(pairs(data))
    assert not split.test.is_false_positive.any()
    assert split.test_false_positives.is_false_positive.all()
    assert make_disjoint(split)[1].lines() == []


@given(rows=ROWS, seed=st.integers(0, 9))
def test_a_random_split_leaves_every_user_something_to_train_on(rows, seed):
    data = merge_repeats(interactions(rows))
    split = split_interactions(data, "random", (0.01, 1, 1), seed)
    assert ((split.train.user_counts() > 0) == (data.user_counts() > 0)).all()
    few = data.user_counts() < 3
    assert (split.train.user_counts()[few] == data.user_counts()[few]).all()


def test_a_random_split_gives_ten_interactions_as_eight_one_and_one():
    data = interactions([(user, item) for user in range(50) for item in range(10)], n=50)
    split = split_interactions(data)
    assert set(split.train.user_counts()) == {8}
    assert set(split.validation.user_counts()) == {1}
    assert set(split.test.user_counts()) == {1}


def test_a_random_split_has_the_right_shares_though_users_are_small():
    data = interactions([(user, item) for user in range(3_000) for item in range(4)], n=3_000)
    split = split_interactions(data)
    assert len(split.validation) == pytest.approx(1_200, abs=120)
    assert len(split.test) == pytest.approx(1_200, abs=120)


@given(rows=ROWS, seed=st.integers(0, 9))
def test_a_seed_deals_the_same_split_as_ever(rows, seed):
    data, random = merge_repeats(interactions(rows)), np.random.default_rng(seed)
    order, starts = random.permutation(len(data)), random.random(data.n_users)
    expected = {name: [] for name in ("train", "validation", "test")}
    for row in range(len(data)):
        mine = [each for each in order if data.users[each] == data.users[row]]
        position = (mine.index(row) + starts[data.users[row]]) / len(mine)
        late = "validation" if 0.8 <= position < 0.9 else "test" if position >= 0.9 else "train"
        expected["train" if mine[0] == row or len(mine) < 3 else late].append(row)
    split = split_interactions(data, seed=seed)
    for name in ("train", "validation"):
        assert pairs(getattr(split, name)) == pairs(data.take(np.array(expected[name], np.int64)))
    assert len(split.test) + len(split.test_false_positives) == len(expected["test"])


def test_the_seed_decides_a_random_split():
    data = interactions([(user, item) for user in range(6) for item in range(6)])
    first, again, other = (split_interactions(data, seed=seed) for seed in (1, 1, 2))
    assert pairs(first.test) == pairs(again.test) != pairs(other.test)


@given(rows=ROWS)
def test_a_split_by_time_never_trains_on_what_comes_later(rows):
    split = split_interactions(merge_repeats(interactions(rows)), "time", (0.5, 0.25, 0.25))
    assert len(split.train)
    moments = [part.time for part in parts(split)[:3]]
    for earlier, later in [(0, 1), (0, 2), (1, 2)]:
        if len(moments[earlier]) and len(moments[later]):
            assert moments[earlier].max() < moments[later].min()


def test_a_split_by_time_cuts_at_the_given_shares():
    data = interactions([(time % 6, time // 6, CLEAN, time) for time in range(20)])
    split = split_interactions(data, "time")
    assert [part.time.tolist() for part in parts(split)[:3]] == [list(range(16)), [16, 17], [18, 19]]


def test_leave_last_out_takes_the_last_two_of_each_user_and_a_tie_goes_by_the_order_of_rows():
    data = interactions([(0, 0, CLEAN, 5), (0, 1, CLEAN, 9), (0, 2, CLEAN, 9), (0, 3, CLEAN, 1), (1, 0, CLEAN, 1)])
    split = split_interactions(data, "leave-last-out")
    assert pairs(split.test) == [(0, 2)]
    assert pairs(split.validation) == [(0, 1)]
    assert pairs(split.train) == [(0, 0), (0, 3), (1, 0)]


@pytest.mark.parametrize("how", HOW)
def test_a_part_with_ratio_zero_stays_empty(how):
    data = interactions([(user, item, CLEAN, user + item) for user in range(6) for item in range(6)])
    without_test = split_interactions(data, how, (0.8, 0.2, 0))
    without_validation = split_interactions(data, how, (0.8, 0, 0.2))
    assert len(without_test.test) == len(without_validation.validation) == 0
    assert len(without_test.validation) > 0
    assert len(without_validation.test) > 0


def test_an_empty_part_is_warned_about(caplog):
    split_interactions(interactions([(0, 0)]))
    assert "the test part of the split is empty" in caplog.text


@pytest.mark.parametrize("ratios", [(0.8, 0.2), (0, 0.5, 0.5), (1, -1, 1), (float("nan"), 1, 1)])
def test_ratios_that_are_none_are_refused(ratios):
    with pytest.raises(ConfigError, match="three numbers"):
        split_interactions(interactions([(0, 0)]), ratios=ratios)


def test_an_unknown_split_no_interactions_and_missing_times_are_refused():
    data = interactions([(0, 0)])
    with pytest.raises(ConfigError, match="did you mean 'random'"):
        split_interactions(data, "randon")
    with pytest.raises(DataError, match="no interactions to split"):
        split_interactions(data.take(slice(0)))
    timeless = Interactions(data.users, data.items, data.user_ids, data.item_ids)
    for how in ("time", "leave-last-out"):
        with pytest.raises(DataError, match="needs times"):
            split_interactions(timeless, how)


def test_the_earlier_part_keeps_a_shared_pair_and_that_is_told():
    split = Split.from_parts(
        interactions([(0, 0), (0, 1)]),
        interactions([(0, 1), (0, 2)]),
        interactions([(0, 0), (0, 2), (0, 3), (0, 4, NOISY, 0), (0, 3, NOISY, 0), (0, 1, NOISY, 0)]),
    )
    made, report = make_disjoint(split)
    assert [pairs(part) for part in parts(made)] == [[(0, 0), (0, 1)], [(0, 2)], [(0, 3)], [(0, 4)]]
    assert report == SplitReport(0, 0, 0, 1, 1, 1, 2)
    assert not report.is_clean
    assert report.lines() == [
        "1 pairs of the validation part are also in the training part: they stay in the training part only.",
        "1 pairs of the test part are also in the training part: they stay in the training part only.",
        "1 pairs of the test part are also in the validation part: they stay in the validation part only.",
        "2 false positives of the test are also in another part or its clean test and were left out.",
    ]


@given(ROWS, ROWS, ROWS)
def test_a_split_made_disjoint_loses_no_pair(train, validation, test):
    split = Split.from_parts(*(merge_repeats(interactions(rows)) for rows in (train, validation, test)))
    made, report = make_disjoint(split)
    keys = np.concatenate([pair_keys(part) for part in parts(made)])
    assert len(set(keys.tolist())) == len(keys)
    assert set(keys.tolist()) == {user * 6 + item for user, item, *_ in train + validation + test}
    again, nothing = make_disjoint(made)
    assert nothing.is_clean
    assert [pairs(part) for part in parts(again)] == [pairs(part) for part in parts(made)]
    assert sum(len(part) for part in parts(split)) - len(keys) == sum(report.counts)
