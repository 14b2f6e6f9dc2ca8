import os

import pytest

from recsieve.checking import make_settings
from recsieve.errors import ConfigError
from recsieve.memory import LIMIT, free_memory, limit_memory, parse_memory
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
    limit_memory("2G")
    assert 0 < free_memory() < 2 << 30
    limit_memory("1M")
    assert free_memory() == 0


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
