import pytest

from recsieve.errors import ConfigError
from recsieve.experiments.config import make_config
from recsieve.experiments.plan import contenders, plan
from recsieve.experiments.settings import Noise, Strategy

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
    plain = 2 * (5 + 1)  # in each kind of noise five models, of which one is another with another seed
    assert len(cells) == 2 * 2 * (5 + 6) + plain
    assert len({cell.name for cell in cells}) == len(cells)
    random = [cell.settings for cell in cells if cell.contender.role == "random control"]
    assert all(settings.denoiser_options["seed"] == settings.seed for settings in random)


def test_names_that_differ_only_in_signs_are_refused():
    config = make_config({"strategies": {"T-CE": TRUNCATED, "T CE": {"denoiser": "reweighted"}}})
    with pytest.raises(ConfigError, match="have the same name"):
        plan(config, {Noise(): False})


REWEIGHTED = Strategy(denoiser="reweighted")


def popularity_controls(strategies):
    """The popularity control of each strategy, and the options of each control."""
    made = contenders(strategies, noise_is_known=False)
    controls = {contender.name: contender.strategy for contender in made if contender.role == "popularity control"}
    return {contender.name: contender.control for contender in made if contender.role == "strategy"}, controls


def test_a_strategy_that_drops_nothing_has_to_beat_the_control_of_the_first_that_does():
    opponents, controls = popularity_controls({"R-CE": REWEIGHTED, "T-CE": TRUNCATED})
    assert opponents == dict.fromkeys(("R-CE", "T-CE"), "least popular drop as T-CE")
    assert list(controls) == ["least popular drop as T-CE"]


def test_a_strategy_that_drops_nothing_has_a_control_though_it_is_alone():
    opponents, controls = popularity_controls({"R-CE": REWEIGHTED})
    assert opponents == {"R-CE": "least popular drop beside R-CE"}
    assert controls["least popular drop beside R-CE"].denoiser_options == {"drop_positives": 0.1, "ramp_epochs": 5}


def test_a_control_has_the_learning_rate_of_what_has_to_beat_it():
    tuned = REWEIGHTED.model_copy(update={"learning_rate": 0.01})
    opponents, controls = popularity_controls({"T-CE": TRUNCATED, "R-CE": tuned})
    assert opponents == {"T-CE": "least popular drop as T-CE", "R-CE": "least popular drop beside R-CE"}
    beside = controls["least popular drop beside R-CE"]
    assert (beside.denoiser_options, beside.learning_rate) == (TRUNCATED.denoiser_options, 0.01)


def test_controls_count_what_they_drop_as_the_strategy_does():
    authors = TRUNCATED.model_copy(update={"denoiser_options": {"max_drop_rate": 0.1, "fidelity": "authors"}})
    _, controls = popularity_controls({"T-CE": authors})
    assert controls["least popular drop as T-CE"].denoiser_options == authors.denoiser_options


def test_plain_training_under_another_name_has_no_control_to_beat():
    plain = Strategy(denoiser="keep-all")
    assert popularity_controls({"A": plain, "B": plain}) == ({"B": None}, {})


def test_a_choice_with_labels_is_held_against_one_by_popularity_and_without_labels_against_dropping():
    sighted, blind = (Strategy(denoiser="auto", denoiser_options={"labels": share}) for share in (0.05, 0.0))
    made = {one.name: one for one in contenders({"auto": sighted, "blind": blind}, noise_is_known=True)}
    assert made["auto"].control == "P by popularity as auto"
    assert made[made["auto"].control].strategy.denoiser_options == {"labels": 0.05, "evidence": "popularity"}
    assert made["blind"].control == "least popular drop beside blind"


def rows_of(**options):
    config = make_config({"seeds": 2, **options})
    return [(cell.settings.model, cell.contender.name, cell.settings.seed) for cell in plan(config, {Noise(): False})]


def test_plain_models_are_there_without_asking_and_once_where_every_seed_gives_the_same():
    plain = [(model, seed) for model, name, seed in rows_of() if name == "plain"]
    once = [("ease", 0), ("itemknn", 0), ("popularity", 0), ("rp3beta", 0)]
    assert sorted(plain) == sorted([*once, ("ials", 0), ("ials", 1)])


def test_a_model_that_was_asked_for_is_not_there_twice():
    rows = rows_of(models=["ease"], plain_models=["ease", "popularity"])
    assert rows == [("ease", "CE", 0), ("popularity", "plain", 0)]


def test_strategies_that_a_model_has_no_use_for_are_left_out_with_their_controls():
    options = {"models": ["ials", "itemknn"], "plain_models": []}
    strategies = {"CE": {"denoiser": "keep-all"}, "T-CE": TRUNCATED, "NR": {"denoiser": "negative-feedback"}}
    rows = [(model, name) for model, name, seed in rows_of(**options, strategies=strategies) if seed == 0]
    assert rows == [
        ("ials", "CE"), ("ials", "T-CE"), ("ials", "random drop as T-CE"), ("ials", "least popular drop as T-CE"),
        ("itemknn", "CE"),
    ]  # fmt: skip


def test_controls_have_the_model_options_of_what_has_to_beat_them():
    tuned = TRUNCATED.model_copy(update={"model_options": {"factors": 8}})
    made = {one.name: one.strategy for one in contenders({"T-CE": tuned}, noise_is_known=False)}
    assert made["least popular drop as T-CE"].model_options == {"factors": 8}


def test_a_run_is_called_as_a_person_would_and_its_folder_has_no_spaces():
    options = {"strategies": {"T-CE": TRUNCATED}, "plain_models": ["ease"], "seeds": 2}
    noise = [Noise(), Noise(mechanism="uniform", rate=0.2)]
    cells = plan(make_config({**options, "noise": noise}), dict.fromkeys(noise, False))
    named = {cell.title: cell.name for cell in cells}
    assert named["GMF, T-CE, seed 1"] == "natural-gmf-T_CE-1"
    assert named["GMF, T-CE, uniform 20 % noise, seed 0"] == "uniform_20-gmf-T_CE-0"
    assert named["EASE, plain"] == "natural-ease-plain-0"
