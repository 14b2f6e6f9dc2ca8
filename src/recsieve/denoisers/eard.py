"""EARD: weights from the rank of a sample's loss and the ranks of the mean losses of its user and item."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch
from recsieve.denoisers.memory import EpochMemory
from recsieve.denoisers.owners import mean_by, midranks, rank_positions
from recsieve.denoisers.saved_memory import checked_memory
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError, RunError

_STATE = ("keys", "table", "seen_keys", "seen_losses")


@dataclass
class EARD:
    """Weight a pair by base · f_user · f_item, computed at the end of each epoch from all of its samples (EARD, WWW
    2026).

    base is (rank of −loss − ½) / n, largest for the smallest loss. f falls in even steps from `beta` for the user (or
    item) with the lowest mean loss to `alpha` for the one with the highest. Negatives are weighted as well. A pair that
    was not sampled in the last epoch has weight 1, and so has everything in the first two epochs. The paper's mean
    divides by the batch size, so alpha and beta also change the step size; `reduction="normalised"` divides by the sum
    of the weights.
    """

    divides_by: ClassVar[str] = "batch"
    search_space: ClassVar[SearchSpace] = {
        "alpha": Range(0.05, 1.0),
        "beta": Range(0.1, 2.0),
        "reduction": ("paper", "normalised"),
    }

    alpha: float = 1.0
    beta: float = 2.0
    reduction: Literal["paper", "normalised"] = "paper"
    plain_epochs: int = 2
    _: KW_ONLY
    context: Context = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigError(
                    f"{name} is {getattr(self, name)}, but it is a factor of weights: give a number above 0, e.g. 1."
                )
        if self.reduction not in ("paper", "normalised"):
            raise ConfigError(f"reduction is '{self.reduction}': give 'paper' or 'normalised'.")
        if self.plain_epochs < 1:
            raise ConfigError(
                f"plain_epochs is {self.plain_epochs}, but the first weights need losses of an epoch: give 1 or more."
            )
        self.epochs = 0
        self.keys, self.table = torch.zeros(0, dtype=torch.int64), torch.zeros(0)  # of the last epoch, sorted by pair
        self._forget()

    def _forget(self) -> None:
        self._keys, self._losses = [torch.zeros(0, dtype=torch.int64)], [torch.zeros(0)]

    def weights(self, batch: LossBatch) -> Tensor:
        if batch.users is None or batch.items is None:
            raise ConfigError("the batch has no users and items: give `users` and `items`.")
        keys = batch.users.long() * self.context.n_items + batch.items.long()
        if batch.ids is not None:  # else it is of validation
            self._keys.append(keys.clone())
            self._losses.append(batch.losses.clone())
        weights = self._looked_up(keys).to(batch.losses.dtype)
        return weights / weights.mean() if self.reduction == "normalised" else weights

    def _looked_up(self, keys: Tensor) -> Tensor:
        if not len(self.keys):
            return torch.ones(len(keys))
        place = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        return torch.where(self.keys[place] == keys, self.table[place], 1.0)

    def end_epoch(self, memory: EpochMemory) -> None:
        del memory  # it knows nothing of negatives
        self.epochs += 1
        keys, losses = torch.cat(self._keys), torch.cat(self._losses)
        self._forget()
        if self.epochs >= self.plain_epochs:
            pairs, inverse = torch.unique(keys, return_inverse=True)
            base = mean_by(midranks(-losses), inverse, len(pairs))  # a pair that was drawn twice has its mean
            users, items = keys // self.context.n_items, keys % self.context.n_items
            of_user, of_item = self._factors(losses, users), self._factors(losses, items)
            factors = of_user[pairs // self.context.n_items] * of_item[pairs % self.context.n_items]
            self.keys, self.table = pairs, (base * factors).float()

    def _factors(self, losses: Tensor, owners: Tensor) -> Tensor:
        """What the mean loss of a user, or of an item, does to the weights of their pairs."""
        n = max(self.context.n_users, self.context.n_items)
        return self.beta + (self.alpha - self.beta) * rank_positions(mean_by(losses, owners, n))

    def state_dict(self) -> dict[str, Any]:
        self._keys, self._losses = [torch.cat(self._keys)], [torch.cat(self._losses)]
        return {
            "epochs": self.epochs,
            **dict(zip(_STATE, (self.keys, self.table, *self._keys, *self._losses), strict=True)),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        n_pairs = self.context.n_users * self.context.n_items
        state = checked_memory(self.state_dict(), state, {"keys": n_pairs, "seen_keys": n_pairs})
        if any(len(state[keys]) != len(state[of]) for keys, of in (("keys", "table"), ("seen_keys", "seen_losses"))):
            raise RunError("the strategy's saved pairs and losses differ in number: start again.")
        self.epochs, self.keys, self.table = state["epochs"], state["keys"], state["table"]
        self._keys, self._losses = [state["seen_keys"]], [state["seen_losses"]]
