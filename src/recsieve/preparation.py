"""From settings to objects: a learner, its run, and the selection criterion."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from recsieve.data.splitting import Split
from recsieve.denoisers import DENOISERS, Denoiser, InteractionMemory, make_denoiser
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.evaluation import evaluate
from recsieve.evaluation.groups import some_users
from recsieve.models import MODELS, Fitting, Learner, Model, Run
from recsieve.objectives import make_objective
from recsieve.settings import AUTO, CUSTOM, TRIMMED, VALIDATION_LOSS, Settings, parse_criterion, trimmed_share
from recsieve.training.gradient import require_noise_labels
from recsieve.training.learner import GradientLearner, require_memory

log = logging.getLogger(__name__)


def check_possible(settings: Settings, split: Split) -> None:
    """Raise an error if the data lacks what these settings need, before anything is written or trained."""
    train, validation, group = split.train, split.validation, split.train.group
    if train.all_reduce_length() == 0:
        raise DataError("there are no interactions to train on: give at least one.")
    if settings.chooses:
        if group.size > 1:
            raise ConfigError("auto chooses on all interactions, and a rank has a share: name a model, or `train` it.")
        if len(validation) == 0:
            raise ConfigError("auto chooses on validation data, but there is none: give some, or name a model.")
    told: list[type] = [] if settings.model in (AUTO, CUSTOM) else [MODELS[settings.model]]
    if settings.denoiser not in (AUTO, CUSTOM):
        told.append(DENOISERS[settings.denoiser])
    if any(getattr(kind, name, False) for kind in told for name in ("uses_noise_labels", "uses_clean_labels")):
        require_noise_labels(train)
    model = None if settings.model in (AUTO, CUSTOM) else MODELS[settings.model]
    if model is not None and issubclass(model, Model):
        require_memory(settings.model, model, settings.model_options, settings.engine, train)
    if settings.select_by.startswith("clean-") and validation.all_reduce_length():
        if not group.any(validation.has_flags):
            raise ConfigError(f"select_by is '{settings.select_by}', but no interactions are known to be noise.")
        if not group.any(bool((~validation.is_false_positive).any())):
            raise ConfigError(
                f"select_by is '{settings.select_by}', but all of the validation data is noise: give e.g. 'ndcg@20'."
            )


def describe_model(model: Learner | type[Model], options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The name and options of a model given as a learner or a class; anything unregistered is custom."""
    kind = model if isinstance(model, type) else type(model)
    name = next((name for name, known in MODELS.items() if known is kind), CUSTOM)
    if isinstance(model, type) or name == CUSTOM or not is_dataclass(model):
        return {"model": name}
    if options:
        raise ConfigError(
            f"model_options are given, but the model object has its own options: give them to {kind.__name__}(…)."
        )
    values = {field.name: getattr(model, field.name) for field in fields(model)}
    return {"model": name, "model_options": {name: value for name, value in values.items() if value is not None}}


def describe_denoiser(denoiser: Denoiser) -> dict[str, Any]:
    """The name and options of a strategy given as an object; anything unregistered is custom."""
    for name, strategy in DENOISERS.items():
        if type(denoiser) is strategy and is_dataclass(denoiser):
            options = {field.name: getattr(denoiser, field.name) for field in fields(denoiser) if field.repr}
            return {"denoiser": name, "denoiser_options": options}
    return {"denoiser": CUSTOM}


def make_learner(settings: Settings, given: Learner | type[Model] | None = None) -> Learner:
    """The learner of the given or named model: the model itself, or gradient descent."""
    if settings.model == CUSTOM and given is None:
        raise RunError(
            "the model of this run was an object without a registered name, so it cannot be loaded: train again."
        )
    model = MODELS[settings.model] if given is None else given
    if not isinstance(model, type):
        return model
    if not issubclass(model, Model):
        return model(**settings.model_options)
    return GradientLearner(
        model,
        settings.model_options,
        settings,
        make_objective(settings.objective, settings.objective_options),
    )


def make_run(
    settings: Settings, split: Split, denoiser: Denoiser | None = None, memory: InteractionMemory | None = None
) -> Run:
    """The settings of a fit; `denoiser` replaces the one that the settings name."""
    make = partial(make_denoiser, settings.denoiser, settings.denoiser_options)
    return Run(settings.seed, make if denoiser is None else lambda context: denoiser, split.train.group, memory)


def unless_solved(score: Callable[[Fitting], float]) -> Callable[[Fitting], float]:
    """A criterion that is skipped for fittings of one step, where there is nothing to select."""
    return lambda fitting: 0.0 if fitting.total == 1 else score(fitting)


def criterion(settings: Settings, split: Split) -> Callable[[Fitting], float]:
    """The criterion that selects weights: a fitting in, a score out."""
    validation, group = split.validation, split.train.group
    if validation.all_reduce_length() == 0:
        log.warning("there is no validation data, so the last weights are kept instead of the best.")
        return lambda fitting: float(fitting.step)
    if settings.select_by == VALIDATION_LOSS:
        return lambda fitting: -fitting.validation_loss(validation)
    if settings.select_by.startswith(TRIMMED):
        share = trimmed_share(settings.select_by)
        return lambda fitting: -fitting.trimmed_loss(validation, share)
    metric, k, clean = parse_criterion(settings.select_by)
    if clean:
        validation = validation.take(~validation.is_false_positive)
    relevant, seen = some_users(validation, settings.validation_users).csr, split.train.csr
    return lambda fitting: evaluate(fitting.scorer(), relevant, seen, [k], group=group).overall[f"{metric}@{k}"]
