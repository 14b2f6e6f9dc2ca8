"""The trainings among which is chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

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


def checkpoint_of(recipe: Recipe, train: Interactions, plain: Path) -> Path:
    """A file of its own beside that of plain CE; a training with other weights is another training."""
    if recipe == PLAIN:
        return plain
    weights = train.weight if recipe.weighted else None
    mark = "" if weights is None else sha256(weights.tobytes()).hexdigest()[:8]
    return plain.with_name(re.sub(r"[^A-Za-z0-9]+", "-", f"{recipe.name} {mark}").strip("-") + plain.suffix)
