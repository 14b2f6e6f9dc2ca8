"""The plan of a search: which models are fitted, in which order. It is saved before the first fit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recsieve.auto.candidates import Spec
from recsieve.data.interactions import Interactions
from recsieve.files import write_text
from recsieve.models import MODELS, ItemKNN, fits_itself, fits_memory
from recsieve.storage.damage import reading

# Those that win most often for their time first; what is trained by gradients comes when there is time left.
ORDER = ("ease", "ials", "rp3beta", "itemknn", "popularity", "mf", "lightgcn", "gmf", "cdae", "neumf")
SEARCH_SHARE = 0.6  # of the budget; the rest is for offsets, blends and refits


@dataclass(frozen=True)
class Planned:
    """A model to fit, and about how long it takes."""

    spec: Spec
    seconds: float


@dataclass(frozen=True)
class Plan:
    """Everything that a search will do, in order; time only decides how far it gets."""

    budget: float  # seconds
    trials: int | None
    fits: tuple[Planned, ...]

    def write(self, path: Path) -> None:
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan of a search that was started."""
        with reading(path, advice="start again in another folder"):
            values = json.loads(path.read_text(encoding="utf-8"))
            fits = tuple(Planned(Spec(**one["spec"]), float(one["seconds"])) for one in values["fits"])
            return cls(float(values["budget"]), values["trials"], fits)


def make_plan(
    train: Interactions, budget: float, trials: int | None, models: Sequence[str], training: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
) -> Plan:  # fmt: skip
    """The models to fit, the most promising first, as many as the budget allows, but at least one.

    `training` and `options` are the given settings of gradient descent, and of a model that was named.
    """
    rounds: list[list[Spec]] = []  # of all models the defaults first, then the next
    for name in models or _usual_models(train):
        for number, spec in enumerate(specs_of(name, train, training, options or {})):
            if number == len(rounds):
                rounds.append([])
            rounds[number].append(spec)
    fits = list({spec.slug: spec for one in rounds for spec in one}.values())
    if not models:  # what is trained by gradients takes longest and wins least often
        fits.sort(key=lambda spec: not fits_itself(spec.model))
    priced = [Planned(spec, float(f"{cost(spec, train):.3g}")) for spec in fits]
    if trials is not None:
        return Plan(budget, trials, tuple(priced[:trials]))
    planned: list[Planned] = []
    for one in priced:
        if sum(before.seconds for before in planned) + one.seconds <= SEARCH_SHARE * budget:
            planned.append(one)
    return Plan(budget, trials, tuple(planned or [min(priced, key=lambda one: one.seconds)]))


def specs_of(name: str, train: Interactions, training: Mapping[str, Any], given: Mapping[str, Any]) -> list[Spec]:
    """The few settings to try for a model, the defaults first; given options are in all of them."""
    model = MODELS[name]
    options = model.grid(train) if hasattr(model, "grid") else [{}]
    usual = {} if fits_itself(name) else {**getattr(model, "suits", {}), **training}
    return [Spec(name, {**one, **given}, training=usual) for one in options]


def _usual_models(train: Interactions) -> list[str]:
    """All that need no labels and fit into memory, the most promising first."""
    known = [name for name in dict.fromkeys([*ORDER, *MODELS]) if name in MODELS]
    kept = [name for name in known if not getattr(MODELS[name], "uses_noise_labels", False)]
    return [name for name in kept if fits_memory(name, train.n_items)]


def cost(spec: Spec, train: Interactions) -> float:
    """About how many seconds a model takes to fit and score; if it does not say, as long as item neighbours."""
    estimate = getattr(MODELS[spec.model], "seconds", ItemKNN.seconds)
    return float(estimate(train, spec.training))
