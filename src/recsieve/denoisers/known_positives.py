"""Fine-tuning and warm-up: two phases, one of them on known true positives."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch, NextEpoch
from recsieve.denoisers.memory import EpochMemory
from recsieve.denoisers.random_drop import mix
from recsieve.denoisers.saved_memory import Remembering
from recsieve.denoisers.schedule import DropSchedule
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity


@dataclass
class FineTuning(Remembering):
    """Train on all interactions with T-CE, and after `phase_epochs` only on known true positives.

    This is from the journal version of the paper. With `max_drop_rate=0`, the first phase is plain training. `known` is
    the random share of the known true positives to use, for experiments.
    """

    uses_clean_labels: ClassVar[bool] = True
    known_first: ClassVar[bool] = False
    remembered: ClassVar[tuple[str, ...]] = ("epochs", "step", "begun")
    search_space: ClassVar[SearchSpace] = {
        "drop_positives": Range(0.01, 0.5),
        "phase_epochs": Range(2, 30, whole=True),
    }

    max_drop_rate: float = DropSchedule.max_drop_rate
    ramp_steps: int = DropSchedule.ramp_steps
    fidelity: Fidelity = "paper"
    phase_epochs: int = 10
    known: float = 1.0
    _: KW_ONLY
    context: Context = field(repr=False)

    def __post_init__(self) -> None:
        self.schedule = DropSchedule(self.max_drop_rate, self.ramp_steps, self.fidelity)
        if self.phase_epochs < 1:
            raise ConfigError(
                f"phase_epochs is {self.phase_epochs}, but it is the number of epochs of the first phase: give 1 or "
                "more."
            )
        if not 0 < self.known <= 1:
            raise ConfigError(
                f"known is {self.known}, but it is the share of the known true positives to use: give a number above 0 "
                "and up to 1."
            )
        self.epochs, self.step, self.begun = 0, 0, 0

    def first_epoch(self) -> NextEpoch | None:
        return NextEpoch(chosen=self._true_positives()) if self.known_first else None

    def weights(self, batch: LossBatch) -> Tensor:
        if batch.ids is not None:
            self.step = batch.step
        if (self.epochs < self.phase_epochs) == self.known_first:
            return torch.ones_like(batch.losses)
        own_steps = max(1, batch.step - self.begun)  # the rate grows from the first step on all interactions
        return self.schedule.drop_highest(batch.losses, replace(batch, step=own_steps))

    def end_epoch(self, memory: EpochMemory) -> NextEpoch | None:
        del memory
        self.epochs += 1
        if self.epochs != self.phase_epochs:
            return None
        self.begun = self.step
        everything = torch.arange(self.context.n_interactions)
        return NextEpoch(chosen=everything if self.known_first else self._true_positives())

    def _true_positives(self) -> Tensor:
        everything = torch.arange(self.context.n_interactions)
        clean = torch.ones_like(everything).bool() if self.context.clean is None else self.context.clean
        found = everything[clean & (mix(everything) < self.known * 2**32)]
        if not len(found):
            raise ConfigError("no interaction is known to be a true positive: give a rule for false positives.")
        return found


@dataclass
class WarmUp(FineTuning):
    """Train only on known true positives, and after `phase_epochs` on all interactions with T-CE."""

    known_first: ClassVar[bool] = True
