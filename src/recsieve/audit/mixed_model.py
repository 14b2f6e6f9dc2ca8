"""A logistic model of noise with effects of users and items, whose variances are estimated from the labels (Laplace
EM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from recsieve.audit.logistic import Prior, newton_step
from recsieve.audit.pairs import PairScores

Floats = NDArray[np.float64]
Columns = NDArray[np.float32]  # (pairs, columns of their own)

ROUNDS = 30
TOLERANCE = 1e-3  # of a change that matters, in units of the logit
# What is thought of a variance before any label is seen, as though it had been seen in so many effects.
EFFECT_PRIOR = (0.5, 20.0)  # of users and of items
SLOPE_PRIOR = (0.003, 1.0)  # of standardised evidence
# Before any label is seen, what is unpopular or unexpected is thought to be noise a little more often: on all data that
# was looked at it is, and a few labels would say the opposite by chance.
LEANING = (
    -0.15
)  # slope of popularity, and of the first column of a pair's own, the logit of a model that has not seen it
MOST_FOR_SLOPES = 100_000  # labels: the slopes are few, and so many determine them


@dataclass(frozen=True)
class Design:
    """The columns for a pair: those of the user, of the item, and products of two vectors.

    In addition, a pair has columns of its own: the logit of a model that has not seen it, and further evidence. All
    columns have about unit variance over the interactions, so that slopes can be compared.
    """

    users: NDArray[np.float32]  # (users, columns)
    items: NDArray[np.float32]  # (items, columns)
    user_factors: NDArray[np.float32]  # (users, factors)
    item_factors: NDArray[np.float32]  # (items, factors)

    def columns(self, users: NDArray[np.int32], items: NDArray[np.int32], own: Columns) -> NDArray:
        """The matrix of the regression for some pairs, with a column of ones first."""
        products = self.user_factors[users] * self.item_factors[items]
        ones = np.ones((len(users), 1), np.float32)
        return np.concatenate([ones, own, self.users[users], self.items[items], products], axis=1)

    def groups(self, n_own: int) -> NDArray[np.int64]:
        """Which columns share a variance: −1 is none (the intercept). The first columns are single features, not
        vectors.
        """
        users, items = self.users.shape[1], self.items.shape[1]
        return np.array(
            [-1, *[0] * n_own, 0, *[1] * (users - 1), 0, *[2] * (items - 1), *[3] * self.user_factors.shape[1]],
            np.int64,
        )

    def expected_slopes(self, n_own: int) -> Floats:
        """The slopes expected before any label is seen."""
        slopes = np.zeros(len(self.groups(n_own)))
        slopes[[1, 1 + n_own + self.users.shape[1]]] = LEANING
        return slopes

    def scores(self, slopes: Floats) -> PairScores:
        """The contribution of the columns for any pair, without the pair's own columns."""
        users, items, products = self.users.shape[1], self.items.shape[1], self.user_factors.shape[1]
        of_users, of_items, of_products = np.split(slopes[-users - items - products :], [users, users + items])
        return PairScores(
            (slopes[0] + self.users @ of_users).astype(np.float32),
            (self.items @ of_items).astype(np.float32),
            (self.user_factors * of_products).astype(np.float32),
            self.item_factors,
        )


@dataclass(frozen=True)
class MixedModel:
    """The fitted effects; `fixed` is the contribution of the design, `slopes` are those of a pair's own columns."""

    fixed: PairScores
    slopes: Floats
    user_effects: Floats
    item_effects: Floats
    variances: dict[str, float]

    @property
    def scores(self) -> PairScores:
        """The logit of noise of any pair, without the contribution of its own columns."""
        return PairScores(
            self.fixed.users + self.user_effects.astype(np.float32),
            self.fixed.items + self.item_effects.astype(np.float32),
            self.fixed.user_factors,
            self.fixed.item_factors,
        )

    def predict(self, users: NDArray[np.int32], items: NDArray[np.int32], own: Columns) -> Floats:
        """The logit of noise of some pairs."""
        return self.scores.of(users, items) + (own @ self.slopes)


def fit_mixed_model(
    design: Design,
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    own: Columns,
    noise: NDArray[np.bool_],
) -> MixedModel:
    """Fit slopes, user effects and item effects in turn by Newton's method, and update the variances after each."""
    target = noise.astype(np.float64)
    slopes = _Slopes(design, users, items, own, target)
    of_users, of_items = _Effects(users, len(design.users)), _Effects(items, len(design.items))
    for _ in range(ROUNDS):
        before = slopes.values.copy()
        slopes.step(of_users.values[users[slopes.rows]] + of_items.values[items[slopes.rows]])
        fixed = slopes.predict(users, items, own)
        of_users.step(target - expit(fixed + of_users.values[users] + of_items.values[items]))
        of_items.step(target - expit(fixed + of_users.values[users] + of_items.values[items]))
        change = max(np.abs(slopes.values - before).max(), of_users.change, of_items.change)
        if change < TOLERANCE:
            break
    names = ("facts", "user vector", "item vector", "products")
    variances = {
        "user": of_users.variance,
        "item": of_items.variance,
        **dict(zip(names, slopes.variances, strict=True)),
    }
    return MixedModel(
        design.scores(slopes.values), slopes.values[1 : 1 + own.shape[1]], of_users.values, of_items.values, variances
    )


class _Effects:
    """A random effect of each user or of each item."""

    def __init__(self, codes: NDArray[np.int32], n: int) -> None:
        self._codes, self._n = codes, n
        self._seen = np.bincount(codes, minlength=n) > 0
        self.values, self.variance, self.change = np.zeros(n), EFFECT_PRIOR[0], 0.0

    def step(self, residuals: Floats) -> None:
        """Newton's step for each effect by itself, then the variance that the effects suggest."""
        weights = np.abs(residuals) * (1 - np.abs(residuals))  # p(1 − p), whichever the label is
        curvature = np.bincount(self._codes, weights, self._n) + 1 / self.variance
        gradient = np.bincount(self._codes, residuals, self._n) - self.values / self.variance
        step = gradient / curvature
        self.values = self.values + step
        self.change = float(np.abs(step).max())
        seen = self._seen
        self.variance = _variance(self.values[seen], 1 / curvature[seen], self.variance, EFFECT_PRIOR)


class _Slopes:
    """The slopes of all columns, on a sample of the labels if there are very many."""

    def __init__(
        self,
        design: Design,
        users: NDArray[np.int32],
        items: NDArray[np.int32],
        own: Columns,
        target: Floats,
    ) -> None:
        self._design, self._groups = design, design.groups(own.shape[1])
        every = -(-len(target) // MOST_FOR_SLOPES)
        self.rows = slice(None, None, every)
        self._columns = design.columns(users[self.rows], items[self.rows], own[self.rows])
        self._precise, self._target = self._columns.astype(np.float64), target[self.rows]
        self.variances = [SLOPE_PRIOR[0]] * (int(self._groups.max()) + 1)
        self._expected = design.expected_slopes(own.shape[1])
        self.values = self._expected.copy()
        share = (target.sum() + 0.5) / (len(target) + 1)
        self.values[0] = np.log(share / (1 - share))

    def step(self, effects: Floats) -> None:
        """Newton's step for all slopes together, given the effects, then the variance of each group."""
        precision = np.array([1e-6, *(1 / self.variances[group] for group in self._groups[1:])])
        prior = Prior(self._expected, precision)
        step, covariance = newton_step(self._columns, self._target, self.values, prior, effects, self._precise)
        self.values = self.values + step
        surprise = self.values - self._expected
        for group, variance in enumerate(self.variances):
            chosen = self._groups == group
            self.variances[group] = _variance(surprise[chosen], np.diag(covariance)[chosen], variance, SLOPE_PRIOR)

    def predict(self, users: NDArray[np.int32], items: NDArray[np.int32], own: Columns) -> Floats:
        return self._design.scores(self.values).of(users, items) + own @ self.values[1 : 1 + own.shape[1]]


def _variance(values: Floats, posterior: Floats, before: float, prior: tuple[float, float]) -> float:
    """MacKay's fixed point, which is that of EM and reached sooner, with a prior that keeps it from collapsing."""
    guess, worth = prior
    well_determined = np.maximum(1 - posterior / before, 0).sum()
    return float(((values**2).sum() + worth * guess) / (well_determined + worth))
