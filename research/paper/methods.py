"""The ways to train that the paper compares: a strategy, its hyperparameters, and what is done to the data first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from recsieve.data.splitting import Split
from recsieve.errors import ConfigError
from research.paper.data_sets import DataSet
from research.paper.published import Preset

Hyperparameters = dict[str, int | float | str]


def _as_it_is(split: Split) -> Split:
    return split


def _without_false_positives(split: Split) -> Split:
    """Clean training: known false positives are not trained on; validation keeps them, as in the paper."""
    return replace(split, train=split.train.take(~split.train.is_false_positive))


@dataclass(frozen=True)
class Setting:
    """What the hyperparameters of a method follow from."""

    data: DataSet
    preset: Preset
    epochs: int


def _no_hyperparameters(setting: Setting) -> Hyperparameters:
    return {}


def _truncation(setting: Setting) -> Hyperparameters:
    return {
        "max_drop_rate": setting.preset.max_drop_rate,
        "ramp_steps": setting.data.ramp(setting.preset.ramp_steps, setting.epochs),
    }


def _reweighting(setting: Setting) -> Hyperparameters:
    return {"beta": setting.preset.beta}


def _relabelling(setting: Setting) -> Hyperparameters:
    return {"false_positive_weight": 1.0}


def _multi_task(model: str) -> dict[str, Any]:
    if model != "gmf":
        raise ConfigError(f"NMTR is built over GMF here, but the model is {model}: give gmf.")
    return {"model": "nmtr"}


@dataclass(frozen=True)
class Method:
    """A way to train; `settings` are those of a training beside model, denoiser and its hyperparameters."""

    denoiser: str = "keep-all"
    hyperparameters: Callable[[Setting], Hyperparameters] = _no_hyperparameters
    prepare: Callable[[Split], Split] = _as_it_is
    settings: Callable[[str], dict[str, Any]] = lambda model: {"model": model}


METHODS: dict[str, Method] = {
    "CE": Method(),
    "T-CE": Method("truncated", _truncation),
    "R-CE": Method("reweighted", _reweighting),
    "clean": Method(prepare=_without_false_positives),
    "NMTR": Method(settings=_multi_task),
    "NR": Method("negative-feedback", _relabelling),
}
