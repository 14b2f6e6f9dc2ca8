"""UDT: a user's weight is distributed over their positives by loss, and users with large losses get less of it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch
from recsieve.denoisers.memory import EpochMemory
from recsieve.denoisers.owners import mean_by, owners_of, rank_positions, see_owners, unknown_owners
from recsieve.denoisers.saved_memory import Remembering
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError


@dataclass
class UDT(Remembering):
    """Weight a positive by f_u · n_u · softmax(−loss / T_u) over its user's positives, and a negative by f_u.

    This is what the code of the RecSys 2025 study of denoisers does, from the third epoch on, with the losses of the
    last epoch. T_u goes in even steps from `low_temperature` for the user with the lowest mean loss to
    `high_temperature` for the one with the highest, and f_u from `high_factor` to `low_factor`. The mean divides by the
    batch size.
    """

    divides_by: ClassVar[str] = "batch"
    remembered: ClassVar[tuple[str, ...]] = ("epochs", "of_interaction", "of_user", "owners")
    search_space: ClassVar[SearchSpace] = {
        "low_temperature": Range(0.1, 2.0),
        "high_temperature": Range(0.2, 5.0),
        "low_factor": Range(0.01, 0.5),
    }

    low_temperature: float = 0.2
    high_temperature: float = 0.5
    high_factor: float = 0.5
    low_factor: float = 0.0
    plain_epochs: int = 2
    _: KW_ONLY
    context: Context = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("low_temperature", "high_temperature"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigError(
                    f"{name} is {getattr(self, name)}, but losses are divided by it: give a number above 0, e.g. 0.2."
                )
        for name in ("low_factor", "high_factor"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} is {getattr(self, name)}, but it is a weight of users: give 0 or more.")
        if self.plain_epochs < 1:
            raise ConfigError(
                f"plain_epochs is {self.plain_epochs}, but the first weights need losses of an epoch: give 1 or more."
            )
        self.epochs, self.owners = 0, unknown_owners(self.context.n_interactions)
        self.of_interaction = torch.ones(self.context.n_interactions)
        self.of_user = torch.ones(self.context.n_users)

    def weights(self, batch: LossBatch) -> Tensor:
        see_owners(self.owners, batch)
        weights = self.of_user[owners_of(batch)]
        if batch.ids is not None:
            weights = torch.where(batch.ids >= 0, self.of_interaction[batch.ids.clamp(min=0)], weights)
        return weights.to(batch.losses.dtype)

    def end_epoch(self, memory: EpochMemory) -> None:
        self.epochs += 1
        if self.epochs < self.plain_epochs:
            return
        seen = (self.owners >= 0) & ~memory.losses.isnan()
        users, losses = self.owners[seen], memory.losses[seen].double()
        position = rank_positions(mean_by(losses, users, self.context.n_users)).nan_to_num()
        factor = self.high_factor + (self.low_factor - self.high_factor) * position
        temperature = self.low_temperature + (self.high_temperature - self.low_temperature) * position
        shares = _softmax_by(-losses / temperature[users], users, self.context.n_users)
        n_positives = users.bincount(minlength=self.context.n_users)
        self.of_interaction[seen] = (factor[users] * n_positives[users] * shares).float()
        self.of_user = factor.float()

    def limits(self) -> dict[str, int]:
        return {"owners": self.context.n_users}


def _softmax_by(values: Tensor, owners: Tensor, n: int) -> Tensor:
    """The softmax over the values of each owner: (m,), (m,) -> (m,)."""
    most = values.new_full((n,), -torch.inf).scatter_reduce(0, owners, values, "amax")
    powers = (values - most[owners]).exp()
    return powers / values.new_zeros(n).index_add(0, owners, powers)[owners]
