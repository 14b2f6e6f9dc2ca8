"""Strategies by name, with their knobs in the paper's terms or in a person's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from torch import Tensor

from recsieve.denoisers.base import Denoiser
from recsieve.denoisers.keep_all import KeepAll
from recsieve.denoisers.least_popular_drop import LeastPopularDrop
from recsieve.denoisers.negative_feedback import NegativeFeedback
from recsieve.denoisers.random_drop import RandomDrop
from recsieve.denoisers.reweighted import Reweighted
from recsieve.denoisers.truncated import Truncated
from recsieve.errors import ConfigError, did_you_mean

DENOISERS: dict[str, type] = {
    "keep-all": KeepAll,
    "truncated": Truncated,
    "reweighted": Reweighted,
    "random-drop": RandomDrop,
    "least-popular-drop": LeastPopularDrop,
    "negative-feedback": NegativeFeedback,
}

# Where a strategy is asked for by name alone: the paper's 30,000 steps are longer than most people's whole training,
# and dropping four tenths of the positives (its 0.2 of the batch) costs more than it gains on most data.
DEFAULT_RAMP_EPOCHS = 5
DEFAULT_DROP_POSITIVES = 0.1


def make_denoiser(
    name: str,
    options: Mapping[str, Any],
    *,
    steps_per_epoch: int,
    negatives: int,
    popularity: Tensor | None = None,
) -> Denoiser:
    """Make a strategy, translating a person's terms into the paper's.

    `ramp_epochs` stands for `ramp_steps`, and `drop_positives`, a share of the positives, for `max_drop_rate`, a share
    of the whole batch with its negatives. `popularity`, the interactions of each item, goes to strategies that have
    such a field.
    """
    if name not in DENOISERS:
        raise ConfigError(f"there is no denoiser '{name}': {did_you_mean(name, DENOISERS)}")
    strategy = DENOISERS[name]
    names = [field.name for field in fields(strategy)]
    knobs = [knob for knob in names if knob != "popularity"]
    options = dict(options)
    if "max_drop_rate" in knobs:
        if "max_drop_rate" not in options:
            options.setdefault("drop_positives", DEFAULT_DROP_POSITIVES)
        options = _translate(options, "drop_positives", "max_drop_rate", lambda share: share / (1 + negatives))
    if "ramp_steps" in knobs:
        if "ramp_steps" not in options:
            options.setdefault("ramp_epochs", DEFAULT_RAMP_EPOCHS)
        options = _translate(options, "ramp_epochs", "ramp_steps", lambda n: max(1, round(n * steps_per_epoch)))
    for knob in options:
        if knob not in knobs:
            raise ConfigError(f"the strategy {name} has no knob '{knob}': {did_you_mean(knob, knobs)}")
    if "popularity" in names:
        if popularity is None:
            raise ConfigError(
                f"the strategy {name} goes by how popular items are: give `popularity`, a count for each."
            )
        options["popularity"] = popularity
    made: Denoiser = strategy(**options)
    return made


def _translate(options: dict[str, Any], given: str, wanted: str, meaning: Any) -> dict[str, Any]:
    if given not in options:
        return options
    if wanted in options:
        raise ConfigError(f"both {given} and {wanted} are given, but they say the same: give one of them.")
    if not options[given] >= 0:
        raise ConfigError(f"{given} is {options[given]}: give 0 or more.")
    if given == "drop_positives" and options[given] > 1:
        raise ConfigError(
            f"drop_positives is {options[given]}, but it is a share of the positives: give a number from 0 (drop "
            "nothing) to 1, e.g. 0.1."
        )
    rest = {name: value for name, value in options.items() if name != given}
    return rest | {wanted: meaning(options[given])}
