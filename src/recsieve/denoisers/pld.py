"""PLD: train on one of several positives of the same user, preferring small losses."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError


@dataclass(frozen=True)
class PLD:
    """Replace each positive by one of `pool_size` of its user's, sampled by softmax(−loss / τ) (PLD, WWW 2025).

    τ is `choice_temperature`. The losses are those of the current model with the negatives of the row. The first
    `plain_epochs` epochs are plain training. The paper uses it with BPR.
    """

    search_space: ClassVar[SearchSpace] = {
        "pool_size": Range(2, 10, whole=True),
        "choice_temperature": Range(0.02, 1.0),
    }

    pool_size: int = 5
    choice_temperature: float = 0.1
    plain_epochs: int = 5
    _: KW_ONLY
    context: Context = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.pool_size < 1:
            raise ConfigError(f"pool_size is {self.pool_size}, but one of them is chosen: give 1 or more, e.g. 5.")
        if not 0 < self.choice_temperature < float("inf"):
            raise ConfigError(
                f"choice_temperature is {self.choice_temperature}, but losses are divided by it: give a number above "
                "0, e.g. 0.1."
            )
        if self.plain_epochs < 0:
            raise ConfigError(f"plain_epochs is {self.plain_epochs}: give 0 or more.")

    def weights(self, batch: LossBatch) -> Tensor:
        return torch.ones_like(batch.losses)

    def n_candidates(self, step: int) -> int:
        return self.pool_size if step > self.plain_epochs * self.context.steps_per_epoch else 0

    def choose(self, losses: Tensor, draws: Tensor) -> Tensor:
        shares = (-losses.double() / self.choice_temperature).softmax(dim=1).cumsum(dim=1)  # (n, k)
        return (shares < draws[:, None]).sum(dim=1).clamp(max=losses.shape[1] - 1)
