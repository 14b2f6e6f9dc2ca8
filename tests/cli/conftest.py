"""A log and a run for the command line to work on."""

from shutil import copytree

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


@pytest.fixture(scope="session")
def trained(log, tmp_path_factory):
    """A finished run, trained once for all."""
    from recsieve.checking import make_settings
    from recsieve.experiments.run import train_and_save
    from recsieve.experiments.source import DataSource

    source = DataSource(log, user="customer", item="product", false_positive="rating < 3")
    settings = make_settings({"model": "gmf", "epochs": 2})
    return train_and_save(source, settings, tmp_path_factory.mktemp("trained") / "run").folder


@pytest.fixture
def run_folder(trained, tmp_path):
    """A finished run, to be damaged at will."""
    return copytree(trained, tmp_path / "run")
