"""Objectives: scores in, one loss each out. A new one is a file here and a line below."""

from collections.abc import Mapping
from typing import Any

from recsieve.errors import ConfigError, did_you_mean
from recsieve.objectives.base import Losses, Objective, Pairwise, Pointwise
from recsieve.objectives.bce import BCE
from recsieve.objectives.bpr import BPR
from recsieve.objectives.bsl import BSL
from recsieve.objectives.hinge import Hinge
from recsieve.objectives.softmax import Softmax
from recsieve.objectives.square import Square
from recsieve.registry import Registry, options_of

OBJECTIVES: Registry[type] = Registry(
    "objective", {"bce": BCE, "square": Square, "hinge": Hinge, "bpr": BPR, "softmax": Softmax, "bsl": BSL}
)


def make_objective(name: str, options: Mapping[str, Any]) -> Objective:
    """Create an objective by its name."""
    kind = OBJECTIVES[name]
    known = options_of(kind)
    for option in options:
        if option not in known:
            raise ConfigError(f"the objective {name} has no option '{option}': {did_you_mean(option, known)}")
    made: Objective = kind(**options)
    return made


__all__ = ["BCE", "BPR", "BSL", "OBJECTIVES", "Hinge", "Losses", "Objective", "Pairwise", "Pointwise", "Softmax",
           "Square", "make_objective"]  # fmt: skip
