import json

import polars as pl
import pytest

from recsieve.experiments.config import read_config
from research.docs.auto import auto_page, read_results
from research.studies import auto as auto_study
from research.studies.auto import run_study

BLIND = {"labels": 0.0}


@pytest.fixture
def result(small_data, tmp_path, monkeypatch, in_this_process):
    """A study of two seeds on data that was written to a file; what labels teach has tests of its own."""
    monkeypatch.setattr(auto_study, "SETTINGS", dict.fromkeys(auto_study.SETTINGS, BLIND))
    frame = small_data(40, 25, 0.4).to_frame()
    frame.with_columns(pl.col("false_positive").cast(int)).write_csv(tmp_path / "log.csv")
    (tmp_path / "tiny.toml").write_text(
        'seeds = 2\nepochs = 2\nbatch_size = 64\n[data]\nsource = "log.csv"\nfalse_positive = "false_positive = 1"\n'
    )
    run_study(read_config(tmp_path / "tiny.toml"), tmp_path / "runs", tmp_path / "auto" / "tiny.json", "the command")
    return tmp_path / "auto" / "tiny.json"


def test_a_study_holds_the_choice_and_all_candidates_against_plain_ce(result):
    found = json.loads(result.read_text())
    for setting in found["settings"].values():
        assert len(setting["chosen"]) == 2
        plain = next(one for one in setting["candidates"] if one["candidate"] == "CE")
        assert plain["test_change"] == 0
        assert setting["auto"]["plain"] > 0
        assert len(setting["candidates"]) == 8


def test_trainings_that_are_there_are_not_repeated(result, monkeypatch):
    monkeypatch.setattr(auto_study, "Recommender", None)
    folder = result.parents[1]
    run_study(read_config(folder / "tiny.toml"), folder / "runs", folder / "again.json", "the command")
    again, before = json.loads((folder / "again.json").read_text()), json.loads(result.read_text())
    assert again["settings"] == before["settings"]


def test_the_page_is_written_from_results_alone(result):
    page = auto_page(read_results(result.parent))
    assert "significantly worse in 0" in page
    assert "`the command`" in page
    assert page.count("\n| tiny |") == 4
