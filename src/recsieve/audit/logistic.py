"""Penalised logistic regression, Platt scaling, and calibration.

It minimises −Σ log p(label | x·β) + ½·Σ_k precision_k·(β_k − expected_k)². A coefficient that the labels do not
determine stays near its expected value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

BINS = 10
STEPS, CONVERGED, LARGEST = 50, 1e-8, 2.0  # far from the solution a full step may go too far
LEAST_SLOPE = 0.1  # few labels would turn an order round by chance; whether a model is any good is judged elsewhere
CAUTION = 5.0  # precision with which the slope is thought to be 1 before any label is seen


class Prior(NamedTuple):
    """The expected value and the precision of each coefficient before any label is seen."""

    expected: Floats
    precision: Floats


def newton_step(
    columns: NDArray, target: NDArray, coefficients: Floats, prior: Prior, offset: NDArray | float = 0.0,
    precise: Floats | None = None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The step towards the minimum, and the covariance of the coefficients by Laplace's approximation.

    `precise` holds float32 columns converted to float64, because converting them takes longer than everything else
    here.
    """
    precise = columns if precise is None else precise
    probability = expit(precise @ coefficients + offset)
    weighted = columns * (probability * (1 - probability))[:, None].astype(columns.dtype)
    covariance = np.linalg.inv((weighted.T @ columns).astype(np.float64) + np.diag(prior.precision))
    gradient = precise.T @ (target - probability) - prior.precision * (coefficients - prior.expected)
    return covariance @ gradient, covariance


def fit_logistic(columns: NDArray, target: NDArray, prior: Prior) -> Floats:
    """The coefficients at the minimum."""
    coefficients = prior.expected.copy()
    for _ in range(STEPS):
        step, _ = newton_step(columns, target, coefficients, prior)
        coefficients = coefficients + np.clip(step, -LARGEST, LARGEST)
        if np.abs(step).max() < CONVERGED:
            break
    return coefficients


@dataclass(frozen=True)
class PlattScaling:
    """A logit becomes `slope * logit + intercept` (Platt, 1999)."""

    slope: float
    intercept: float

    def __call__(self, logits: NDArray) -> Floats:
        return self.slope * np.asarray(logits, np.float64) + self.intercept


def platt_scaling(
    logits: NDArray, noise: NDArray[np.bool_], slope: float = 1.0, precision: float = 1.0
) -> PlattScaling:
    """The scaling with the largest likelihood; what the labels do not determine stays near the given slope."""
    columns = np.stack([logits, np.ones(len(logits))], axis=1).astype(np.float64)
    prior = Prior(np.array([slope, 0.0]), np.array([precision, 1e-3]))
    return PlattScaling(*map(float, fit_logistic(columns, noise, prior)))


def calibrate(logits: NDArray, noise: NDArray[np.bool_]) -> PlattScaling:
    """The scaling that calibrates out-of-fold logits without reversing their order."""
    scaling = platt_scaling(logits, noise, precision=CAUTION)
    return scaling if scaling.slope >= LEAST_SLOPE else platt_scaling(logits, noise, LEAST_SLOPE, precision=1e6)


def calibration(probability: NDArray, noise: NDArray[np.bool_]) -> dict[str, Any]:
    """Brier score, expected calibration error and reliability curve, over bins with equal numbers of interactions."""
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
