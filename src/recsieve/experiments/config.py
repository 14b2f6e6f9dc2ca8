"""A comparison from a TOML file or from options: checked, with the settings of each run."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from recsieve.checking import accepts, make_settings
from recsieve.denoisers import DENOISERS
from recsieve.errors import ConfigError, did_you_mean
from recsieve.experiments.settings import DEFAULT_STRATEGIES, NATURAL, ComparisonConfig, Strategy
from recsieve.models import fits_itself
from recsieve.registry import options_of
from recsieve.settings import AUTO, Common, is_loss, parse_criterion, validated
from recsieve.simulation.injection import MECHANISMS

CHOICE_TRIALS = 12  # models that `auto` fits in a comparison


def make_config(values: dict[str, Any]) -> ComparisonConfig:
    """Check a configuration, including each strategy's options, before anything is trained."""
    config = validated(ComparisonConfig, values)
    if not config.models or not config.strategies or not config.noise:
        raise ConfigError("there is nothing to compare: give at least one model, one strategy and one kind of noise.")
    _check_metric(config.metric)
    for noise in config.noise:
        if noise.mechanism not in (NATURAL, *MECHANISMS):
            known = (NATURAL, *MECHANISMS)
            raise ConfigError(f"there is no noise '{noise.mechanism}': {did_you_mean(noise.mechanism, known)}")
    trained = [*config.models, *config.plain_models]
    for name in config.model_options:
        if name not in trained:
            raise ConfigError(f"there are model_options for '{name}': {did_you_mean(name, trained)}")
    for model in trained:
        make_settings(run_settings(config, model, DEFAULT_STRATEGIES["CE"], seed=0))
    for strategy in config.strategies.values():
        for model in config.models:
            if accepts(model, strategy.denoiser):
                make_settings(run_settings(config, model, strategy, seed=0))
    return config


def read_config(path: Path, **options: Any) -> ComparisonConfig:
    """Read a TOML file; given options override its values.

    Paths in the file are relative to its folder.
    """
    config = make_config(read_toml(path) | options)
    if config.data is None:
        raise ConfigError(f"{path} has no data: give a table [data] with a source, or DATA on the command line.")
    here = {
        name: path.parent / given
        for name in ("source", "validation", "test")
        if (given := getattr(config.data, name)) is not None
    }
    return config.model_copy(update={"data": replace(config.data, **here)})


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no file '{path}': give the path of a TOML file.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a TOML file: {error}.") from None


def shared_settings(config: Common, model: str) -> dict[str, Any]:
    """The settings that all trainings of a study of a model share."""
    shared = {name: getattr(config, name) for name in Common.model_fields}
    if not fits_itself(model):
        return shared
    own = {"objective", "objective_options"} | ({"select_by"} if is_loss(config.select_by) else set())
    return {name: value for name, value in shared.items() if name not in own}  # these it has its own of, or none


def run_settings(config: ComparisonConfig, model: str, strategy: Strategy, seed: int) -> dict[str, Any]:
    """The settings of one run; a random control gets the run's seed."""
    options = dict(strategy.denoiser_options)
    if strategy.denoiser in DENOISERS and "seed" in options_of(DENOISERS[strategy.denoiser]):
        options.setdefault("seed", seed)
    return {
        **shared_settings(config, model),
        **_own_training(strategy, model),
        "validation_users": None,  # that is for whoever watches the run
        "final": False,  # either all are fitted again on more data or none is
        "model": model,
        "model_options": config.model_options.get(model, {}) | strategy.model_options,
        "denoiser": strategy.denoiser,
        "denoiser_options": options,
        "learning_rate": strategy.learning_rate or config.learning_rate,
        "seed": seed,
        # By number and not by time, so that no number depends on how busy the machine is.
        "trials": CHOICE_TRIALS if strategy.denoiser == AUTO else None,
    }


def _own_training(strategy: Strategy, model: str) -> dict[str, Any]:
    """What a strategy trains or selects by, where that is not as in the comparison; a model may have its own."""
    if fits_itself(model):
        return {}
    own: dict[str, Any] = {"select_by": strategy.select_by, "objective": strategy.objective}
    found = {name: value for name, value in own.items() if value is not None}
    return found | ({"objective_options": strategy.objective_options} if "objective" in found else {})


def _check_metric(metric: str) -> None:
    try:
        clean = parse_criterion(metric)[2]
    except ConfigError:
        clean = True
    if clean:
        raise ConfigError(f"metric is '{metric}', but it must be a metric on the test: give e.g. 'ndcg@20'.")
