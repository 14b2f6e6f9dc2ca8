"""What makes training steps."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from recsieve.losses import DenoisedLoss, WeighedLosses
from recsieve.models import Model
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


def weigh_batch(model: Model, loss: DenoisedLoss, batch: Batch) -> WeighedLosses:
    """The losses of a batch, with gradients, and the weights that the strategy gives them."""
    logits = model(batch.users, batch.items).float()
    return loss.weigh(
        logits, batch.labels, users=batch.users, items=batch.items, ids=batch.ids, sample_weights=batch.weights,
        places=batch.places, n_all=batch.n_all,
    )  # fmt: skip
