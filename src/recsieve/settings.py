"""Every setting of a training, checked, as it stands in a run's config.toml: the one place of defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recsieve.data.interactions import CSR
from recsieve.denoisers import DENOISERS, Context, make_denoiser
from recsieve.errors import ConfigError, did_you_mean
from recsieve.models import MODELS, Learner, Model
from recsieve.objectives import make_objective
from recsieve.training import TrainingPlan
from recsieve.training.sharded import check_shardable
from recsieve.training.steps import Engine

CUSTOM = "custom"  # a strategy of the user's own, given as an object: it has no name to be made from
AUTO = "auto"  # no strategy, but a choice among them and ranking offsets on validation

Positive = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """What to train and how; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: str = "gmf"
    model_options: dict[str, int | float | str] = {}
    objective: str = "bce"
    objective_options: dict[str, int | float | str] = {}
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
    engine: Engine = "auto"  # how steps are made: the same numbers to rounding, and to the bit where it is named

    def plan(self) -> TrainingPlan:
        """The part that the training loop is told."""
        known = inspect.signature(TrainingPlan).parameters
        return TrainingPlan(**{name: value for name, value in self if name in known})


class AutoOptions(BaseModel):
    """The options of `auto`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The share of the known labels of noise that it may look at, drawn at random: less than all is for experiments.
    labels: Annotated[float, Field(ge=0, le=1)] = 1.0
    # "popularity" is the control: the same probabilities of noise, handed out by how unpopular items are.
    evidence: Literal["labels", "popularity"] = "labels"


def auto_options(options: Mapping[str, Any]) -> AutoOptions:
    """Check the options of `auto`; what is wrong comes back as one line."""
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
    model = MODELS[settings.model]
    make_objective(settings.objective, settings.objective_options)
    if settings.denoiser == AUTO:
        auto_options(settings.denoiser_options)
    elif settings.denoiser not in (*DENOISERS, CUSTOM):
        known = [*DENOISERS, AUTO]
        raise ConfigError(f"there is no denoiser '{settings.denoiser}': {did_you_mean(settings.denoiser, known)}")
    _check_criterion(settings.select_by)
    known = model_options(model)
    for name in settings.model_options:
        if name not in known:
            raise ConfigError(f"the model {settings.model} has no option '{name}': {did_you_mean(name, known)}")
    _check_model(settings)
    _check_denoiser(settings)
    if settings.shard_tables:
        if not issubclass(model, Model):
            raise ConfigError(f"{settings.model} has no tables to shard: give gmf, neumf or nmtr.")
        check_shardable(settings.model, model, settings.model_options.get("factors"))
    return settings


def model_options(model: type) -> list[str]:
    """The options of a model, by name: what it is made with, beside the data."""
    parameters = inspect.signature(model).parameters.items()
    return [name for name, parameter in parameters if is_dataclass(model) or parameter.kind is parameter.KEYWORD_ONLY]


def _check_model(settings: Settings) -> None:
    """Make the model once, for one user and one item, which fails where an option is wrong."""
    model, options = MODELS[settings.model], dict(settings.model_options)
    factors = options.get("factors", 1)
    if isinstance(factors, bool) or not isinstance(factors, int) or factors < 1:
        raise ConfigError(f"factors is {factors!r}, but it is the size of the vectors: give a whole number from 1.")
    with _explaining(f"the model {settings.model}", options):
        if issubclass(model, Model):
            one = CSR(np.array([0, 1], np.int64), np.zeros(1, np.int32), 1)
            # Whether many factors fit into memory is seen with the data.
            model(one, torch.Generator(), **options | ({"factors": 1} if "factors" in options else {}))
        else:
            _check_learner(settings, model(**options))


def _check_learner(settings: Settings, learner: Learner) -> None:
    """Refuse what a model that fits itself has no use for."""
    if settings.objective != Settings().objective:
        raise ConfigError(f"{settings.model} has an objective of its own: leave objective='{settings.objective}' out.")
    if settings.denoiser not in (AUTO, CUSTOM) and not learner.accepts(DENOISERS[settings.denoiser]):
        known = [name for name in DENOISERS if learner.accepts(DENOISERS[name])]
        raise ConfigError(
            f"the strategy {settings.denoiser} makes no sense for {settings.model}, which takes {', '.join(known)}: "
            "give one of these, or weights of interactions."
        )


def _check_denoiser(settings: Settings) -> None:
    """Make the strategy once, which fails where an option is wrong; those of `auto` are checked before."""
    if settings.denoiser in (AUTO, CUSTOM):
        return
    context = Context(1, 1, 1, torch.ones(1), steps_per_epoch=1, losses_per_positive=1 + settings.negatives)
    with _explaining(f"the strategy {settings.denoiser}", settings.denoiser_options):
        make_denoiser(settings.denoiser, settings.denoiser_options, context)


@contextmanager
def _explaining(what: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Text in the place of a number, or a number in that of a text, in one line."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        given = ", ".join(f"{name} = {value!r}" for name, value in options.items())
        raise ConfigError(f"{what} cannot be made with {given}: {error}.") from None


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
