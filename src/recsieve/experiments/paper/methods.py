"""The ways to train that the paper compares: a strategy, its knobs, and what is done to the data beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from recsieve.data.splitting import Split
from recsieve.experiments.paper.data_sets import DataSet
from recsieve.experiments.paper.published import Preset

Knobs = dict[str, int | float | str]


def _as_it_is(split: Split) -> Split:
    return split


def _without_false_positives(split: Split) -> Split:
    """Clean training: known false positives are not trained on; validation keeps them, as in the paper."""
    return replace(split, train=split.train.take(~split.train.is_false_positive))


def _no_knobs(data: DataSet, preset: Preset, fidelity: str) -> Knobs:
    return {}


def _truncation(data: DataSet, preset: Preset, fidelity: str) -> Knobs:
    return {
        "max_drop_rate": preset.max_drop_rate,
        "ramp_steps": data.ramp(preset.ramp_steps),
        "fidelity": fidelity,
    }


@dataclass(frozen=True)
class Method:
    """A way to train; `settings` are those of a training beside model, denoiser and its knobs."""

    denoiser: str = "keep-all"
    knobs: Callable[[DataSet, Preset, str], Knobs] = _no_knobs
    prepare: Callable[[Split], Split] = _as_it_is
    settings: Callable[[str], dict[str, Any]] = lambda model: {"model": model}


METHODS: dict[str, Method] = {
    "CE": Method(),
    "T-CE": Method("truncated", _truncation),
    "R-CE": Method("reweighted", lambda data, preset, fidelity: {"beta": preset.beta}),
    "clean": Method(prepare=_without_false_positives),
}
