"""Whether one method is better than another, given that both users and trainings vary.

A test over users alone takes the luck of a few trainings for an effect: two identical methods with different seeds then
differ "significantly" in up to nine of ten comparisons. So the variance of the mean difference combines users and seeds
(a two-way analysis of variance with random effects), and the small number of seeds enters the critical value (Cochran
and Cox), which keeps the rate of false alarms at its nominal level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from recsieve.errors import DataError

LEVEL = 0.05  # of false alarms, two-sided
POWER = 0.8  # with which the smallest detectable difference would have been found
SMALLEST_P = 1e-30  # below it a p-value is 0: nobody needs it, and quantiles are no longer exact

Verdict = Literal["better", "worse", "no difference found"]


@dataclass(frozen=True)
class Comparison:
    """The difference between a method and a baseline in a metric, averaged over users and seeds."""

    mean_difference: float
    relative_difference: float  # to the baseline's mean
    interval: tuple[float, float]  # 95 %, of the mean difference
    p_value: float  # two-sided, not yet corrected for other comparisons
    effect_size: float  # Cohen's d_z: the mean over the spread of the users' differences, averaged over seeds
    spread: Spread = field(repr=False)

    @property
    def n_users(self) -> int:
        return self.spread.n_users

    @property
    def n_seeds(self) -> int:
        return self.spread.n_seeds

    def smallest_detectable(self, level: float = LEVEL) -> float:
        """The difference that would have been detected with 80 % probability, at a given level."""
        return self.spread.error * (self.spread.quantile(level / 2) + self.spread.quantile(1 - POWER))


def compare_paired(
    method: NDArray[np.floating], baseline: NDArray[np.floating], *, rng: np.random.Generator, n_bootstrap: int = 2000
) -> Comparison:
    """Compare two methods by a metric where more is better: (seeds, users), both in the same order."""
    _check_shapes(np.shape(method), np.shape(baseline))
    differences = np.asarray(method, np.float64) - np.asarray(baseline, np.float64)
    if not np.isfinite(differences).all():
        raise DataError("some values are not numbers: leave out the users for whom the metric is not defined.")
    mean, spread, by_user = float(differences.mean()), _spread(differences), differences.mean(0)
    return Comparison(
        mean_difference=mean,
        relative_difference=_ratio(mean, float(np.mean(baseline))),
        interval=_interval(by_user, spread, rng, n_bootstrap),
        p_value=spread.p_value(_ratio(abs(mean), spread.error)),
        effect_size=_ratio(mean, float(by_user.std(ddof=1))),
        spread=spread,
    )


def holm(p_values: Sequence[float] | NDArray[np.floating]) -> NDArray[np.float64]:
    """Correct p-values for the number of comparisons (Holm, 1979)."""
    given = np.asarray(p_values, np.float64)
    order = np.argsort(given)
    raised = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    return np.minimum(raised, 1.0)[np.argsort(order)]


def levels_left(adjusted: Sequence[float] | NDArray[np.floating]) -> NDArray[np.float64]:
    """The level at which Holm's correction tests each comparison, given which others were found to differ."""
    found = np.asarray(adjusted, np.float64) < LEVEL
    others = found.sum() - found
    return LEVEL / (len(found) - others)


def verdict(comparison: Comparison, adjusted_p: float) -> Verdict:
    """The verdict on a method, given its corrected p-value."""
    if not adjusted_p < LEVEL:
        return "no difference found"
    return "better" if comparison.mean_difference > 0 else "worse"


@dataclass(frozen=True)
class Spread:
    """The uncertainty of the mean difference."""

    error: float  # the standard error, of users and seeds together
    users_error: float  # what it would be with these trainings alone, as if they had no luck
    seeds_share: float  # of seeds in the square of the error
    n_seeds: int
    n_users: int

    def quantile(self, tail: float) -> float:
        """How many standard errors a mean is above the truth with some probability (Cochran and Cox, 1950)."""
        of_seeds, of_users = stdtrit(self.n_seeds - 1, tail), stdtrit(self.n_users - 1, tail)  # negative: lower tails
        return float(-self.seeds_share * of_seeds - (1 - self.seeds_share) * of_users)

    def p_value(self, n_errors: float) -> float:
        """The probability of a mean this many standard errors from the truth, on either side."""
        if n_errors >= self.quantile(SMALLEST_P / 2):
            return 0.0
        smallest, largest = math.log(SMALLEST_P / 2), math.log(0.5)
        return min(1.0, 2 * math.exp(brentq(lambda log: self.quantile(math.exp(log)) - n_errors, smallest, largest)))


def _spread(differences: NDArray[np.float64]) -> Spread:
    """The standard error of the mean, by the mean squares of a two-way analysis of variance."""
    n_seeds, n_users = differences.shape
    by_seed, by_user = differences.mean(1), differences.mean(0)
    rest = differences - by_seed[:, None] - by_user + differences.mean()
    seeds, users = n_users * by_seed.var(ddof=1), n_seeds * by_user.var(ddof=1)
    # What one user happens to gain in one training is in both mean squares: users count with what they have beyond it.
    beyond = max(users - (rest**2).sum() / ((n_seeds - 1) * (n_users - 1)), 0.0)
    total = max(seeds + beyond, users)
    errors = math.sqrt(total / rest.size), math.sqrt(users / rest.size)
    return Spread(*errors, _ratio(seeds, total), n_seeds, n_users)


def _interval(
    by_user: NDArray[np.float64], spread: Spread, rng: np.random.Generator, n_bootstrap: int
) -> tuple[float, float]:
    """Where 95 % of the means lie when users are resampled, widened by what seeds add.

    The users give the shape. A handful of seeds has none, and resampling them would show too little of their
    variance, so the width comes from the spread of both.
    """
    drawn = np.array([rng.choice(by_user, len(by_user)).mean() for _ in range(n_bootstrap)])
    widening = _ratio(spread.error, spread.users_error) * spread.quantile(LEVEL / 2) / -ndtri(LEVEL / 2)
    mean = by_user.mean()
    low, high = mean + widening * (np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2]) - mean)
    return float(low), float(high)


def _check_shapes(method: tuple[int, ...], baseline: tuple[int, ...]) -> None:
    if method != baseline or len(method) != 2:
        raise DataError(f"the values have the shapes {method} and {baseline}: give (seeds, users), the same for both.")
    if min(method) < 2:
        raise DataError(
            f"there are {method[0]} seeds and {method[1]} users, but at least 2 of both are needed to see how much "
            "they vary: give 5 seeds or more."
        )


def _ratio(value: float, spread: float) -> float:
    """A value over its spread; nothing over nothing is nothing."""
    if spread == 0:
        return math.copysign(math.inf, value) if value else 0.0
    return value / spread
