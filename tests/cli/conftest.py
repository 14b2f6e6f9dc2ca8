"""The command line as a user meets it, in this process, because starting another takes seconds."""

import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from recsieve.cli import main


@dataclass
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def recsieve(capsys, monkeypatch):
    """A function that runs a command and gives its exit code and output."""

    def run(*words) -> Answer:
        monkeypatch.setattr(sys, "argv", ["recsieve", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Answer(int(ended.value.code or 0), out, err)

    return run


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
    assert recsieve("train", log, *columns, "--epochs", 2, "--out", tmp_path / "run").code == 0
    return tmp_path / "run"
