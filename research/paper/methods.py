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


@dataclass(frozen=True)
class Method:
    """A way to train; `settings` are those of a training beside model, denoiser and its hyperparameters.

    Hyperparameters follow from the data, the settings behind the published cell, and the number of epochs.
    """

    denoiser: str = "keep-all"
    hyperparameters: Callable[[DataSet, Preset, int], Hyperparameters] = lambda data, preset, epochs: {}
    prepare: Callable[[Split], Split] = lambda split: split
    settings: Callable[[str], dict[str, Any]] = lambda model: {"model": model}


def _truncation(data: DataSet, preset: Preset, epochs: int) -> Hyperparameters:
    return {"max_drop_rate": preset.max_drop_rate, "ramp_steps": data.ramp(preset.ramp_steps, epochs)}


def _without_false_positives(split: Split) -> Split:
    """Clean training: known false positives are not trained on; validation keeps them, as in the paper."""
    return replace(split, train=split.train.take(~split.train.is_false_positive))


def _multi_task(model: str) -> dict[str, Any]:
    if model != "gmf":
        raise ConfigError(f"NMTR is built over GMF here, but the model is {model}: give gmf.")
    return {"model": "nmtr"}


METHODS: dict[str, Method] = {
    "CE": Method(),
    "T-CE": Method("truncated", _truncation),
    "R-CE": Method("reweighted", lambda data, preset, epochs: {"beta": preset.beta}),
    "clean": Method(prepare=_without_false_positives),
    "NMTR": Method(settings=_multi_task),
    "NR": Method("negative-feedback", lambda data, preset, epochs: {"false_positive_weight": 1.0}),
}
