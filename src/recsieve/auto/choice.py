"""The decision: the best plain model, unless something else is convincingly better on validation data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recsieve.auto.candidates import Candidate
from recsieve.auto.scoring import Values

LEVEL = 0.05  # of all candidates together: how often one that is no better may pass for better
MARGIN = 0.01  # by which a ranking must be better where no label says what is noise: held-out noise misleads
# How many standard errors worse a ranking may be among popular items, or among the others, where no label says what is
# noise: one that is better among some at the cost of others may trade what people want for what they regret.
TRADED = 1.0
FLIPS = 2000


@dataclass(frozen=True)
class RatedCandidate:
    """A candidate and its validation result, compared with the best plain model."""

    candidate: Candidate
    score: float
    change: float  # of the score against the best plain model, as a share of it
    error: float  # the standard error of the change, over users
    p_value: float  # one-sided, corrected for all candidates
    weak_half: float  # the change among popular items or the others, whichever is worse, in standard errors

    @property
    def name(self) -> str:
        return self.candidate.name


@dataclass(frozen=True)
class Choice:
    """What was chosen, why, and all candidates, the best first."""

    chosen: RatedCandidate
    plain: RatedCandidate  # the best plain model
    without_denoising: RatedCandidate | None  # the choice without what it does about noise, where it does something
    popularity: float | None  # the score of popularity alone
    reason: str
    criterion: str
    labels: int  # training interactions of which it was known whether they are noise
    evidence: str  # what is known of noise, and from where
    tried: int
    planned: int
    epochs: dict[str, float]  # for which each model was fitted, by its slug
    candidates: tuple[RatedCandidate, ...]

    def as_dict(self) -> dict[str, Any]:
        """The contents of metrics.json."""
        return asdict(self) | {
            "chosen": _described(self.chosen),
            "plain": _described(self.plain),
            "without_denoising": None if self.without_denoising is None else _described(self.without_denoising),
            "candidates": [_described(one) for one in self.candidates],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Choice:
        """A choice from the contents of metrics.json."""
        read = {name: _read(values[name]) for name in ("chosen", "plain")}
        without = values["without_denoising"]
        return cls(
            **{
                **values,
                **read,
                "without_denoising": None if without is None else _read(without),
                "candidates": tuple(_read(one) for one in values["candidates"]),
            }
        )


def _described(rated: RatedCandidate) -> dict[str, Any]:
    return {"name": rated.name, **asdict(rated)}


def _read(values: Mapping[str, Any]) -> RatedCandidate:
    rest = {name: value for name, value in values.items() if name not in ("name", "candidate")}
    return RatedCandidate(Candidate.from_dict(values["candidate"]), **rest)


def best_plain(values: Values) -> str:
    """The name of the best plain model; popularity only if there is nothing else."""
    plain = {name: score_of(of_users) for name, (one, of_users) in values.items() if one.plain}
    return max(plain, key=lambda name: plain[name])


def score_of(of_users: NDArray[np.float64]) -> float:
    """The mean NDCG over users, given as two halves."""
    return float(of_users.sum(axis=1).mean())


def rate(values: Values, seed: int = 0) -> tuple[RatedCandidate, ...]:
    """Compare every candidate with the best plain model, user by user; the best first."""
    plain = values[best_plain(values)][1]
    differences = np.stack([(of_users - plain).sum(axis=1) for _, of_users in values.values()], axis=1)
    p_values = better_by_chance(differences, seed)  # of (users, candidates)
    rated = [
        rate_one(one, of_users, plain, float(p)) for (one, of_users), p in zip(values.values(), p_values, strict=True)
    ]
    return tuple(sorted(rated, key=lambda one: -one.score))


def rate_one(
    one: Candidate, of_users: NDArray[np.float64], plain: NDArray[np.float64], p_value: float
) -> RatedCandidate:
    """Compare one candidate with the best plain model."""
    base = score_of(plain) or math.inf  # where the best finds nothing, nothing can be said in shares of it
    halves = of_users - plain
    whole, root = halves.sum(axis=1), math.sqrt(max(len(plain), 1))
    errors = halves.std(axis=0) / root
    weak = np.divide(halves.mean(axis=0), errors, out=np.zeros(2), where=errors > 1e-12).min()
    error = float(whole.std()) / root / base
    return RatedCandidate(one, score_of(of_users), float(whole.mean()) / base, error, p_value, float(weak))


def better_by_chance(differences: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """How often the best of all candidates would look at least this much better if none were (Westfall and Young,
    1993).

    If none is better, the sign of a user's differences is random. So the signs are flipped, in the same way for all
    candidates, and the largest standardised mean is compared. Candidates that are nearly the same then count as one.
    """
    errors = differences.std(axis=0) / math.sqrt(max(len(differences), 1))
    scaled = np.divide(differences, errors, out=np.zeros_like(differences), where=errors > 1e-12) / len(differences)
    signs = np.random.default_rng(seed).choice(np.array([-1.0, 1.0]), (FLIPS, len(differences)))
    largest = (signs @ scaled).max(axis=1)
    return (1 + (largest[:, None] >= scaled.sum(axis=0)).sum(axis=0)) / (1 + FLIPS)


def pick(rated: tuple[RatedCandidate, ...], criterion: str, *, labelled: bool) -> tuple[RatedCandidate, str]:
    """The best candidate that is convincingly better than the best plain model, or else that model, and why."""
    plain = max((one for one in rated if one.candidate.plain), key=lambda one: one.score)
    convincing = [one for one in rated if one.p_value < LEVEL and (labelled or _sure_without_labels(one))]
    best = (convincing or list(rated))[0]
    change = f"{100 * best.change:+.1f} % ± {100 * best.error:.1f} %"
    if convincing:
        return (
            best,
            f"{change} {criterion} on validation data compared with the best plain model (p = {best.p_value:.2g}).",
        )
    if best is plain:
        return plain, f"nothing has a better {criterion} on validation data."
    needed = (
        ""
        if labelled
        else (f" Without noise labels, it must be better by {100 * MARGIN:g} %, on popular items and on the others.")
    )
    return plain, (
        f"nothing is convincingly better on validation data: the best, {best.name}, has {change} {criterion} "
        f"(p = {best.p_value:.2g}).{needed}"
    )


def _sure_without_labels(one: RatedCandidate) -> bool:
    return one.change > MARGIN and one.weak_half > -TRADED
