"""What a comparison is made of: data, models, strategies, seeds and a budget, from a TOML file or from options."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recsieve.data.injection import MECHANISMS
from recsieve.errors import ConfigError, did_you_mean
from recsieve.experiments.run import DataSource
from recsieve.settings import Positive, first_problem, make_settings, parse_criterion

NATURAL = "natural"  # the noise that the data has, known or not


class Strategy(BaseModel):
    """A denoising strategy and its knobs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    denoiser: str
    denoiser_options: dict[str, int | float | str] = {}
    learning_rate: Annotated[float, Field(gt=0, lt=float("inf"))] | None = None  # None: that of the comparison


class Noise(BaseModel):
    """The noise of the data itself, or noise added to clean data until it is the given share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mechanism: str = NATURAL
    rate: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def name(self) -> str:
        return NATURAL if self.mechanism == NATURAL else f"{self.mechanism} {100 * self.rate:g} %"


# In a person's terms, and written out, so that a result says what it is the result of.
DEFAULT_STRATEGIES = {
    "CE": Strategy(denoiser="keep-all"),
    "T-CE": Strategy(denoiser="truncated", denoiser_options={"drop_positives": 0.1, "ramp_epochs": 5}),
    "R-CE": Strategy(denoiser="reweighted", denoiser_options={"beta": 0.2}),
}


class ComparisonConfig(BaseModel):
    """Everything that decides the numbers of a comparison, and how much of the machine it may use."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    data: DataSource | None = None  # None: a split that is given in Python
    models: list[str] = ["gmf"]
    model_options: dict[str, dict[str, int | float | str]] = {}  # by model
    strategies: dict[str, Strategy] = DEFAULT_STRATEGIES
    noise: list[Noise] = [Noise()]
    seeds: Annotated[int, Field(ge=2)] = 5  # with one, chance cannot be told from effect
    metric: str = "ndcg@20"  # of the test, on which verdicts are given
    select_by: str = "ndcg@20"  # one criterion for all, on validation
    epochs: Positive = 100
    patience: Positive = 10
    validation_users: Positive | None = None  # ranked for at each validation, the same for all; None: everybody
    batch_size: Positive = 1024
    learning_rate: Annotated[float, Field(gt=0, lt=float("inf"))] = 1e-3
    negatives: Positive = 1
    workers: Positive | None = None  # None: as many as there are cores
    memory_gb: Annotated[float, Field(gt=0)] | None = None  # None: four fifths of what is free


def make_config(values: dict[str, Any]) -> ComparisonConfig:
    """Check a configuration down to each strategy's knobs, before anything is trained."""
    try:
        config = ComparisonConfig(**values)
    except ValidationError as error:
        raise ConfigError(first_problem(error, ComparisonConfig)) from None
    if not config.models or not config.strategies or not config.noise:
        raise ConfigError("there is nothing to compare: give at least one model, one strategy and one kind of noise.")
    _check_metric(config.metric)
    for noise in config.noise:
        if noise.mechanism not in (NATURAL, *MECHANISMS):
            known = (NATURAL, *MECHANISMS)
            raise ConfigError(f"there is no noise '{noise.mechanism}': {did_you_mean(noise.mechanism, known)}")
    for name in config.model_options:
        if name not in config.models:
            raise ConfigError(f"model_options are given for '{name}': {did_you_mean(name, config.models)}")
    for strategy in config.strategies.values():
        for model in config.models:
            make_settings(run_settings(config, model, strategy, seed=0))
    return config


def read_config(path: Path, **options: Any) -> ComparisonConfig:
    """Read a TOML file, in which options that are given take the place of its values.

    Paths in the file are relative to the folder that it is in.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a TOML file: {error}.") from None
    config = make_config(values | options)
    if config.data is None:
        raise ConfigError(f"{path} names no data: give a table [data] with a source, or DATA before the options.")
    here = {
        name: path.parent / given
        for name in ("source", "validation", "test")
        if (given := getattr(config.data, name)) is not None
    }
    return config.model_copy(update={"data": replace(config.data, **here)})


def run_settings(config: ComparisonConfig, model: str, strategy: Strategy, seed: int) -> dict[str, Any]:
    """The settings of one run; what drops at random gets the run's seed."""
    options = dict(strategy.denoiser_options)
    if strategy.denoiser == "random-drop":
        options.setdefault("seed", seed)
    shared = ("select_by", "epochs", "patience", "batch_size", "negatives")
    return {
        "model": model,
        "model_options": config.model_options.get(model, {}),
        "denoiser": strategy.denoiser,
        "denoiser_options": options,
        **{name: getattr(config, name) for name in shared},
        "learning_rate": strategy.learning_rate or config.learning_rate,
        "seed": seed,
    }


def _check_metric(metric: str) -> None:
    try:
        clean = parse_criterion(metric)[2]
    except ConfigError:
        clean = True
    if clean:
        raise ConfigError(f"metric is '{metric}', but it is what is measured on the test: give e.g. 'ndcg@20'.")
