import tomllib

import polars as pl
import pytest

from recsieve.denoisers import DENOISERS, Range
from recsieve.errors import ConfigError, DivergedError, RunError
from recsieve.experiments.config import read_config
from recsieve.experiments.search import make_tuning
from recsieve.experiments.space import in_words
from recsieve.experiments.tune import advice, run_tuning
from recsieve.recommender import Recommender


@pytest.fixture
def tune(split, tmp_path, in_this_process):
    """A function that tunes in this process."""

    def run(out="out", given=split, **options):
        config = make_tuning({"epochs": 2, "batch_size": 64, "trials": 3, **options})
        return run_tuning(config, tmp_path / out, split=given)

    return run


def test_every_strategy_gets_equally_many_trials(tune, tmp_path):
    result = tune()
    trials = pl.read_parquet(tmp_path / "out" / "tables" / "trials.parquet")
    assert trials["strategy"].value_counts().sort("strategy").rows() == [("CE", 3), ("R-CE", 3), ("T-CE", 3)]
    for entry in result["strategies"]:
        assert entry["score"] == pytest.approx(trials.filter(strategy=entry["title"])["score"].max())


@pytest.mark.parametrize("model", ["gmf", "ials", "lightgcn"])
def test_the_first_trial_has_the_defaults_so_that_a_search_never_ends_below_them(tune, tmp_path, split, model):
    found = tune(model=model, strategies=["reweighted"], trials=2)["strategies"][0]
    first = pl.read_parquet(tmp_path / "out" / "tables" / "trials.parquet").row(0, named=True)
    plain = Recommender(model, "reweighted", epochs=2, batch_size=64).fit(split)
    assert first["score"] == pytest.approx(plain.selected["score"], abs=1e-9)
    assert first.get("learning_rate") == (None if model == "ials" else plain.settings.learning_rate)
    assert found["score"] >= first["score"]


def test_defaults_that_win_are_told_as_such():
    assert in_words("reweighted", {}, {"learning_rate": 0.001}) == (
        "reweighted with its default options; learning rate 0.001"
    )
    assert in_words("keep-all", {}, {}) == "plain training"


def test_a_search_that_was_stopped_ends_as_one_that_was_not(tune, tmp_path):
    whole = tune("whole", strategies=["truncated"], trials=6)
    tune("parts", strategies=["truncated"], trials=2)
    parts = tune("parts", strategies=["truncated"], trials=6)
    assert parts["strategies"] == whole["strategies"]
    tables = [pl.read_parquet(tmp_path / name / "tables" / "trials.parquet") for name in ("whole", "parts")]
    assert tables[0].equals(tables[1])


def test_the_test_part_decides_nothing(tune, split):
    from dataclasses import replace

    without = replace(split, test=split.test.take(slice(0)))
    assert (
        tune("a", strategies=["reweighted"])["strategies"]
        == tune("b", without, strategies=["reweighted"])["strategies"]
    )


@pytest.mark.parametrize("denoiser", DENOISERS)
def test_the_best_options_of_every_strategy_can_be_told_in_words(denoiser):
    space = getattr(DENOISERS[denoiser], "search_space", {})
    options = {name: choice.low if isinstance(choice, Range) else choice[0] for name, choice in space.items()}
    told = in_words(denoiser, options, {"learning_rate": 0.001})
    assert told.endswith("learning rate 0.001")
    if denoiser in ("dcf", "fine-tuning", "truncated-by-owner"):
        assert all(name in told for name in options)


def test_the_next_comparison_has_the_tuned_options(tune, tmp_path, split):
    split.train.to_frame().write_csv(tmp_path / "log.csv")
    result = tune(data={"source": str(tmp_path / "log.csv")}, strategies=["keep-all", "truncated"])
    values = tomllib.loads((tmp_path / "out" / "compare.toml").read_text())
    best = {entry["title"]: entry for entry in result["strategies"]}
    assert values["strategies"]["T-CE"]["denoiser_options"] == best["T-CE"]["options"]
    config = read_config(tmp_path / "out" / "compare.toml")
    assert config.strategies["CE"].learning_rate == best["CE"]["learning_rate"]


def test_other_data_or_settings_in_the_same_folder_are_refused(tune, small_data):
    from recsieve.data.splitting import split_interactions

    tune(strategies=["keep-all"])
    with pytest.raises(RunError, match="started with epochs = 2"):
        tune(strategies=["keep-all"], epochs=3)
    with pytest.raises(RunError, match="the data has changed"):
        tune(given=split_interactions(small_data(40, 25, 0.4, seed=1)), strategies=["keep-all"])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"trails": 5}, "did you mean 'trials'?"),
        ({"strategies": ["trunkated"]}, "did you mean 'truncated'?"),
        ({"model": "gmg"}, "did you mean 'gmf'?"),
        ({"trials": 0}, "trials is 0"),
    ],
)
def test_a_mistake_is_one_line(values, words):
    with pytest.raises(ConfigError) as raised:
        make_tuning(values)
    assert words in str(raised.value)


def test_options_are_told_in_a_persons_terms():
    told = in_words("truncated", {"drop_positives": 0.08, "ramp_epochs": 3}, {"learning_rate": 0.001})
    assert told == "dropping up to 8 % of the positives, reached after 3 epochs; learning rate 0.001"
    assert "counts 50 % of one with 100 %" in in_words("reweighted", {"beta": 0.3}, {})


def test_advice_says_when_plain_training_is_as_good():
    common = {"in_words": "…", "importance": {"beta": 0.7, "learning_rate": 0.3}}
    found = [
        {"denoiser": "keep-all", "title": "CE", "score": 0.2, **common},
        {"denoiser": "reweighted", "title": "R-CE", "score": 0.19, **common},
    ]
    best, _, line, caution = advice(found, "ndcg@20")
    assert best == "Best on validation: CE, …."
    assert "−5.0\u00a0% compared with the best plain training" in line
    assert "The most important option was beta (70 %)" in line
    assert "No options were found" in line
    assert "looks better than it is" in caution


def test_trials_that_all_diverge_are_told_in_one_line(in_this_process, split, tmp_path, monkeypatch):
    def diverge(self, *given, **named):
        raise DivergedError("the training diverged at step 1.", 1)

    monkeypatch.setattr(Recommender, "fit", diverge)
    config = make_tuning({"model": "gmf", "strategies": ["keep-all"], "trials": 2, "epochs": 1, "workers": 1})
    with pytest.raises(DivergedError, match="no trial of CE ended with weights, all of them diverged"):
        run_tuning(config, tmp_path / "out", split=split)
