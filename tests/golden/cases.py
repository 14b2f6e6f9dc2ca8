"""What is pinned, as plain data: models, strategies and engines by name, and what is special about a run.

A case in which a batch border may fall between an interaction and its negatives says so in its name ("split groups").
Only such a trace may change one day, when a group is never split any more; all others are the same for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

MODELS = ("gmf", "neumf", "cdae", "nmtr")
ENGINES = ("fused", "lazy", "dense", "exact")  # NMTR has no fused step
RAMP = {"max_drop_rate": 0.15, "ramp_steps": 9}  # grows all through the first epoch
STRATEGIES: dict[str, dict[str, Any]] = {
    "keep-all": {},
    "truncated": RAMP,
    "reweighted": {"beta": 0.3},
    "random-drop": RAMP,
    "least-popular-drop": RAMP,
    "negative-feedback": {"false_positive_weight": 0.2, "negative_weight": 0.9},
}


@dataclass(frozen=True)
class Case:
    """A run, and what is special about it; the data is that of `run.make_log`."""

    model: str
    strategy: str
    engine: str
    special: str = ""
    strategy_options: dict[str, Any] = field(default_factory=dict)  # empty: those of STRATEGIES
    model_options: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)  # beside those of `run.SETTINGS`
    full_users: bool = True  # two people have every item: their interactions have no negatives
    weights: bool = False  # given with the data
    validation: bool = False  # a tenth is held out; without, the last weights are kept
    threads: int = 1  # of torch
    resumed: bool = False  # stopped in the middle of an epoch too, and gone on with: the same trace

    @property
    def name(self) -> str:
        return " ".join(filter(None, [self.model, self.strategy, self.engine, self.special]))


def engines_of(model: str) -> tuple[str, ...]:
    return ENGINES[1:] if model == "nmtr" else ENGINES


def _everywhere(special: str, strategy: str = "truncated", **options: Any) -> list[Case]:
    """A special run with every model and engine."""
    return [Case(model, strategy, engine, special, **options) for model in MODELS for engine in engines_of(model)]


CASES = [
    *(
        Case(model, strategy, engine, resumed=strategy == "truncated")
        for model, strategy in product(MODELS, STRATEGIES)
        for engine in engines_of(model)
    ),
    *_everywhere("nobody has everything, one negative", full_users=False, settings={"negatives": 1}),
    *_everywhere("three negatives, given weights", weights=True, settings={"negatives": 3}),
    *_everywhere("odd batches", settings={"batch_size": 93}),
    *_everywhere("split groups: odd batches, given weights", weights=True, settings={"batch_size": 95}),
    *_everywhere("own-loss", validation=True, settings={"select_by": "own-loss", "validate_every": 5}, resumed=True),
    *_everywhere("ndcg, stops early", "keep-all", validation=True,
                 settings={"select_by": "ndcg@5", "validate_every": 2, "patience": 2}),
    *(Case(model, "truncated", "fused", "two threads", threads=2) for model in MODELS if model != "nmtr"),
    *(
        Case("gmf", strategy, engine, "as the authors count", {**RAMP, "fidelity": "authors"})
        for strategy, engine in product(("truncated", "random-drop"), ENGINES)
    ),
    *(
        Case(model, strategy, engine, "the authors' run", settings={"fidelity": "authors"}, resumed=engine == "fused")
        for model, strategy, engine in product(MODELS[:3], ("keep-all", "truncated", "reweighted"), ENGINES)
    ),
    *(
        Case("gmf", "truncated", engine, "a person's terms", {"drop_positives": 0.3, "ramp_epochs": 1.5})
        for engine in ENGINES
    ),
    *(
        Case("cdae", "keep-all", engine, activation, model_options={"activation": activation, "corruption": 0.2})
        for activation, engine in product(("tanh", "relu", "identity"), ENGINES)
    ),
]  # fmt: skip
# Two ranks make the steps of the exact engine: their losses and weights are those of one process.
ON_TWO_RANKS = [
    case
    for case in CASES
    if case.engine == "exact" and (case.special in ("", "own-loss") or case.special.startswith("split groups"))
]
