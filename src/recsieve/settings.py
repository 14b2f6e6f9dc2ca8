"""Every knob of a training, checked, as it stands in a run's config.toml."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recsieve.data.interactions import CSR
from recsieve.denoisers import DENOISERS, make_denoiser
from recsieve.errors import ConfigError, did_you_mean
from recsieve.models import MODELS
from recsieve.training import TrainingPlan
from recsieve.training.sharded import check_shardable

CUSTOM = "custom"  # a strategy of the user's own, given as an object: it has no name to be made from
AUTO = "auto"  # no strategy, but a choice among them and ranking offsets on validation

Positive = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """What to train and how; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: str = "gmf"
    model_options: dict[str, int | float | str] = {}
    denoiser: str = "keep-all"
    denoiser_options: dict[str, int | float | str] = {}
    select_by: str = "ndcg@20"
    epochs: Positive = 100
    patience: Positive = 10
    batch_size: Positive = 1024
    learning_rate: Annotated[float, Field(gt=0, lt=float("inf"))] = 1e-3
    shard_tables: bool = False  # share their rows out over the ranks of torchrun
    table_learning_rate: Annotated[float, Field(gt=0, lt=float("inf"))] = 0.05  # of Adagrad, on sharded tables
    negatives: Positive = 1
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    validate_every: Positive | None = None
    validation_users: Positive | None = None  # ranked for at each validation, drawn once; None: everybody
    checkpoint_every: Positive | None = None

    def plan(self) -> TrainingPlan:
        """The part that the training loop is told."""
        known = inspect.signature(TrainingPlan).parameters
        return TrainingPlan(**{name: value for name, value in self if name in known})


class AutoOptions(BaseModel):
    """The knobs of `auto`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The share of the known labels of noise that it may look at, drawn at random: less than all is for experiments.
    labels: Annotated[float, Field(ge=0, le=1)] = 1.0
    # "popularity" is the control: the same probabilities of noise, handed out by how unpopular items are.
    evidence: Literal["labels", "popularity"] = "labels"


def auto_options(options: Mapping[str, Any]) -> AutoOptions:
    """Check the knobs of `auto`; what is wrong comes back as one line."""
    try:
        return AutoOptions(**options)
    except ValidationError as error:
        raise ConfigError(f"denoiser auto: {first_problem(error, AutoOptions)}") from None


def make_settings(values: dict[str, Any]) -> Settings:
    """Check settings; what is wrong comes back as one line."""
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise ConfigError(first_problem(error, Settings)) from None
    _check_name("model", settings.model, MODELS)
    _check_name("denoiser", settings.denoiser, [*DENOISERS, AUTO, CUSTOM])
    if settings.denoiser == AUTO:
        auto_options(settings.denoiser_options)
    _check_criterion(settings.select_by)
    known = [n for n, p in inspect.signature(MODELS[settings.model]).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for name in settings.model_options:
        if name not in known:
            raise ConfigError(f"the model {settings.model} has no option '{name}': {did_you_mean(name, known)}")
    _check_model(settings)
    _check_denoiser(settings)
    if settings.shard_tables:
        check_shardable(MODELS[settings.model], settings.model_options.get("factors"))
    return settings


def _check_model(settings: Settings) -> None:
    """Make the model once for one user and one item, which fails where an option is wrong."""
    options = dict(settings.model_options)
    factors = options.get("factors", 1)
    if isinstance(factors, bool) or not isinstance(factors, int) or factors < 1:
        raise ConfigError(f"factors is {factors!r}, but it is the size of the vectors: give a whole number from 1.")
    one = CSR(np.array([0, 1], np.int64), np.zeros(1, np.int32), 1)
    small = options | ({"factors": 1} if "factors" in options else {})  # whether they fit memory is seen with the data
    with _explaining(f"the model {settings.model}", options):
        MODELS[settings.model](one, torch.Generator(), **small)


def _check_denoiser(settings: Settings) -> None:
    """Make the strategy once, which fails where an option is wrong; those of `auto` are checked before."""
    if settings.denoiser in (AUTO, CUSTOM):
        return
    with _explaining(f"the strategy {settings.denoiser}", settings.denoiser_options):
        make_denoiser(
            settings.denoiser, settings.denoiser_options, steps_per_epoch=1, negatives=settings.negatives,
            popularity=torch.ones(1),
        )  # fmt: skip


@contextmanager
def _explaining(what: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Text in the place of a number, or a number in that of a text, in one line."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        given = ", ".join(f"{name} = {value!r}" for name, value in options.items())
        raise ConfigError(f"{what} cannot be made with {given}: {error}.") from None


def _check_name(kind: str, name: str, registry: Iterable[str]) -> None:
    if name not in registry:
        raise ConfigError(f"there is no {kind} '{name}': {did_you_mean(name, registry)}")


def parse_criterion(select_by: str) -> tuple[str, int, bool]:
    """Take "ndcg@20" or "clean-recall@50" apart: metric, list length, and whether only true positives count."""
    clean = select_by.startswith("clean-")
    metric, _, k = select_by.removeprefix("clean-").partition("@")
    if metric not in ("ndcg", "recall", "precision", "hit_rate", "mrr") or not re.fullmatch("[1-9][0-9]{0,8}", k):
        raise ConfigError(
            f"select_by is '{select_by}', but it says which of the models along the way is kept: give a metric on the "
            "validation set such as 'ndcg@20', 'clean-ndcg@20' (known false positives left out), or 'own-loss'."
        )
    return metric, int(k), clean


def _check_criterion(select_by: str) -> None:
    if select_by != "own-loss":
        parse_criterion(select_by)


def first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """What is wrong with the first of the settings that are, in one line."""
    problem = error.errors()[0]
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"there is no setting '{name}': {did_you_mean(name, setting_names(model))}"
    if problem["type"].startswith("missing"):
        return f"{name} is missing: give it."
    return f"{name} is {problem['input']!r}, but {problem['msg'][0].lower()}{problem['msg'][1:]}."


def setting_names(model: type[BaseModel]) -> list[str]:
    """The names of all settings, those of a table within as "table.name"."""
    names = []
    for name, field in model.model_fields.items():
        tables = [kind for kind in (field.annotation, *get_args(field.annotation)) if is_dataclass(kind)]
        names += [f"{name}.{inner.name}" for table in tables for inner in fields(table)] or [name]
    return names
