"""The decision: something else than plain CE only where it is convincingly better on validation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from recsieve.auto.judging import Shift
from recsieve.auto.recipes import PLAIN
from recsieve.evaluation.significance import holm

LEVEL = 0.05  # of all candidates together: how often one that is no better may pass for better


@dataclass(frozen=True)
class Candidate:
    """A training with a ranking offset, and how it did on validation against plain CE."""

    training: str
    gamma: float  # of log popularity
    noise: bool  # whether log(1 − P) is added
    score: float
    change: float  # of the score against plain CE, as a share of it
    error: float  # the standard error of the change, over users
    p_value: float  # one-sided, corrected for all candidates

    @property
    def name(self) -> str:
        popularity = f"{self.gamma:+g} log popularity" if self.gamma else ""
        return " ".join(part for part in (self.training, popularity, "+ log(1−P)" if self.noise else "") if part)

    @property
    def shift(self) -> Shift:
        return Shift(self.gamma, self.noise)


@dataclass(frozen=True)
class Choice:
    """What was chosen, why, and all that there was to choose among, the best first."""

    chosen: Candidate
    reason: str
    criterion: str
    labels: int  # training interactions of which it was known whether they are noise
    evidence: str  # what is known of noise, and from where
    converged: bool  # whether plain CE had stopped improving before the last epoch allowed
    candidates: tuple[Candidate, ...]

    def as_dict(self) -> dict[str, Any]:
        """What metrics.json holds."""
        named = [{"name": candidate.name, **asdict(candidate)} for candidate in self.candidates]
        return asdict(self) | {"chosen": self.chosen.name, "candidates": named}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Choice:
        """What metrics.json held."""
        rows = [{key: value for key, value in row.items() if key != "name"} for row in values["candidates"]]
        candidates = tuple(Candidate(**row) for row in rows)
        chosen = next(one for one in candidates if one.name == values["chosen"])
        return cls(**{**values, "chosen": chosen, "candidates": candidates})


Values = Mapping[tuple[str, Shift], NDArray[np.float64]]  # by training and offset, of each validation user


def rate(values: Values) -> list[Candidate]:
    """Hold every candidate against plain CE, user by user; the best first."""
    plain = values[PLAIN.name, Shift()]
    base = float(plain.mean()) or math.inf  # where plain CE finds nothing, nothing can be said in shares of it
    adjusted = holm([_p_value(of_users, plain) for of_users in values.values()])
    rated = [
        Candidate(
            training, shift.gamma, shift.noise, float(of_users.mean()), float((of_users - plain).mean()) / base,
            float((of_users - plain).std()) / math.sqrt(len(plain)) / base, float(p),
        )
        for ((training, shift), of_users), p in zip(values.items(), adjusted, strict=True)
    ]  # fmt: skip
    return sorted(rated, key=lambda candidate: -candidate.score)


def _p_value(of_users: NDArray[np.float64], plain: NDArray[np.float64]) -> float:
    """How often a candidate that is no better than plain CE would look at least so much better."""
    if len(plain) < 2 or np.ptp(of_users - plain) == 0:
        return 1.0
    return float(ttest_rel(of_users, plain, alternative="greater").pvalue)


def pick(candidates: Sequence[Candidate], criterion: str) -> tuple[Candidate, str]:
    """The best of those that are convincingly better than plain CE, or plain CE, and why."""
    plain = next(one for one in candidates if one.training == PLAIN.name and one.shift == Shift())
    convincing = [one for one in candidates if one.p_value < LEVEL]
    best = (convincing or candidates)[0]
    change = f"{100 * best.change:+.1f} % ± {100 * best.error:.1f} %"
    if convincing:
        return best, f"{best.name} has {change} {criterion} against plain CE on validation (p = {best.p_value:.2g})."
    if best is plain:
        return plain, f"nothing has a better {criterion} on validation than plain CE."
    return plain, (
        f"nothing is convincingly better than plain CE on validation: the best, {best.name}, has {change} {criterion} "
        f"(p = {best.p_value:.2g})."
    )
