"""How much to drop and when: shared by T-CE and its controls, which differ only in what they drop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import LossBatch, check_fidelity
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity


@dataclass(frozen=True)
class DropSchedule:
    """Drop a share of each batch that grows from 0 (Algorithm 1).

    `max_drop_rate` (ε_max) is a share of the whole batch, including negatives: with one negative per positive, 0.2
    drops about 40 % of the positives. It is reached after `ramp_steps` (ε_N) steps. `fidelity="authors"` counts steps
    and rounds like the authors' released code instead of the paper; only then can the rate first grow to ε_max to the
    power `exponent`.
    """

    search_space: ClassVar[SearchSpace] = {"drop_positives": Range(0.01, 0.5), "ramp_epochs": Range(0.5, 30)}

    max_drop_rate: float = 0.2
    ramp_steps: int = 30_000
    fidelity: Fidelity = "paper"
    exponent: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.max_drop_rate < 1:
            raise ConfigError(
                f"max_drop_rate is {self.max_drop_rate}, but it is the largest share of a batch to drop: "
                "give a number from 0 (drop nothing) to below 1, e.g. 0.2."
            )
        if self.ramp_steps < 1:
            raise ConfigError(
                f"ramp_steps is {self.ramp_steps}, but it is the number of steps until the full drop rate: "
                "give 1 or more, e.g. 30000."
            )
        check_fidelity(self.fidelity)
        if not 0 < self.exponent < math.inf or (self.exponent != 1 and self.fidelity == "paper"):
            raise ConfigError(
                f"exponent is {self.exponent}, but only the authors' schedule has an exponent: give 1, or a number "
                "above 0 with fidelity 'authors'."
            )

    def drop_rate(self, step: int) -> float:
        """ε(T), the share of the batch to drop at a step."""
        if self.fidelity == "paper":
            return self.max_drop_rate * min(1.0, step / self.ramp_steps)
        elapsed, last = step - 1, self.ramp_steps - 1  # the authors count from 0 and put N points from 0 on
        if elapsed > last:
            return self.max_drop_rate
        highest: float = self.max_drop_rate**self.exponent
        # A lone point is 0, and the last one is meant to the bit.
        return elapsed * (highest / last) if elapsed < last else highest * (last > 0)

    def n_drop(self, step: int, batch_size: int, n_observed: int) -> int:
        """How many interactions of a batch to drop, at most the number of positives."""
        rate = self.drop_rate(step)
        wanted = int(rate * batch_size) if self.fidelity == "paper" else batch_size - int((1 - rate) * batch_size)
        return min(wanted, n_observed)

    def drop_highest(self, scores: Tensor, batch: LossBatch) -> Tensor:
        """Weight 0 for the observed interactions with the highest scores, as many as are due, else 1."""
        observed = batch.labels > 0
        n_drop = self.n_drop(batch.step, len(observed), int(observed.sum()))
        ranking = scores.masked_fill(~observed, -torch.inf).argsort(descending=True, stable=True)
        # Stable, because early losses are often equal to the bit: the first in the batch goes, on every engine.
        return torch.ones_like(batch.losses).index_fill(0, ranking[:n_drop], 0.0)
