"""From a few labels to the noise probability of every interaction: fitting, cross-validation, calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from recsieve.audit.dynamics import Dynamics
from recsieve.audit.evidence import Evidence, neighbour_noise
from recsieve.audit.logistic import PlattScaling, calibrate, calibration, platt_scaling
from recsieve.audit.mixed_model import LEANING, Columns, Design, fit_mixed_model
from recsieve.audit.pairs import PairNoise, PairScores, add_scores
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.evaluation.detection import detection

STRONG, MODEL, POPULARITY = "mixed model with further evidence", "mixed model", "popularity"
LEANING_PRECISION = 30.0  # with which popularity is thought to lean that way before any label is seen
FOLDS = 5
FEWEST = 20  # labels of noise, and of what is not: with fewer there is nothing to judge a model by
SAMPLE = 100_000  # interactions from which the scale of products is known well enough

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Fit(NamedTuple):
    """The logit of noise of an interaction: the score of its pair, plus slopes times its own columns."""

    scores: PairScores
    slopes: Floats
    own: Columns  # (interactions, columns)


@dataclass(frozen=True)
class Labelled:
    """What is learned from the labels: a logit for every interaction. For labelled ones it comes from a fit without
    their label.
    """

    method: str  # STRONG, MODEL or POPULARITY
    logits: Floats
    pairs: PairNoise
    parts: dict[str, NDArray[np.float32]]  # what user, item and pair each contribute to the logit of an interaction
    cross_validation: dict[str, Any]  # measures on the labels, by method
    calibration: dict[str, Any]

    @property
    def probability(self) -> Floats:
        return expit(self.logits)


def labels_of(data: Interactions) -> NDArray[np.int8]:
    """The labels of all interactions; UNLABELLED if there is none."""
    return np.full(len(data), UNLABELLED, np.int8) if data.false_positive is None else data.false_positive


def enough_labels(data: Interactions) -> bool:
    """Whether there are enough labels of both kinds to learn from and to test on."""
    noise, known = data.is_false_positive.sum(), (labels_of(data) != UNLABELLED).sum()
    return bool(min(noise, known - noise) >= FEWEST)


def learn_from_labels(
    data: Interactions, dynamics: Dynamics, evidence: Evidence, *, seed: int, report: Callable[[float], None]
) -> Labelled:
    """Fit the mixed model with the evidence that cross-validation supports, or fall back to popularity."""
    held_out, further = _Standard.of(evidence.held_out_logit), evidence.further()
    own = np.concatenate([held_out(evidence.held_out_logit)[:, None], further], axis=1)
    learner = _NoiseLearner(data, own, make_design(data, dynamics))
    rows = np.flatnonzero(labels_of(data) != UNLABELLED)
    noise = data.is_false_positive[rows]
    fold = np.random.default_rng(seed).permutation(np.arange(len(rows)) % FOLDS)
    methods = [STRONG, MODEL, POPULARITY] if further.size else [MODEL, POPULARITY]
    judged = {method: np.empty(len(rows)) for method in methods}
    for number in range(FOLDS):
        report(number / (FOLDS + 1))
        for method, logits in judged.items():
            fit = learner.fit(method, rows[fold != number])
            logits[fold == number] = learner.predict(fit, rows[fold == number])
    report(FOLDS / (FOLDS + 1))
    measures = {method: _measures(logits, noise, fold) for method, logits in judged.items()}
    method = POPULARITY
    for richer in reversed(methods[:-1]):
        method = richer if _beats(measures[richer], measures[method]) else method
    fit, scaling = learner.fit(method, rows), calibrate(judged[method], noise)
    logits = scaling(learner.predict(fit, np.arange(len(data))))
    logits[rows] = _calibrated_across(judged[method], noise, fold)
    # Of a pair that was never observed there is no further evidence.
    of_pairs = MODEL if method == STRONG else method
    pair_fit = fit if of_pairs == method else learner.fit(of_pairs, rows)
    pairs = _pair_noise(pair_fit, calibrate(judged[of_pairs], noise), dynamics, held_out)
    return Labelled(method, logits, pairs, learner.parts(fit), measures, calibration(expit(logits[rows]), noise))


def _pair_noise(fit: Fit, scaling: PlattScaling, dynamics: Dynamics, held_out: _Standard) -> PairNoise:
    """The fit for any pair, whose own logit is the mean over the runs."""
    of_runs = add_scores([run.scores.scaled(1 / len(dynamics.folds)) for run in dynamics.folds])
    slope = float(fit.slopes[0]) / held_out.deviation if len(fit.slopes) else 0.0
    pairs = add_scores([fit.scores, of_runs.scaled(slope, -slope * held_out.mean)])
    return PairNoise(pairs.scaled(scaling.slope, scaling.intercept))


def make_design(data: Interactions, dynamics: Dynamics) -> Design:
    """Popularity, activity and the vectors of the training on everything, as columns of a regression."""
    vectors = dynamics.full.scores
    activity, popularity = np.log1p(data.user_counts())[:, None], np.log1p(data.item_counts())[:, None]
    some = np.random.default_rng(0).permutation(len(data))[:SAMPLE]
    users, items = data.users[some], data.items[some]
    product_scale = (vectors.user_factors[users] * vectors.item_factors[items]).std(axis=0) + 1e-12
    return Design(
        _standardised(np.concatenate([activity, vectors.user_factors], axis=1), users),
        _standardised(np.concatenate([popularity, vectors.item_factors], axis=1), items),
        vectors.user_factors / product_scale,
        vectors.item_factors,
    )


class _NoiseLearner:
    """Fits by any method, and predicts, by rows of the data; `own` are the columns of each interaction's own."""

    def __init__(self, data: Interactions, own: Columns, design: Design) -> None:
        self._data, self._own, self._design = data, own, design
        self._noise = data.is_false_positive

    def fit(self, method: str, rows: Rows) -> Fit:
        users, items, noise = self._data.users[rows], self._data.items[rows], self._noise[rows]
        if method != POPULARITY:
            own = self._with_neighbours(rows) if method == STRONG else self._own[:, :1]
            model = fit_mixed_model(self._design, users, items, own[rows], noise)
            return Fit(model.scores, model.slopes, own)
        popularity = self._design.items[:, 0]
        scaling = platt_scaling(popularity[items], noise, slope=LEANING, precision=LEANING_PRECISION)
        nothing = np.zeros((1, 1), np.float32)
        scores = PairScores(
            np.full(self._data.n_users, scaling.intercept, np.float32),
            (scaling.slope * popularity).astype(np.float32),
            np.repeat(nothing, self._data.n_users, axis=0),
            np.repeat(nothing, self._data.n_items, axis=0),
        )
        return Fit(scores, np.empty(0), self._own[:, :0])

    def _with_neighbours(self, rows: Rows) -> Columns:
        """All evidence, and the noise among labelled neighbours, which is told by the labels that are fitted to."""
        neighbours = neighbour_noise(self._data, rows)
        return np.concatenate([self._own, _Standard.of(neighbours)(neighbours)[:, None]], axis=1)

    def predict(self, fit: Fit, rows: Rows) -> Floats:
        scores = fit.scores.of(self._data.users[rows], self._data.items[rows])
        return scores + fit.own[rows] @ fit.slopes

    def parts(self, fit: Fit) -> dict[str, NDArray[np.float32]]:
        """How far the user, the item and the pair each move the logit from where it is on average."""
        scores, data = fit.scores, self._data
        of_user, of_item = scores.users[data.users], scores.items[data.items]
        whole = self.predict(fit, np.arange(len(data))).astype(np.float32)
        parts = {"user": of_user, "item": of_item, "pair": whole - of_user - of_item}
        return {name: part - part.mean() for name, part in parts.items()}


class _Standard(NamedTuple):
    """Makes values have mean 0 and deviation 1."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: NDArray) -> _Standard:
        return cls(float(values.mean()), float(values.std()) + 1e-12)

    def __call__(self, values: NDArray) -> NDArray[np.float32]:
        return ((values - self.mean) / self.deviation).astype(np.float32)


def _standardised(table: NDArray, codes: NDArray[np.int32]) -> NDArray[np.float32]:
    """Columns with mean 0 and deviation 1 over interactions: who has many of them counts as often."""
    rows = table[codes]
    return ((table - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-12)).astype(np.float32)


def _calibrated_across(logits: Floats, noise: NDArray[np.bool_], fold: Rows) -> Floats:
    """Logits scaled as the other folds say."""
    calibrated = np.empty(len(logits))
    for number in range(FOLDS):
        scaling = calibrate(logits[fold != number], noise[fold != number])
        calibrated[fold == number] = scaling(logits[fold == number])
    return calibrated


def _beats(one: dict[str, float], other: dict[str, float]) -> bool:
    """Better probabilities and a better order: with few labels, one of the two comes about by chance too often."""
    return one["log_loss"] < other["log_loss"] and one["roc_auc"] > other["roc_auc"]


def _measures(logits: Floats, noise: NDArray[np.bool_], fold: Rows) -> dict[str, float]:
    """How well out-of-fold logits find noise, and the mean log loss of what they say after calibration."""
    calibrated = _calibrated_across(logits, noise, fold)
    found = detection(logits, noise)
    chosen = {name: found[name] for name in ("roc_auc", "average_precision", "precision")}
    return {**chosen, "log_loss": float(np.logaddexp(0, np.where(noise, -calibrated, calibrated)).mean())}
