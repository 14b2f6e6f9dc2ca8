import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.interactions import Interactions
from recsieve.evaluation.groups import activity_groups, popularity_groups, some_users, sparsity_groups


def interactions(user_counts=(1,), item_counts=None):
    """So many interactions of each user, or of each item."""
    users = np.repeat(np.arange(len(user_counts), dtype=np.int32), user_counts)
    items = np.zeros(len(users), np.int32)
    if item_counts is not None:
        items = np.repeat(np.arange(len(item_counts), dtype=np.int32), item_counts)
        users, user_counts = np.zeros(len(items), np.int32), [1]
    return Interactions(users, items, pl.Series(range(len(user_counts))), pl.Series(range(len(item_counts or [1]))))


def test_the_head_are_the_most_popular_items_with_half_of_the_interactions():
    assert popularity_groups(interactions(item_counts=[2, 10, 1, 6, 0, 1])).tolist() == [
        "tail", "head", "tail", "tail", "tail", "tail"
    ]  # fmt: skip
    assert popularity_groups(interactions(item_counts=[2, 9, 1, 7])).tolist() == ["tail", "head", "tail", "head"]


def test_activity_is_in_thirds_of_the_users():
    assert activity_groups(interactions([5, 1, 9, 2, 7, 3])).tolist() == [
        "medium", "low", "high", "low", "high", "medium"
    ]  # fmt: skip


def test_equally_active_users_are_in_one_group_and_users_without_interactions_in_the_lowest():
    assert len(set(activity_groups(interactions([4, 4, 4, 4])))) == 1
    assert activity_groups(interactions([0, 0, 0, 0, 1, 5, 9])).tolist() == ["low"] * 5 + ["medium", "high"]


def test_sparsity_groups_have_equally_many_interactions_and_so_ever_fewer_users():
    counts = np.array([12, 1, 1, 2, 2, 3, 3, 1, 6, 4, 5, 1, 1, 6])
    groups = sparsity_groups(interactions(counts))
    assert np.bincount(groups, weights=counts).tolist() == [12, 12, 12, 12]
    assert np.bincount(groups).tolist() == [8, 3, 2, 1]
    assert groups[0] == 3


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 6))
def test_no_sparsity_group_is_off_by_more_than_its_border_users_and_activity_grows_with_the_group(counts, n_groups):
    groups = sparsity_groups(interactions(counts), n_groups)
    counts = np.array(counts)
    assert groups.min() >= 0
    assert groups.max() < n_groups
    totals = np.bincount(groups, weights=counts, minlength=n_groups)
    assert np.abs(totals - counts.sum() / n_groups).max() <= max(counts.max(), 1)
    assert (np.diff(groups[np.argsort(counts, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("groups", [popularity_groups, activity_groups, sparsity_groups])
def test_data_without_interactions_has_groups_too(groups):
    assert len(groups(interactions([0]))) == 1


def test_users_to_rank_for_are_drawn_once_and_keep_all_that_is_theirs():
    data = interactions([2, 0, 1, 3, 0, 1, 1, 4])
    drawn = some_users(data, 3)
    assert len(np.unique(drawn.users)) == 3
    assert np.array_equal(drawn.users, some_users(data, 3).users)
    assert all((drawn.users == user).sum() == (data.users == user).sum() for user in drawn.users)
    assert some_users(data, None) is data
    assert some_users(data, 6) is data
