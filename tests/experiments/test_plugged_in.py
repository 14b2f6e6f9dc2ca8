"""A strategy with memory from another package, by name and with its options, in whatever trains."""

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import polars as pl
import pytest
import torch

from recsieve import Recommender
from recsieve.denoisers import DENOISERS, Context, Range
from recsieve.experiments.search import make_tuning
from recsieve.experiments.tune import run_tuning


@dataclass
class Forgiving:
    """Weigh an interaction by the mean of its losses so far."""

    search_space: ClassVar = {"softness": Range(0.1, 1.0)}

    softness: float = 0.2
    _: KW_ONLY
    context: Context = field(repr=False, compare=False)

    def __post_init__(self):
        self.sums, self.counts = torch.zeros(2, self.context.n_interactions)

    def weights(self, batch):
        observed = batch.ids >= 0
        ids = batch.ids[observed]
        self.sums[ids] += batch.losses[observed]
        self.counts[ids] += 1
        means = batch.losses.clone()
        means[observed] = self.sums[ids] / self.counts[ids]
        return (-self.softness * means).exp()

    def state_dict(self):
        return {"sums": self.sums, "counts": self.counts}

    def load_state_dict(self, state):
        self.sums, self.counts = state["sums"], state["counts"]


@pytest.fixture(autouse=True)
def plugged_in(monkeypatch):
    class Point:
        name, value = "forgiving", "tests:Forgiving"

        def load(self):
            return Forgiving

    monkeypatch.setitem(DENOISERS._offered, "forgiving", Point())
    yield
    DENOISERS._loaded.pop("forgiving", None)


def test_it_is_trained_and_its_options_stand_in_the_run(split, tmp_path):
    given = {"model": "gmf", "denoiser": "forgiving", "denoiser_options": {"softness": 0.5}}
    Recommender(**given, epochs=1, batch_size=64).fit(split).save(tmp_path / "run")
    assert Recommender.load(tmp_path / "run").settings.denoiser_options == {"softness": 0.5}


def test_it_is_compared_with_its_options_and_with_a_control(compare):
    rows = compare(strategies={"mine": {"denoiser": "forgiving", "denoiser_options": {"softness": 0.5}}}, epochs=1)
    roles = {row["strategy"]: row["role"] for row in rows["rows"]}
    assert roles["mine"] == "strategy"
    assert roles["least popular drop beside mine"] == "popularity control"


def searched_options(out):
    """The options of each trial."""
    rows = pl.read_csv(out / "tables" / "trials.csv").drop("strategy", "trial", "state", "score").rows(named=True)
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def test_it_is_tuned_over_its_own_search_space_and_that_of_the_model(split, tmp_path, in_this_process):
    config = make_tuning({"strategies": ["forgiving"], "trials": 2, "epochs": 1, "batch_size": 64})
    (found,) = run_tuning(config, tmp_path / "out", split=split)["strategies"]
    defaults, searched = searched_options(tmp_path / "out")
    assert {"softness", "model factors"}.isdisjoint(defaults)
    assert 0.1 <= searched["softness"] <= 1.0
    assert 8 <= searched["model factors"] <= 256
    assert "learning_rate" in found


def test_a_model_that_is_solved_is_tuned_without_a_learning_rate(split, tmp_path, in_this_process, caplog):
    config = make_tuning({"model": "itemknn", "trials": 2})
    (found,) = run_tuning(config, tmp_path / "out", split=split)["strategies"]
    assert "the strategy truncated does not work with itemknn" in caplog.text
    defaults, searched = searched_options(tmp_path / "out")
    assert not defaults
    assert set(searched) == {"model neighbours", "model similarity"}
    assert "learning_rate" not in found
