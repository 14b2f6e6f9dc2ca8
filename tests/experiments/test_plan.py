import pytest

from recsieve.errors import ConfigError
from recsieve.experiments.config import Noise, Strategy, make_config
from recsieve.experiments.plan import contenders, plan

TRUNCATED = Strategy(denoiser="truncated", denoiser_options={"drop_positives": 0.2, "ramp_epochs": 3})


def roles(strategies, **about):
    return {contender.name: contender.role for contender in contenders(strategies, **about)}


def test_controls_are_there_without_asking():
    assert roles({"T-CE": TRUNCATED}, noise_is_known=True) == {
        "CE (plain)": "baseline",
        "T-CE": "strategy",
        "random drop as T-CE": "random control",
        "least popular drop as T-CE": "popularity control",
        "clean training (oracle)": "oracle",
    }


def test_without_flags_there_is_no_oracle():
    assert "oracle" not in roles({"T-CE": TRUNCATED}, noise_is_known=False).values()


def test_controls_have_the_rate_and_ramp_of_what_they_control():
    made = {contender.name: contender.strategy for contender in contenders({"T-CE": TRUNCATED}, noise_is_known=False)}
    assert made["random drop as T-CE"].denoiser_options == TRUNCATED.denoiser_options
    assert made["least popular drop as T-CE"].denoiser_options == TRUNCATED.denoiser_options


def test_strategies_with_the_same_rate_share_their_controls():
    twice = {"T-CE": TRUNCATED, "T-CE again": TRUNCATED}
    made = contenders(twice, noise_is_known=False)
    assert len(made) == 5
    assert {contender.control for contender in made if contender.role == "strategy"} == {"least popular drop as T-CE"}


def test_two_plain_trainings_are_a_baseline_and_a_strategy():
    plain = Strategy(denoiser="keep-all")
    assert roles({"A": plain, "B": plain}, noise_is_known=False) == {"A": "baseline", "B": "strategy"}


def test_every_seed_model_and_noise_is_a_run_with_a_name_of_its_own():
    config = make_config({"seeds": 2, "models": ["gmf", "cdae"], "noise": [{}, {"mechanism": "uniform", "rate": 0.1}]})
    cells = plan(config, {Noise(): False, Noise(mechanism="uniform", rate=0.1): True})
    assert len(cells) == 2 * 2 * (5 + 6)
    assert len({cell.name for cell in cells}) == len(cells)
    random = [cell.settings for cell in cells if cell.contender.role == "random control"]
    assert all(settings.denoiser_options["seed"] == settings.seed for settings in random)


def test_names_that_differ_only_in_signs_are_refused():
    config = make_config({"strategies": {"T-CE": TRUNCATED, "T CE": {"denoiser": "reweighted"}}})
    with pytest.raises(ConfigError, match="named alike"):
        plan(config, {Noise(): False})
