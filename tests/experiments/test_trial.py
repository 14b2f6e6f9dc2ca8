import numpy as np
import polars as pl
import pytest

from recsieve.experiments.config import make_config
from recsieve.experiments.plan import plan
from recsieve.experiments.settings import Noise
from recsieve.experiments.trial import run_trial, without_known_noise
from recsieve.recommender import Recommender
from recsieve.storage.run_folder import RunFolder


@pytest.fixture
def cells(tiny):
    return {cell.contender.role: cell for cell in plan(make_config({**tiny, "seeds": 2}), {Noise(): True})}


@pytest.mark.parametrize("select_by", ["ndcg@20", "clean-ndcg@20", "validation-loss", "trimmed-loss@0.2"])
def test_a_trial_selects_as_a_training_by_itself_does(split, tmp_path, tiny, select_by):
    config = make_config({**tiny, "select_by": select_by})
    cell = next(cell for cell in plan(config, {Noise(): True}) if cell.contender.role == "strategy")
    metrics = run_trial(split, cell, tmp_path / "run", "ndcg@5")
    alone = Recommender(**cell.settings.model_dump()).fit(split)
    assert metrics["selected"] == pytest.approx(alone.selected)
    assert metrics["test"]["ndcg@5"] == alone.evaluate(split, [5]).overall["ndcg@5"]


def test_the_test_score_of_the_selected_epoch_is_that_of_the_run(split, tmp_path, cells):
    metrics = run_trial(split, cells["baseline"], tmp_path / "run", "ndcg@5")
    validations = pl.read_parquet(tmp_path / "run" / "validations.parquet")
    chosen = validations.row(int(validations["noisy"].arg_max()), named=True)
    assert chosen["epoch"] == metrics["selected"]["epoch"]
    assert chosen["noisy"] == metrics["selected"]["score"]
    assert chosen["test"] == pytest.approx(metrics["test"]["ndcg@5"])


def test_validations_of_some_users_are_the_same_for_every_training_and_the_test_is_of_all(split, tmp_path, cells):
    users = {"few": 5, "more": 10_000}
    found = {name: run_trial(split, cells["baseline"], tmp_path / name, "ndcg@5", validation_users=most)
             for name, most in {**users, "all": None, "few again": 5}.items()}  # fmt: skip
    validations = {name: pl.read_parquet(tmp_path / name / "validations.parquet") for name in found}
    assert validations["few"].equals(validations["few again"])
    assert validations["more"].equals(validations["all"])
    assert validations["few"]["noisy"][0] != validations["all"]["noisy"][0]
    tested = {pl.read_parquet(RunFolder(tmp_path / name).per_user).height for name in found}
    assert len(tested) == 1


def test_a_run_of_a_comparison_is_lean(split, tmp_path, cells):
    run_trial(split, cells["strategy"], tmp_path / "run", "ndcg@5")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"config.toml", "metrics.json", "per_user.parquet", "history.parquet", "validations.parquet"} <= names
    assert not names & {"model.safetensors", "interactions.parquet", "ids.parquet", "checkpoint"}


def test_the_oracle_learns_nothing_from_known_noise_and_ranks_the_same_items(split):
    clean = without_known_noise(split.train)
    assert clean.csr.items.tolist() == split.train.csr.items.tolist()
    assert (clean.weight == np.where(split.train.is_false_positive, 0, 1)).all()


def test_a_choice_is_a_trial_like_any_other_and_says_what_it_chose(split, tmp_path, tiny):
    config = make_config({**tiny, "strategies": {"auto": {"denoiser": "auto", "denoiser_options": {"labels": 0}}}})
    cell = next(cell for cell in plan(config, {Noise(): True}) if cell.contender.name == "auto")
    metrics = run_trial(split, cell, tmp_path / "run", "ndcg@5")
    validations = pl.read_parquet(tmp_path / "run" / "validations.parquet")
    assert validations["test"].to_list() == pytest.approx([metrics["test"]["ndcg@5"]])
    assert metrics["choice"]["chosen"]["name"] in [one["name"] for one in metrics["choice"]["candidates"]]
    assert not (tmp_path / "run" / "checkpoint").exists()


@pytest.mark.parametrize(
    ("denoiser", "options"),
    [("pld", {"plain_epochs": 1}), ("fine-tuning", {"phase_epochs": 1}), ("warm-up", {"phase_epochs": 1})],
)
def test_a_strategy_that_sees_some_of_the_interactions_in_an_epoch_is_a_trial_too(
    split, tmp_path, tiny, denoiser, options
):
    strategies = {"CE": {"denoiser": "keep-all"}, "mine": {"denoiser": denoiser, "denoiser_options": options}}
    config = make_config({**tiny, "strategies": strategies})
    cell = next(cell for cell in plan(config, {Noise(): True}) if cell.contender.role == "strategy")
    run_trial(split, cell, tmp_path / "run", "ndcg@5")
    found = pl.read_parquet(tmp_path / "run" / "detection.parquet").filter(score="loss", group="all")
    assert found["roc_auc"].is_not_nan().all()
    assert found["n"].n_unique() > (denoiser == "pld")
    assert found["epoch"].to_list() == {"pld": [1, 2, 3], "fine-tuning": [1], "warm-up": [2, 3]}[denoiser]
