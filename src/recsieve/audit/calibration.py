"""Logits that mean what they say: a line through them, and how far the probabilities are from what is observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

BINS = 10
_STEPS = 50
LEAST_SLOPE = 0.1  # few labels would turn an order round by chance; whether a model is any good is judged elsewhere
CAUTION = 5.0  # precision with which the slope is thought to be 1 before any label is seen


@dataclass(frozen=True)
class Line:
    """A logit becomes `slope * logit + intercept` (Platt, 1999)."""

    slope: float
    intercept: float

    def __call__(self, logits: NDArray) -> NDArray[np.float64]:
        return self.slope * np.asarray(logits, np.float64) + self.intercept


def platt_scaling(logits: NDArray, noise: NDArray[np.bool_], slope: float = 1.0, precision: float = 1.0) -> Line:
    """The line under which the labels are most likely; a slope that they do not determine stays near the given one."""
    columns = np.stack([logits, np.ones(len(logits))], axis=1).astype(np.float64)
    prior, precisions = np.array([slope, 0.0]), np.array([precision, 1e-3])
    line = prior.copy()
    for _ in range(_STEPS):
        expected = expit(columns @ line)
        curvature = (columns * (expected * (1 - expected))[:, None]).T @ columns + np.diag(precisions)
        move = np.linalg.solve(curvature, columns.T @ (noise - expected) - precisions * (line - prior))
        line = line + np.clip(move, -2, 2)  # far from the solution a full step may go too far
        if np.abs(move).max() < 1e-8:
            break
    return Line(float(line[0]), float(line[1]))


def calibrate(logits: NDArray, noise: NDArray[np.bool_]) -> Line:
    """The line that makes out-of-fold logits mean what they say, without turning their order round."""
    line = platt_scaling(logits, noise, precision=CAUTION)
    return line if line.slope >= LEAST_SLOPE else platt_scaling(logits, noise, slope=LEAST_SLOPE, precision=1e6)


def calibration(probability: NDArray, noise: NDArray[np.bool_]) -> dict[str, Any]:
    """Brier score, expected calibration error and reliability curve over bins of equally many interactions."""
    order = np.argsort(probability, kind="stable")
    bins = [rows for rows in np.array_split(order, BINS) if len(rows)]
    curve = [
        {"predicted": float(probability[rows].mean()), "observed": float(noise[rows].mean()), "n": len(rows)}
        for rows in bins
    ]
    gaps = sum(entry["n"] * abs(entry["predicted"] - entry["observed"]) for entry in curve)
    base_rate = float(noise.mean())
    return {
        "brier": float(((probability - noise) ** 2).mean()),
        "brier_of_base_rate": base_rate * (1 - base_rate),
        "ece": gaps / len(noise),
        "reliability": curve,
    }
