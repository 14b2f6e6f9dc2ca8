import json

import numpy as np
import polars as pl
import pytest

from recsieve.audit.pairs import PairNoise, PairScores
from recsieve.auto import selection as selections
from recsieve.auto.noise import NoiseEstimate
from recsieve.experiments.config import read_config
from research.docs.auto import auto_page
from research.docs.markdown import read_results
from research.studies import auto as auto_study
from research.studies.auto import run_study


@pytest.fixture
def result(small_data, tmp_path, monkeypatch, in_this_process):
    """A study of two seeds on data that was written to a file; what labels teach has tests of its own."""

    def estimate(train, seed, *, control, cache):
        cache.mkdir(parents=True, exist_ok=True)
        shapes = (train.n_users, train.n_items, (train.n_users, 2), (train.n_items, 2))
        pairs = PairNoise(PairScores(*(np.random.default_rng(seed).normal(0, 1, one) for one in shapes)))
        return NoiseEstimate(pairs.probability(train.users, train.items), pairs), "made up."

    monkeypatch.setattr(selections, "estimate_noise", estimate)
    monkeypatch.setattr(selections, "pick", lambda rated, criterion, labelled: (_denoised(rated, labelled), "told."))
    frame = small_data(40, 25, 0.4).to_frame()
    frame.with_columns(pl.col("false_positive").cast(int)).write_csv(tmp_path / "log.csv")
    (tmp_path / "tiny.toml").write_text(
        'seeds = 2\n[data]\nsource = "log.csv"\nfalse_positive = "false_positive = 1"\n'
    )
    run_study(read_config(tmp_path / "tiny.toml"), tmp_path / "runs", tmp_path / "auto" / "tiny.json", "the command")
    return tmp_path / "auto" / "tiny.json"


def _denoised(rated, labelled):
    """With labels something that denoises, else the best plain model: so few users convince of nothing."""
    return next(one for one in rated if (one.candidate.denoises if labelled else one.candidate.plain))


def test_a_study_holds_the_choice_against_the_best_plain_model_fitted_alike(result):
    found = json.loads(result.read_text())
    plain = found["settings"]["no labels"]
    assert [one["chosen"] for one in plain["seeds"]] == [one["reference"] for one in plain["seeds"]]
    assert plain["levels"]["auto"] == plain["levels"]["reference"] > 0
    assert plain["against_reference"] == {
        "change": 0, "interval": [0, 0], "p_value": 1, "verdict": "no difference found"
    }  # fmt: skip
    assert plain["denoising"] is None


def test_with_labels_the_choice_is_held_against_itself_without_denoising_and_against_the_control(result):
    found = json.loads(result.read_text())
    labelled = found["settings"]["5 % labels"]
    assert all(one["denoises"] and one["labels"] for one in labelled["seeds"])
    levels = labelled["levels"]
    assert labelled["denoising"]["change"] == pytest.approx(levels["auto"] / levels["without denoising"] - 1, abs=1e-5)
    control = found["settings"]["popularity control"]["levels"]["auto"]
    assert found["against_control"]["change"] == pytest.approx(levels["auto"] / control - 1, abs=1e-5)


def test_trainings_that_are_there_are_not_repeated(result, monkeypatch):
    monkeypatch.setattr(auto_study, "Recommender", None)
    folder = result.parents[1]
    run_study(read_config(folder / "tiny.toml"), folder / "runs", folder / "again.json", "the command")
    again, before = json.loads((folder / "again.json").read_text()), json.loads(result.read_text())
    assert again["settings"] == before["settings"]


def test_the_page_is_written_from_results_alone(result):
    page = auto_page(read_results(result.parent))
    assert "**Significantly worse than the reference** in " in page
    assert "kept the reference in 2 of 2 choices without labels, and in 0 of 2 with 5 %" in page
    assert "Not measured with this version: goodbooks-10k-v1, ml-100k" in page
    assert "`the command`" in page
    assert page.count("\n| tiny |") == 1 + 3 + 2 + 2 + 1
