"""What `tune` searches: the search spaces of the model and the strategy, and what a choice means in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.trial import Trial

from recsieve.denoisers import DENOISERS, Range, SearchSpace
from recsieve.experiments.wording import shown
from recsieve.models import MODELS, fits_itself

# Everybody's hyperparameter, so that a strategy cannot win by a learning rate that suits it better than the others.
LEARNING_RATE = Range(3e-4, 1e-2)
OF_MODEL = "model "  # before the name of a model's option: a strategy may have one that is called alike


def search_space(model: str, denoiser: str, given: Mapping[str, Any], epochs: int) -> SearchSpace:
    """What to search for a model with a strategy, by the name of the hyperparameter.

    Given options of the model are not searched, and neither is a ramp that would never end.
    """
    models: SearchSpace = getattr(MODELS[model], "search_space", {})
    strategies: SearchSpace = getattr(DENOISERS[denoiser], "search_space", {})
    space = of_model({name: choice for name, choice in models.items() if name not in given}) | dict(strategies)
    ramp = space.get("ramp_epochs")
    if isinstance(ramp, Range):
        space["ramp_epochs"] = Range(min(ramp.low, epochs), min(ramp.high, epochs))
    return space if fits_itself(model) else space | {"learning_rate": LEARNING_RATE}


def suggest(space: SearchSpace, trial: Trial) -> dict[str, Any]:
    """The searched settings of a trial."""
    found = {name: _value(name, choice, trial) for name, choice in space.items()}
    rate = {name: found.pop(name) for name in ("learning_rate",) if name in found}
    model = {name.removeprefix(OF_MODEL): found.pop(name) for name in list(found) if name.startswith(OF_MODEL)}
    return {"model_options": model, "denoiser_options": found, **rate}


def flat(found: Mapping[str, Any]) -> dict[str, Any]:
    """What was suggested, by the names of the search space."""
    rate = {name: found[name] for name in ("learning_rate",) if name in found}
    return {**found["denoiser_options"], **of_model(found["model_options"]), **rate}


def of_model(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a model, with a prefix in their names."""
    return {f"{OF_MODEL}{name}": value for name, value in options.items()}


def _value(name: str, choice: Range | tuple[str, ...], trial: Trial) -> int | float | str:
    if not isinstance(choice, Range):
        return str(trial.suggest_categorical(name, choice))
    if choice.whole:
        return trial.suggest_int(name, int(choice.low), int(choice.high), log=True)
    # Three digits: more would only look exact.
    return float(f"{trial.suggest_float(name, choice.low, choice.high, log=True):.3g}")


def in_words(denoiser: str, options: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """What a choice of options does; `others` are those of the model, and the learning rate."""
    beside = (f"{name.replace('_', ' ')} {shown(value)}" for name, value in others.items())
    return "; ".join([_of_strategy(denoiser, options), *beside])


def _of_strategy(denoiser: str, options: Mapping[str, Any]) -> str:
    if denoiser == "keep-all":
        return "plain training"
    if not options:
        return f"{denoiser} with its default options"
    if options.keys() == {"drop_positives", "ramp_epochs"}:
        what = {"random-drop": " at random", "least-popular-drop": ", the least popular items first"}.get(denoiser, "")
        share, epochs = 100 * options["drop_positives"], options["ramp_epochs"]
        return f"dropping up to {share:.3g} % of the positives{what}, reached after {_epochs(epochs)}"
    if denoiser == "reweighted":
        beta = options["beta"]
        return (
            f"weights to the power {beta:g}: an interaction with a predicted probability of 10 % counts "
            f"{100 * 0.1**beta:.0f} % of one with 100 %"
        )
    if "false_positive_weight" in options:
        share = 100 * options["false_positive_weight"]
        return f"regretted interactions as negatives with a weight of {share:.3g} % of a satisfying one"
    return ", ".join([denoiser, *(f"{name} {shown(value)}" for name, value in options.items())])


def _epochs(number: float) -> str:
    return "1 epoch" if number == 1 else f"{number:.2g} epochs"
