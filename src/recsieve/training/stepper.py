"""What makes training steps."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from recsieve.sampling import Batch


class Stepper(ABC):
    """Makes training steps, one or several that follow each other."""

    @abstractmethod
    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        """Make a step; gives the loss that was minimised, and the losses and weights behind it."""

    def stretch(self, rows: Batch, batch_size: int) -> tuple[list[float], Tensor, Tensor]:
        """Make a step on each batch of rows; gives what was minimised in each, and all losses and weights."""
        means, losses, weights = zip(*(self(batch) for batch in rows.split(batch_size)), strict=True)
        return list(means), torch.cat(losses), torch.cat(weights)
