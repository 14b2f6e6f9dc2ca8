"""What every test may ask for."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from recsieve.data.interactions import Interactions

# The first call of a compiled or polars function is slow, and so is a busy machine: neither is a failure.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data():
    """A function that gives a folder of real data, or skips the test where it is missing."""

    def folder(name: str) -> Path:
        if not (SHARED / name).exists():
            pytest.skip(f"needs the real data '{name}', which is not beside this clone")
        return SHARED / name

    return folder


@pytest.fixture(scope="session")
def small_data():
    """A function that makes small random interactions with flags, each pair once."""

    def make(n_users: int = 30, n_items: int = 20, share: float = 0.3, seed: int = 0) -> Interactions:
        rng = np.random.default_rng(seed)
        taken = rng.random((n_users, n_items)) < share
        taken[0, 0] = True
        users, items = (axis.astype(np.int32) for axis in taken.nonzero())
        flags = (rng.random(len(users)) < 0.2).astype(np.int8)
        user_ids = pl.Series([f"u{i}" for i in range(n_users)])
        item_ids = pl.Series([f"i{i}" for i in range(n_items)])
        return Interactions(users, items, user_ids, item_ids, flags)

    return make
