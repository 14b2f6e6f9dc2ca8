"""A log and a run for the command line to work on."""

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """A small log of purchases with string ids."""
    rng = np.random.default_rng(0)
    taken = rng.random((40, 30)) < 0.35
    users, items = taken.nonzero()
    frame = pl.DataFrame(
        {
            "customer": [f"Zoë {user}" for user in users],
            "product": [f"книга-{item}" for item in items],
            "rating": rng.integers(1, 6, len(users)),
            "time": np.arange(len(users)),
        }
    )
    path = tmp_path_factory.mktemp("log") / "log.csv"
    frame.write_csv(path)
    return path


COLUMNS = ("--user", "customer", "--item", "product", "--false-positive", "rating < 3")


@pytest.fixture(scope="session")
def columns():
    return COLUMNS


@pytest.fixture
def run_folder(recsieve, log, tmp_path, columns):
    """A finished run."""
    assert recsieve("train", log, *columns, "--model", "gmf", "--epochs", 2, "--out", tmp_path / "run").code == 0
    return tmp_path / "run"
