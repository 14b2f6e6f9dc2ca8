import numpy as np
import polars as pl
import pytest

from recsieve.data.interactions import Interactions


@pytest.fixture
def people():
    """Two tastes; people come in sessions, with gaps of any length."""

    def make(n_users=80, n_items=120, seed=0):
        rng = np.random.default_rng(seed)
        same = (np.arange(n_users)[:, None] % 2) == (np.arange(n_items) % 2)
        users, items = (axis.astype(np.int32) for axis in (rng.random((n_users, n_items)) < same * 0.6).nonzero())
        times = np.zeros(len(users), np.int64)
        for user in range(n_users):
            rows = rng.permutation(np.flatnonzero(users == user))
            times[rows] = rng.integers(0, 10**6) + np.cumsum(rng.lognormal(4, 2, len(rows))).astype(np.int64)
        ids = pl.Series([f"u{n}" for n in range(n_users)]), pl.Series([f"i{n}" for n in range(n_items)])
        return Interactions(users, items, *ids, time=times)

    return make
