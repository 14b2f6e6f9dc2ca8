import re
import tomllib
from pathlib import Path

import pytest

from recsieve.denoisers import DENOISERS, RandomDrop
from recsieve.errors import ConfigError
from recsieve.experiments.config import make_config, read_config, run_settings
from recsieve.experiments.settings import Strategy


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sedes": 5}, "there is no setting 'sedes': did you mean 'seeds'?"),
        ({"data": {"source": "log.csv", "usr": "customer"}}, "did you mean 'data.user'?"),
        ({"seeds": 1}, "seeds is 1"),
        ({"models": []}, "nothing to compare"),
        ({"models": ["gmg"]}, "did you mean 'gmf'?"),
        ({"strategies": {"T": {"denoiser": "trunkated"}}}, "did you mean 'truncated'?"),
        ({"strategies": {"T": {"denoiser": "truncated", "denoiser_options": {"drop": 0.1}}}}, "has no option 'drop'"),
        ({"strategies": {"T": {"denoisr": "truncated"}}}, "strategies.T.denoiser is missing"),
        ({"noise": [{"mechanism": "unifrom", "rate": 0.1}]}, "did you mean 'uniform'?"),
        ({"noise": [{"mechanism": "uniform", "rate": 1.5}]}, "noise.0.rate is 1.5"),
        ({"metric": "clean-ndcg@20"}, "a metric on the test"),
        ({"metric": "loss"}, "a metric on the test"),
        ({"select_by": "loss"}, "select_by is 'loss'"),
        ({"model_options": {"neumf": {"factors": 8}}}, "there are model_options for 'neumf'"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_give(values, words):
    with pytest.raises(ConfigError, match=r".") as raised:
        make_config(values)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_may_say_everything_and_options_take_its_place(tmp_path):
    path = tmp_path / "compare.toml"
    path.write_text(
        'seeds = 7\nmodels = ["gmf", "neumf"]\n[data]\nsource = "log.csv"\n'
        '[[noise]]\nmechanism = "uniform"\nrate = 0.2\n'
        '[strategies."T-CE"]\ndenoiser = "truncated"\n[strategies."T-CE".denoiser_options]\ndrop_positives = 0.2\n'
    )
    config = read_config(path, seeds=3)
    assert (config.seeds, config.models, config.noise[0].name) == (3, ["gmf", "neumf"], "uniform 20 %")
    assert config.data.source == tmp_path / "log.csv"
    assert list(config.strategies) == ["T-CE"]


@pytest.mark.parametrize(("text", "words"), [("seeds = ", "as a TOML file"), ("seeds = 5", "has no data")])
def test_a_file_that_cannot_be_used_is_told(tmp_path, text, words):
    (tmp_path / "compare.toml").write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_config(tmp_path / "compare.toml")


def test_a_missing_file_is_told_as_that(tmp_path):
    path = tmp_path / "nofile.toml"
    with pytest.raises(ConfigError, match=r"^there is no file '.*nofile\.toml': give the path of a TOML file\.$"):
        read_config(path)


def test_the_file_in_the_guide_is_one_that_can_be_used():
    guide = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    block, _ = re.findall(r"^```toml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)  # the other is a leaderboard's
    config = make_config(tomllib.loads(block))
    assert list(config.strategies) == ["CE", "T-CE 0.2", "R-CE 0.3"]


def test_auto_has_a_number_of_trials_in_a_comparison_and_not_a_time():
    config = make_config({"models": ["gmf"]})
    assert run_settings(config, "gmf", Strategy(denoiser="auto"), 0)["trials"] == 12
    assert run_settings(config, "gmf", Strategy(denoiser="keep-all"), 0)["trials"] is None


def test_a_strategy_with_a_seed_of_its_own_gets_that_of_the_run_whatever_it_is_called(monkeypatch):
    class Chance(RandomDrop):
        pass

    for names in (DENOISERS._ours, DENOISERS._loaded):
        monkeypatch.setitem(names, "chance", Chance)
    given = {"chance": {"denoiser": "chance"}, "fixed": {"denoiser": "chance", "denoiser_options": {"seed": 5}}}
    config = make_config({"strategies": given})
    seeds = {
        name: run_settings(config, "gmf", of, seed=3)["denoiser_options"] for name, of in config.strategies.items()
    }
    assert seeds == {"chance": {"seed": 3}, "fixed": {"seed": 5}}
