from dataclasses import dataclass, fields

import pytest

from recsieve.checking import assign_options, model_options
from recsieve.cli.model_options import OPTIONS
from recsieve.cli.options import setting_options
from recsieve.denoisers import DENOISERS, denoiser_options
from recsieve.errors import ConfigError
from recsieve.experiments.settings import ComparisonConfig, TuningConfig
from recsieve.models import MODELS
from recsieve.objectives import OBJECTIVES
from recsieve.settings import Settings
from recsieve.storage.run_folder import RunFolder


def test_every_option_of_every_model_objective_and_strategy_is_one_of_the_command_line():
    offered = {name for model in MODELS.values() for name in model_options(model)}
    offered |= {field.name for objective in OBJECTIVES.values() for field in fields(objective)}
    offered |= {name for denoiser in DENOISERS.values() for name in denoiser_options(denoiser)}
    assert offered - set(Settings.model_fields) == set(OPTIONS)  # the seed is that of the run


@pytest.mark.parametrize("settings", [Settings, ComparisonConfig, TuningConfig])
def test_every_setting_that_a_word_can_give_is_an_option_without_a_default_of_its_own(settings):
    tables = {"data", "model_options", "objective_options", "denoiser_options", "noise"}
    tables |= {"strategies"} if settings is ComparisonConfig else set()  # has an option of its own, by name
    assert set(setting_options(settings)) == set(settings.model_fields) - tables


def test_help_shows_the_defaults_of_the_settings(recsieve):
    told = " ".join(recsieve("train", "--help").out.split())
    assert f"Maximum number of epochs. [{Settings().epochs}]" in told
    assert f"Learning rate of Adam. [{Settings().learning_rate}]" in told
    assert f"Runs of each strategy. [{ComparisonConfig().seeds}]" in " ".join(recsieve("compare", "--help").out.split())
    assert f"Trials for each strategy. [{TuningConfig().trials}]" in " ".join(recsieve("tune", "--help").out.split())


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("--model", "ease", "--l2", 400), {"model": "ease", "model_options": {"l2": 400.0}}),
        (
            ("--model", "ials", "--factors", 8, "--alpha0", 0.2),
            {"model": "ials", "model_options": {"factors": 8, "alpha0": 0.2}},
        ),
        (("--model", "rp3beta", "--beta", 0.4), {"model": "rp3beta", "model_options": {"beta": 0.4}}),
        (("--denoiser", "reweighted", "--beta", 0.4), {"denoiser_options": {"beta": 0.4}}),
        (
            ("--objective", "softmax", "--temperature", 0.5, "--negatives", 4, "--engine", "lazy"),
            {"objective": "softmax", "objective_options": {"temperature": 0.5}, "negatives": 4, "engine": "lazy"},
        ),
        (("--objective", "bpr", "--option", "factors=8"), {"objective": "bpr", "model_options": {"factors": 8}}),
    ],
)
def test_models_objectives_and_strategies_are_trained_with_their_options(
    recsieve, log, columns, tmp_path, words, written
):
    run = tmp_path / "run"
    answer = recsieve("train", log, *columns, "--model", "gmf", "--epochs", 1, "--batch-size", 64, "--out", run, *words)
    assert answer.code == 0, answer.err
    settings = RunFolder(run).read_config()["settings"]
    assert {name: settings[name] for name in written} == written
    assert recsieve("recommend", run, "--k", 2).code == 0


def test_an_option_that_two_of_them_have_is_refused(monkeypatch):
    @dataclass(frozen=True)
    class Both:
        factors: int = 3

    monkeypatch.setitem(DENOISERS._loaded, "both", Both)
    monkeypatch.setitem(DENOISERS._ours, "both", Both)
    with pytest.raises(ConfigError, match="more than one of"):
        assign_options({"model": "gmf", "denoiser": "both"}, {"factors": 4})


def test_the_models_to_choose_among_are_given_with_commas_between(recsieve, log, columns, tmp_path):
    words = ("train", log, *columns, "--candidates", "popularity, ease", "--trials", 2, "--out", tmp_path / "run")
    assert recsieve(*words).code == 0
    assert RunFolder(tmp_path / "run").read_config()["settings"]["candidates"] == ["popularity", "ease"]
