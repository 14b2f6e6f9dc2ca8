"""The trainings among which is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recsieve.data.interactions import Interactions


@dataclass(frozen=True)
class Recipe:
    """A strategy with its knobs, and whether interactions count by 1 − P."""

    name: str
    denoiser: str
    options: Mapping[str, float] = field(default_factory=dict)
    weighted: bool = False


PLAIN = Recipe("CE", "keep-all")
RECIPES = (
    PLAIN,
    Recipe("T-CE 10 %", "truncated", {"drop_positives": 0.1, "ramp_epochs": 5}),
    Recipe("T-CE 20 %", "truncated", {"drop_positives": 0.2, "ramp_epochs": 5}),
    Recipe("R-CE", "reweighted", {"beta": 0.25}),
)
WEIGHTED = Recipe("CE, weights 1−P", "keep-all", weighted=True)


def weighed(train: Interactions, noise: NDArray[np.floating]) -> Interactions:
    """The interactions with weights 1 − P, times those that they were given."""
    trust = (1 - noise).astype(np.float32)
    return replace(train, weight=trust if train.weight is None else train.weight * trust)
