"""T-CE with a drop rate for each user or item, and the same total."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch
from recsieve.denoisers.memory import EpochMemory
from recsieve.denoisers.owners import By, mean_by, see_owners, unknown_owners
from recsieve.denoisers.saved_memory import Remembering
from recsieve.denoisers.schedule import DropSchedule
from recsieve.denoisers.search import SearchSpace
from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity


@dataclass
class TruncatedByOwner(Remembering):
    """Drop as many as T-CE, but take the largest losses of each user (or item).

    The paper suggests rates for each user and item, but gives none. Here the rate of an owner is a·q + (1 − a)·ε. ε is
    the share of the positives that is dropped, q is the share of the owner's positives that were among the ε largest
    losses of the last epoch, and a is `follow`. With 0, everybody loses the same share; with 1, it is T-CE by the
    losses of the last epoch. The total is that of T-CE for every `follow`. The first epoch is T-CE.
    """

    remembered: ClassVar[tuple[str, ...]] = ("step", "owners", "scores")
    search_space: ClassVar[SearchSpace] = {**DropSchedule.search_space, "by": ("user", "item")}

    max_drop_rate: float = DropSchedule.max_drop_rate
    ramp_steps: int = DropSchedule.ramp_steps
    fidelity: Fidelity = "paper"
    by: By = "user"
    follow: float = 0.5
    _: KW_ONLY
    context: Context = field(repr=False)

    def __post_init__(self) -> None:
        self.schedule = DropSchedule(self.max_drop_rate, self.ramp_steps, self.fidelity)
        if not 0 <= self.follow <= 1:
            raise ConfigError(
                f"follow is {self.follow}, but it is how strongly rates depend on the share of large losses: give a "
                "number from 0 (the same rate for all) to 1, e.g. 0.5."
            )
        self.owners, self.step = unknown_owners(self.context.n_interactions, self.by), 0
        # By how far each is beyond its owner's rate, from 0; NaN before the first epoch's end.
        self.scores = torch.full((self.context.n_interactions,), torch.nan, dtype=torch.float64)

    def weights(self, batch: LossBatch) -> Tensor:
        if batch.ids is None:  # validation: there is no memory of it
            return self.schedule.drop_highest(batch.losses, batch)
        see_owners(self.owners, batch, self.by)
        self.step = batch.step
        scores = self.scores[batch.ids.clamp(min=0)]
        return self.schedule.drop_highest(batch.losses if scores.isnan().any() else scores, batch)

    def end_epoch(self, memory: EpochMemory) -> None:
        owners, losses = self.owners, memory.losses
        if (owners < 0).any() or losses.isnan().any():
            return  # where not all were seen, as where somebody chooses, what is known stays
        n_owners = int(owners.max()) + 1
        share = min(1.0, self.schedule.drop_rate(self.step) * self.context.losses_per_positive)
        large = torch.zeros(len(losses)).index_fill(0, _largest_first(losses)[: round(share * len(losses))], 1.0)
        rates = self.follow * mean_by(large, owners, n_owners) + (1 - self.follow) * share
        beyond = (rates[owners] - _places_among_own(losses, owners, n_owners)).round(decimals=9)
        order = losses.argsort(stable=True)
        order = order[beyond[order].argsort(stable=True)]  # of those that are equally far beyond, the larger loss goes
        self.scores = torch.empty(len(losses), dtype=torch.float64)
        self.scores[order] = torch.arange(len(losses)).double()

    def limits(self) -> dict[str, int]:
        return {"owners": self.context.n_users if self.by == "user" else self.context.n_items}


def _largest_first(losses: Tensor) -> Tensor:
    return losses.argsort(descending=True, stable=True)


def _places_among_own(losses: Tensor, owners: Tensor, n_owners: int) -> Tensor:
    """(place − ½) / n of each among the n losses of its owner, the largest first: (m,)."""
    order = _largest_first(losses)
    order = order[owners[order].argsort(stable=True)]  # owner by owner, each from its largest loss on
    counts = owners.bincount(minlength=n_owners)
    begins = counts.cumsum(0) - counts
    positions = torch.empty(len(losses), dtype=torch.float64)
    positions[order] = torch.arange(len(losses)).double() - begins[owners[order]] + 0.5
    return positions / counts[owners]
