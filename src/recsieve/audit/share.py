"""How much of the log is noise, from labels of a random part of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import beta, t

LEVEL = 0.9


def noise_share(noise: NDArray[np.bool_], expected: NDArray, n: int, mean_of_rest: float | None) -> dict[str, float]:
    """Estimate the share of noise among n interactions, with an interval, from labels of a random part.

    The labelled ones count as they are; the rest as the model expects, corrected by how far it was off where it is
    known (the difference estimator: right on average however bad the model). `expected` are probabilities of the
    labelled ones from fits without their label, `mean_of_rest` the mean probability of the others.
    """
    known, total = len(noise), float(noise.sum())
    rest = n - known
    if rest == 0:
        return _result(total / n, total / n, total / n)
    error = noise - expected
    of_rest = (expected.mean() if mean_of_rest is None else mean_of_rest) + error.mean()
    estimate = float(np.clip((total + rest * of_rest) / n, 0.5 / n, 1 - 0.5 / n))
    # The rest is a sample too: its own share scatters about what the labels tell.
    deviation = rest / n * np.sqrt(error.var(ddof=1) * (1 / known + 1 / rest))
    if total == 0 or total == known or deviation == 0:
        return _result(estimate, *_of_one_kind(total, known))
    reach = float(t.ppf((1 + LEVEL) / 2, known - 1)) * deviation / (estimate * (1 - estimate))
    return _result(estimate, float(expit(logit(estimate) - reach)), float(expit(logit(estimate) + reach)))


def _of_one_kind(total: float, known: int) -> tuple[float, float]:
    """Clopper and Pearson's interval, where all labels are alike and tell nothing of how they scatter."""
    outside = (1 - LEVEL) / 2
    low = float(beta.ppf(outside, total, known - total + 1)) if total else 0.0
    return low, float(beta.ppf(1 - outside, total + 1, known - total)) if total < known else 1.0


def _result(estimate: float, low: float, high: float) -> dict[str, float]:
    return {"estimate": estimate, "low": low, "high": high, "level": LEVEL}
