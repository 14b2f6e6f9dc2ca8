import os
import subprocess
import sys
from pathlib import Path

import pytest

from recsieve.checking import make_settings
from recsieve.errors import ConfigError
from recsieve.memory import LIMIT, limit_memory, parse_memory
from recsieve.preparation import check_possible


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setenv(LIMIT, "1T")  # and put back afterwards


@pytest.mark.parametrize(
    ("text", "size"), [("4G", 4 << 30), ("500m", 500 << 20), ("1.5 GiB", 3 << 29), ("64KB", 64 << 10), ("1000", 1000)]
)
def test_memory_is_given_with_a_unit(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "0", "much", "-4G", "4X", "4G4", "٤G", "9" * 400])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ConfigError, match=r"give e\.g\. 4G"):
        limit_memory(text)
    assert os.environ[LIMIT] == "1T"


def test_what_is_used_already_counts_against_the_limit():
    # In a process of its own: one that has run other tests may have more than that.
    code = "from recsieve.memory import *; [(limit_memory(size), print(free_memory())) for size in ('2G', '1M')]"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    within, beyond = map(int, answer.stdout.split())
    assert 0 < within < 2 << 30
    assert beyond == 0


def test_tables_of_a_model_that_do_not_fit_are_refused(split):
    settings = make_settings({"model": "gmf", "model_options": {"factors": 10**6}})
    limit_memory("1G")
    with pytest.raises(ConfigError, match=r"gmf with 1,000,000 factors for 65 users and items needs 1\.0 GB"):
        check_possible(settings, split)


def test_the_command_line_sets_the_limit(recsieve, tmp_path):
    (tmp_path / "log.csv").write_text("user,item\na,b\n")
    answer = recsieve("describe", tmp_path / "log.csv", "--memory", "1M")
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "--memory" in answer.err
    assert recsieve("describe", tmp_path / "log.csv", "--memory", "100G").code == 0


FREED = """
from recsieve.memory import keep_little
keep_little()
import numpy as np
import polars as pl
def megabytes():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
whole = pl.DataFrame({"a": pl.arange(0, 1 << 16, eager=True)})
whole.with_columns(b=pl.col("a") + 1)
before = megabytes()
frames = [whole.with_columns(b=pl.col("a") * factor) for factor in range(300)]
arrays = [np.ones(1 << 19, np.float32) for _ in range(100)]
taken = megabytes()
del frames, arrays[:-1]  # the last lies above the others
print(taken - before, megabytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell how much memory is used")
def test_a_service_gives_freed_memory_back_at_once():
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    taken, kept = map(int, done.stdout.split())
    assert taken > 300
    assert kept < 30
