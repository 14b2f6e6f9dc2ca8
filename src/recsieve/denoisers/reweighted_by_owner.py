"""R-CE with a power for each user or item, and the same mean power."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch
from recsieve.denoisers.memory import EpochMemory
from recsieve.denoisers.owners import By, mean_by, owners_of, see_owners, unknown_owners
from recsieve.denoisers.reweighted import Reweighted
from recsieve.denoisers.saved_memory import Remembering
from recsieve.denoisers.search import SearchSpace


@dataclass
class ReweightedByOwner(Remembering):
    """Weight an interaction by exp(−β_u · loss), with a larger β_u for users (or items) with larger losses.

    The paper suggests parameters for each user and item, but gives none. Here β_u is `beta` times the mean loss of the
    owner's positives in the last epoch, divided by that of all positives, so its mean over interactions is `beta`. The
    first epoch is R-CE.
    """

    remembered: ClassVar[tuple[str, ...]] = ("owners", "powers")
    search_space: ClassVar[SearchSpace] = {**Reweighted.search_space, "by": ("user", "item")}

    beta: float = Reweighted.beta
    by: By = "user"
    _: KW_ONLY
    context: Context = field(repr=False)

    def __post_init__(self) -> None:
        Reweighted(self.beta)  # says what is wrong with it
        self.owners = unknown_owners(self.context.n_interactions, self.by)
        self.powers = torch.full((self.context.n_users if self.by == "user" else self.context.n_items,), self.beta)

    def weights(self, batch: LossBatch) -> Tensor:
        see_owners(self.owners, batch, self.by)
        return (-self.powers[owners_of(batch, self.by)] * batch.losses).exp().to(batch.losses.dtype)

    def end_epoch(self, memory: EpochMemory) -> None:
        seen = (self.owners >= 0) & ~memory.losses.isnan()
        losses, owners = memory.losses[seen], self.owners[seen]
        means = mean_by(losses, owners, len(self.powers)) / losses.double().mean().clamp(min=1e-12)
        self.powers = (self.beta * means.nan_to_num(1.0)).float()

    def limits(self) -> dict[str, int]:
        return {"owners": len(self.powers)}
