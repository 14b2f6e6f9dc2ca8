"""Strategies by name, with options as in the paper or in terms of positives and epochs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recsieve.denoisers.base import Context, Denoiser
from recsieve.denoisers.dcf import DCF
from recsieve.denoisers.eard import EARD
from recsieve.denoisers.keep_all import KeepAll
from recsieve.denoisers.known_positives import FineTuning, WarmUp
from recsieve.denoisers.least_popular_drop import LeastPopularDrop
from recsieve.denoisers.negative_feedback import NegativeFeedback
from recsieve.denoisers.pld import PLD
from recsieve.denoisers.random_drop import RandomDrop
from recsieve.denoisers.reweighted import Reweighted
from recsieve.denoisers.reweighted_by_owner import ReweightedByOwner
from recsieve.denoisers.truncated import Truncated
from recsieve.denoisers.truncated_by_owner import TruncatedByOwner
from recsieve.denoisers.udt import UDT
from recsieve.errors import ConfigError, did_you_mean
from recsieve.registry import Registry, options_of

DENOISERS: Registry[type] = Registry(
    "denoiser",
    {
        "keep-all": KeepAll,
        "truncated": Truncated,
        "reweighted": Reweighted,
        "random-drop": RandomDrop,
        "least-popular-drop": LeastPopularDrop,
        "negative-feedback": NegativeFeedback,
        "eard": EARD,
        "udt": UDT,
        "pld": PLD,
        "dcf": DCF,
        "truncated-by-owner": TruncatedByOwner,
        "reweighted-by-owner": ReweightedByOwner,
        "fine-tuning": FineTuning,
        "warm-up": WarmUp,
    },
)

# Where a strategy is asked for by name alone: the paper's 30,000 steps are longer than most people's whole training,
# and dropping four tenths of the positives (its 0.2 of the batch) costs more than it gains on most data.
DEFAULT_RAMP_EPOCHS = 5
DEFAULT_DROP_POSITIVES = 0.1


# What a person may say in the place of the paper's terms.
TRANSLATED = {"max_drop_rate": "drop_positives", "ramp_steps": "ramp_epochs"}


def denoiser_options(strategy: type) -> list[str]:
    """The options of a strategy, by name, in both forms."""
    names = options_of(strategy)
    return names + [TRANSLATED[name] for name in names if name in TRANSLATED]


def make_denoiser(name: str, options: Mapping[str, Any], context: Context) -> Denoiser:
    """Create a strategy, with its options translated into those of the paper.

    `ramp_epochs` is translated into `ramp_steps`, and `drop_positives`, a share of the positives, into `max_drop_rate`,
    a share of the whole batch including negatives.
    """
    strategy = DENOISERS[name]
    known = denoiser_options(strategy)
    options = dict(options)
    for option in options:
        if option not in known:
            raise ConfigError(f"the strategy {name} has no option '{option}': {did_you_mean(option, known)}")
    if "max_drop_rate" in known:
        if "max_drop_rate" not in options:
            options.setdefault("drop_positives", DEFAULT_DROP_POSITIVES)
        options = _translate(
            options, "drop_positives", "max_drop_rate", lambda share: share / context.losses_per_positive
        )
    if "ramp_steps" in known:
        if "ramp_steps" not in options:
            options.setdefault("ramp_epochs", DEFAULT_RAMP_EPOCHS)
        options = _translate(options, "ramp_epochs", "ramp_steps", lambda n: max(1, round(n * context.steps_per_epoch)))
    if "fidelity" in known:
        options.setdefault("fidelity", context.fidelity)
    if "context" in inspect.signature(strategy).parameters:
        told = context.clean is None or getattr(strategy, "uses_clean_labels", False)
        options["context"] = context if told else replace(context, clean=None)
    made: Denoiser = strategy(**options)
    return made


def _translate(options: dict[str, Any], given: str, wanted: str, meaning: Any) -> dict[str, Any]:
    if given not in options:
        return options
    if wanted in options:
        raise ConfigError(f"both {given} and {wanted} are given, but they mean the same: give one of them.")
    if not options[given] >= 0:
        raise ConfigError(f"{given} is {options[given]}: give 0 or more.")
    if given == "drop_positives" and options[given] > 1:
        raise ConfigError(
            f"drop_positives is {options[given]}, but it is a share of the positives: give a number from 0 (drop "
            "nothing) to 1, e.g. 0.1."
        )
    rest = {name: value for name, value in options.items() if name != given}
    return rest | {wanted: meaning(options[given])}
