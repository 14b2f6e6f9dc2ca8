"""The knobs of each strategy: where to search, and what a choice means in a person's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.trial import Trial

from recsieve.errors import ConfigError, did_you_mean


@dataclass(frozen=True)
class Knob:
    """A range to search, by factors: from 0.01 to 0.02 is as far as from 0.1 to 0.2."""

    low: float
    high: float

    def suggest(self, name: str, trial: Trial) -> float:
        """A value of three digits: more would only look exact."""
        return float(f"{trial.suggest_float(name, self.low, self.high, log=True):.3g}")


DROP = {"drop_positives": Knob(0.01, 0.5), "ramp_epochs": Knob(0.5, 30)}
KNOBS: dict[str, dict[str, Knob]] = {
    "keep-all": {},
    "truncated": DROP,
    "reweighted": {"beta": Knob(0.02, 1.0)},
    "random-drop": DROP,
    "least-popular-drop": DROP,
    "negative-feedback": {"false_positive_weight": Knob(0.02, 1.0)},
}
# Everybody's knob, so that a strategy cannot win by a learning rate that suits it better than the others.
LEARNING_RATE = Knob(3e-4, 1e-2)


def suggest(denoiser: str, trial: Trial, epochs: int) -> dict[str, Any]:
    """The settings of a trial of at most so many epochs; a ramp longer than that would never end."""
    knobs = KNOBS[denoiser]
    if "ramp_epochs" in knobs:
        ramp = knobs["ramp_epochs"]
        knobs = knobs | {"ramp_epochs": Knob(min(ramp.low, epochs), min(ramp.high, epochs))}
    options = {name: knob.suggest(name, trial) for name, knob in knobs.items()}
    return {"denoiser_options": options, "learning_rate": LEARNING_RATE.suggest("learning_rate", trial)}


def check_strategies(names: list[str]) -> None:
    for name in names:
        if name not in KNOBS:
            raise ConfigError(f"there is nothing to tune for '{name}': {did_you_mean(name, KNOBS)}")


def in_words(denoiser: str, options: Mapping[str, float], learning_rate: float) -> str:
    """What a choice of knobs does."""
    rate = f"learning rate {learning_rate:g}"
    if "drop_positives" in options:
        what = {"random-drop": " at random", "least-popular-drop": ", the least popular items first"}.get(denoiser, "")
        share, epochs = 100 * options["drop_positives"], options["ramp_epochs"]
        return f"dropping up to {share:.3g} % of the positives{what}, reached after {_epochs(epochs)}; {rate}"
    if "beta" in options:
        beta = options["beta"]
        return (
            f"weights to the power {beta:g}: an interaction that the model gives a probability of 10 % counts "
            f"{100 * 0.1**beta:.0f} % of a certain one; {rate}"
        )
    if "false_positive_weight" in options:
        share = 100 * options["false_positive_weight"]
        return f"a regretted interaction learned as a negative that counts {share:.3g} % of a satisfying one; {rate}"
    return f"plain training; {rate}"


def _epochs(number: float) -> str:
    return "1 epoch" if number == 1 else f"{number:.2g} epochs"
