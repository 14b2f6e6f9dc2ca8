"""The data on which the chosen models are fitted: the training part, then with validation, then the whole log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recsieve.auto.noise import NoiseEstimate
from recsieve.data.interactions import Interactions, concatenated
from recsieve.data.splitting import Split

Stage = Literal["train", "validated", "all"]
PARTS: dict[Stage, tuple[str, ...]] = {
    "train": ("train",),
    "validated": ("train", "validation"),
    "all": ("train", "validation", "test", "test_false_positives"),
}

Trust = Mapping[str, NDArray[np.float32]]  # 1 − P of the interactions of each part of a split


def trust_of(split: Split, noise: NoiseEstimate) -> dict[str, NDArray[np.float32]]:
    """1 − P of every interaction: from the audit for the training part, and from the same model elsewhere."""
    trust = {"train": (1 - noise.observed).astype(np.float32)}
    for name in PARTS["all"][1:]:
        part = getattr(split, name)
        trust[name] = (1 - noise.pairs.probability(part.users, part.items)).astype(np.float32)
    return trust


def stage_data(split: Split, stage: Stage, trust: Trust | None = None) -> Interactions:
    """The interactions of a stage; with `trust`, their weights are multiplied by 1 − P."""
    parts = [getattr(split, name) for name in PARTS[stage]]
    data = parts[0] if len(parts) == 1 else concatenated(parts)
    if trust is None:
        return data
    factors = np.concatenate([trust[name] for name in PARTS[stage]])
    return replace(data, weight=factors if data.weight is None else data.weight * factors)
