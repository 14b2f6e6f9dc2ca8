"""DCF: drop by the mean of damped losses minus a confidence bound, and train on the worst of them as negatives."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch, NextEpoch
from recsieve.denoisers.memory import EpochMemory
from recsieve.denoisers.saved_memory import Remembering
from recsieve.denoisers.schedule import DropSchedule
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity


@dataclass
class DCF(Remembering):
    """Drop the positives with the largest corrected losses at T-CE's rate, and relabel the worst (DCF, KDD 2024).

    A loss is damped: s = log(1 + ℓ + ℓ²/2). Positives are ranked by the mean of s over the epochs of the interaction,
    minus a bound λ(t + λ·log(2t)/t²) / (n + 1 − λ), where t is the number of epochs so far, n the number of those in
    which it was kept, and λ falls from `bound` to 0 over `bound_epochs`. Means and counts start again every `time_step`
    epochs. Of the interactions to drop, the share `relabel_ratio` with the highest rank is trained on as negatives in
    the next epoch.

    `fidelity="authors"` does what the released code does: it remembers losses by position in the shuffled epoch, which
    belongs to another interaction each time, treats the last mean as that of all epochs so far, may drop negatives, and
    does not relabel.
    """

    remembered: ClassVar[tuple[str, ...]] = ("epochs", "position", "sums", "seen", "kept", "means", "relabelled")
    search_space: ClassVar[SearchSpace] = {**DropSchedule.search_space, "relabel_ratio": Range(0.01, 0.3)}

    max_drop_rate: float = DropSchedule.max_drop_rate
    ramp_steps: int = DropSchedule.ramp_steps
    fidelity: Fidelity = "paper"
    bound: float = 1e-4
    bound_epochs: int = 10
    time_step: int = 3
    relabel_ratio: float = 0.05
    _: KW_ONLY
    context: Context = field(repr=False)

    def __post_init__(self) -> None:
        self.schedule = DropSchedule(self.max_drop_rate, self.ramp_steps, self.fidelity)
        if not 0 <= self.relabel_ratio <= 1:
            raise ConfigError(
                f"relabel_ratio is {self.relabel_ratio}, but it is the share of the dropped positives to relabel as "
                "negatives: give a number from 0 to 1, e.g. 0.05."
            )
        if not 0 <= self.bound < 1:
            raise ConfigError(f"bound is {self.bound}: give a number from 0 (no bound) to below 1, e.g. 0.0001.")
        for name in ("bound_epochs", "time_step"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, but it is a number of epochs: give 1 or more.")
        # By interaction, or by position in an epoch.
        per_interaction = self.context.losses_per_positive if self.fidelity == "authors" else 1
        self.epochs, self.position = 0, 0
        n = self.context.n_interactions * per_interaction
        self.sums, self.seen, self.kept, self.means = torch.zeros(4, n, dtype=torch.float64)
        self.relabelled = torch.zeros(self.context.n_interactions, dtype=torch.bool)

    def weights(self, batch: LossBatch) -> Tensor:
        if batch.ids is None:  # validation: there is no memory of it
            return self.schedule.drop_highest(batch.losses, batch)
        return self._as_released(batch) if self.fidelity == "authors" else self._as_written(batch)

    def _as_written(self, batch: LossBatch) -> Tensor:
        observed = (batch.labels > 0).nonzero().squeeze(1)
        ids = batch.ids[observed]  # type: ignore[index]
        # Those that come twice in a batch, as they may where a strategy chooses, are counted one by one.
        self.seen.index_add_(0, ids, torch.ones(len(ids), dtype=torch.float64))
        self.sums.index_add_(0, ids, damped(batch.losses[observed]))
        corrected = torch.full((len(batch.losses),), -torch.inf, dtype=torch.float64)
        corrected[observed] = self.sums[ids] / self.seen[ids] - self._bounds(self.kept[ids])
        weights = self.schedule.drop_highest(corrected, batch)
        dropped = weights[observed] == 0
        self.kept.index_add_(0, ids, (~dropped).double())
        worst = corrected[observed].masked_fill(~dropped, -torch.inf).argsort(descending=True, stable=True)
        self.relabelled[ids[worst[: int(self.relabel_ratio * int(dropped.sum()))]]] = True
        return weights

    def _as_released(self, batch: LossBatch) -> Tensor:
        n, t = len(batch.losses), self.epochs + 1
        positions = slice(self.position, self.position + n)
        self.position += n
        losses = damped(batch.losses) * (batch.labels > 0)
        self.means[positions] = (self.means[positions] * t + losses) / (t + 1)  # each place comes once in an epoch
        corrected = (self.means[positions] - self._bounds(1 + self.kept[positions])).clamp(min=0)
        rate = self.schedule.drop_rate(batch.step)
        n_drop = self.schedule.n_drop(batch.step, n, int((batch.labels > 0).sum()))
        n_kept_after_all = n - int((1 - self.relabel_ratio * rate) * n)
        ranking = corrected.argsort(descending=True, stable=True)
        self.kept[positions] += torch.ones(n, dtype=torch.float64).index_fill(0, ranking[:n_kept_after_all], 0.0)
        return torch.ones_like(batch.losses).index_fill(0, ranking[n_kept_after_all:n_drop], 0.0)

    def _bounds(self, kept: Tensor) -> Tensor:
        """λ(t + λ·log(2t)/t²) / (n + 1 − λ), of interactions that were kept so often."""
        t = self.epochs + 1
        size = self.bound * max(0.0, 1 - self.epochs / max(self.bound_epochs - 1, 1))
        return size * (t + size * math.log(2 * t) / t**2) / (kept + 1 - size)

    def end_epoch(self, memory: EpochMemory) -> NextEpoch | None:
        del memory  # it has means of losses, and here they are damped first
        self.epochs, self.position = self.epochs + 1, 0
        if self.epochs % self.time_step == 0:
            for values in (self.sums, self.seen, self.kept, self.means):
                values.zero_()
        if self.fidelity == "authors":
            return None
        labels, self.relabelled = (~self.relabelled).float(), torch.zeros_like(self.relabelled)
        return NextEpoch(labels=labels)

    def limits(self) -> dict[str, int]:
        return {"position": len(self.means) + 1}


def damped(losses: Tensor) -> Tensor:
    """log(1 + ℓ + ℓ²/2), which grows like ℓ at first and then slowly."""
    losses = losses.double()
    return (1 + losses + losses.square() / 2).log()
