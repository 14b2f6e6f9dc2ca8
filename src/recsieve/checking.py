"""Checks settings against the models, objectives and strategies they name, before anything is read or trained."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import torch

from recsieve.data.interactions import CSR
from recsieve.denoisers import DENOISERS, Context, denoiser_options, make_denoiser
from recsieve.errors import ConfigError, did_you_mean
from recsieve.models import MODELS, Learner, Model
from recsieve.objectives import OBJECTIVES, make_objective
from recsieve.registry import options_of
from recsieve.sampling.sampler import too_small_batch
from recsieve.settings import (
    AUTO,
    CUSTOM,
    TRIMMED,
    AutoOptions,
    Settings,
    auto_options,
    is_loss,
    parse_criterion,
    parse_duration,
    setting_names,
    trimmed_share,
    usual_denoiser,
    validated,
)
from recsieve.training.sharded import check_shardable
from recsieve.training.steps import FUSED, NOT_FUSED


def make_settings(values: Mapping[str, Any]) -> Settings:
    """Check settings; a problem is reported in one line."""
    settings = validated(Settings, values)
    parse_duration(settings.budget)
    make_objective(settings.objective, settings.objective_options)
    if settings.denoiser == AUTO:
        auto_options(settings.denoiser_options)
    elif settings.denoiser not in (*DENOISERS, CUSTOM):
        known = [*DENOISERS, AUTO]
        raise ConfigError(f"there is no strategy '{settings.denoiser}': {did_you_mean(settings.denoiser, known)}")
    if settings.select_by.startswith(TRIMMED):
        trimmed_share(settings.select_by)
    elif not is_loss(settings.select_by):
        parse_criterion(settings.select_by)
    if settings.chooses and settings.engine == "torchrec":
        raise ConfigError("engine is 'torchrec', which auto does not use: give a model, e.g. gmf, and a strategy.")
    if settings.model == AUTO:
        _check_auto(settings)
    elif settings.model != CUSTOM:
        _check_model(settings)
    _check_denoiser(settings)
    _check_fidelity(settings)
    return settings


def _check_auto(settings: Settings) -> None:
    """Refuse what is said of one model where several are tried."""
    if settings.denoiser != AUTO:
        raise ConfigError(
            f"the strategy is {settings.denoiser}, but no model is named: give one, e.g. ials, mf or gmf, or leave out "
            "the strategy."
        )
    if settings.model_options:
        raise ConfigError(f"{next(iter(settings.model_options))} is an option of a model: give a model as well.")
    for name in settings.candidates:
        MODELS[name]  # says what there is instead


def accepts(model: str, denoiser: str) -> bool:
    """Whether a strategy makes sense for a model, both by name."""
    kind = MODELS[model]
    return AUTO in (model, denoiser) or issubclass(kind, Model) or kind().accepts(DENOISERS[denoiser])


def assign_options(settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Assign options, as given on a command line, to the model, objective or strategy that has them; `settings` name
    all three.
    """
    model = settings.get("model", AUTO)
    usual = {"model": model, "objective": Settings().objective, "denoiser": usual_denoiser(model)}
    chosen = {f"{kind}_options": settings.get(kind, default) for kind, default in usual.items()}
    known = {
        "model_options": [] if chosen["model_options"] == AUTO else model_options(MODELS[chosen["model_options"]]),
        "objective_options": options_of(OBJECTIVES[chosen["objective_options"]]),
        "denoiser_options": _options_of_denoiser(chosen["denoiser_options"]),
    }
    assigned: dict[str, dict[str, Any]] = {owner: {} for owner in known}
    for name, value in options.items():
        owners = [owner for owner, names in known.items() if name in names]
        if len(owners) != 1:
            raise ConfigError(_not_one_owner(name, chosen, known, several=bool(owners)))
        assigned[owners[0]][name] = value
    return assigned


def _options_of_denoiser(name: str) -> list[str]:
    return setting_names(AutoOptions) if name == AUTO else denoiser_options(DENOISERS[name])


def _not_one_owner(name: str, chosen: Mapping[str, str], known: Mapping[str, list[str]], *, several: bool) -> str:
    model, objective, denoiser = chosen.values()
    if several:
        return (
            f"'{name}' is an option of more than one of {model}, {objective} and {denoiser}: train it in Python, where "
            "each has its own options."
        )
    hint = did_you_mean(name, [option for names in known.values() for option in names])
    return f"there is no option '{name}' of {model}, the objective {objective} or the strategy {denoiser}: {hint}"


def model_options(model: type) -> list[str]:
    """The options of a model, by name: its parameters other than the data."""
    parameters = inspect.signature(model).parameters.items()
    return [name for name, parameter in parameters if is_dataclass(model) or parameter.kind is parameter.KEYWORD_ONLY]


def _check_model(settings: Settings) -> None:
    """Make the model once, for one user and one item, which fails where an option is wrong."""
    model, options = MODELS[settings.model], dict(settings.model_options)
    known = model_options(model)
    for name in options:
        if name not in known:
            raise ConfigError(f"the model {settings.model} has no option '{name}': {did_you_mean(name, known)}")
    factors = options.get("factors", 1)
    if isinstance(factors, bool) or not isinstance(factors, int) or factors < 1:
        raise ConfigError(f"factors is {factors!r}, but it is the size of the embeddings: give 1 or more.")
    with _explaining(f"the model {settings.model}", options):
        if issubclass(model, Model):
            one = CSR(np.array([0, 1], np.int64), np.zeros(1, np.int32), 1)
            # Whether many factors fit into memory is seen with the data.
            model(one, torch.Generator(), **options | ({"factors": 1} if "factors" in options else {}))
            _check_steps(settings, model)
        else:
            _check_learner(settings, model(**options))
    if settings.engine == "torchrec":
        check_shardable(settings.model, model, settings.model_options.get("factors"))


def _check_steps(settings: Settings, model: type[Model]) -> None:
    """Refuse steps of gradient descent that cannot be made."""
    rows, objective = 1 + settings.negatives, make_objective(settings.objective, settings.objective_options)
    if settings.batch_size < rows:
        raise ConfigError(too_small_batch(settings.batch_size, rows))
    if objective.pairwise and not model.takes_pairs:
        raise ConfigError(f"{settings.model} learns from labels: give a pointwise objective such as bce.")
    if settings.engine == "fused" and (model not in FUSED or type(objective) not in FUSED[model].objectives):
        raise ConfigError(NOT_FUSED)


def _check_learner(settings: Settings, learner: Learner) -> None:
    """Refuse what a model that fits itself has no use for."""
    if settings.objective != Settings().objective:
        raise ConfigError(f"{settings.model} has its own objective: leave out objective='{settings.objective}'.")
    if settings.denoiser not in (AUTO, CUSTOM) and not learner.accepts(DENOISERS[settings.denoiser]):
        known = [name for name in DENOISERS if learner.accepts(DENOISERS[name])]
        raise ConfigError(
            f"the strategy {settings.denoiser} does not work with {settings.model}, which takes {', '.join(known)}: "
            "give one of these, or weights of interactions."
        )


def _check_denoiser(settings: Settings) -> None:
    """Make the strategy once, which fails where an option is wrong; those of `auto` are checked before."""
    if settings.denoiser in (AUTO, CUSTOM):
        return
    context = Context(1, 1, 1, torch.ones(1), 1, 1 + settings.negatives, fidelity=settings.fidelity)
    with _explaining(f"the strategy {settings.denoiser}", settings.denoiser_options):
        make_denoiser(settings.denoiser, settings.denoiser_options, context)


def _check_fidelity(settings: Settings) -> None:
    """Refuse the authors' batches where they cannot be: a positive and its negatives are not beside each other."""
    if settings.fidelity == "paper":
        return
    if settings.chooses:
        raise ConfigError("fidelity is 'authors', but auto is not part of their code: give a model and a strategy.")
    if make_objective(settings.objective, settings.objective_options).pairwise:
        raise ConfigError(
            f"fidelity is 'authors', which shuffles positives and negatives, but {settings.objective} needs them "
            "together: give a pointwise objective such as bce, or fidelity 'paper'."
        )


@contextmanager
def _explaining(what: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Text in the place of a number, or a number in that of a text, in one line."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        given = ", ".join(f"{name} = {value!r}" for name, value in options.items())
        raise ConfigError(f"{what} cannot be made with {given}: {error}.") from None
