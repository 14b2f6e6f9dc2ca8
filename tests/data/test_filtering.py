"""The k-core."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.filtering import k_core
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.data.reading.formats import read_interactions
from recsieve.data.repeats import merge_repeats
from recsieve.errors import ConfigError, DataError

ROW = st.tuples(
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([CLEAN, NOISY, UNLABELLED]),
    st.integers(0, 9),
    st.integers(0, 9),
)


def interactions(rows, n_users=4, n_items=4):
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Interactions(
        columns[0].astype(np.int32),
        columns[1].astype(np.int32),
        pl.Series(range(n_users)),
        pl.Series(range(n_items)),
        columns[2].astype(np.int8),
        columns[3].astype(np.float32),
        columns[4].copy(),
    )


@given(st.lists(ROW), st.integers(1, 3))
def test_in_a_k_core_every_user_and_item_has_k_interactions_and_nothing_more_could_stay(rows, k):
    data = merge_repeats(interactions(rows))
    kept = slow_k_core(set(zip(data.users.tolist(), data.items.tolist(), strict=True)), k)
    if not kept:
        with pytest.raises(DataError, match="k_core smaller"):
            k_core(data, k)
        return
    core = k_core(data, k)
    assert set(core.to_frame().select("user", "item").rows()) == kept
    assert core.user_counts().min() >= k
    assert core.item_counts().min() >= k


def slow_k_core(pairs, k):
    while True:
        users, items = [user for user, _ in pairs], [item for _, item in pairs]
        kept = {(user, item) for user, item in pairs if users.count(user) >= k and items.count(item) >= k}
        if kept == pairs:
            return kept
        pairs = kept


def test_a_0_core_is_all_and_a_negative_one_is_refused():
    data = interactions([(0, 0, CLEAN, 1, 1)])
    assert k_core(data, 0) is data
    with pytest.raises(ConfigError, match="k_core is -1"):
        k_core(data, -1)


@pytest.mark.parametrize(
    ("name", "users", "items", "interactions"),
    [("ml-100k/interactions.parquet", 943, 1_349, 99_287), ("modcloth", 2_628, 763, 39_652)],
)
def test_the_5_cores_of_real_data_have_the_counted_sizes(shared_data, name, users, items, interactions):
    core = k_core(read_interactions(shared_data(name)), 5)
    assert (core.n_users, core.n_items, len(core)) == (users, items, interactions)
