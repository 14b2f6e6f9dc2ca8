"""The interface of training steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.losses import DenoisedLoss, WeighedLosses
from recsieve.models import Model
from recsieve.sampling import Batch, Chunk


class Stepped(NamedTuple):
    """The results of some steps."""

    means: list[float]  # the loss that was minimised in each
    losses: Tensor  # (n,) those behind them
    weights: Tensor  # (n,)
    ids: Tensor  # (n,) the interactions that they are of, −1 for a negative


class Stepper(ABC):
    """Makes training steps, one or several consecutive ones."""

    @abstractmethod
    def __call__(self, batch: Batch) -> Stepped:
        """Make a step."""

    def run(self, chunk: Chunk) -> Stepped:
        """Make a step on each batch of a chunk."""
        return joined(map(self, chunk.batches()))

    def gather(self, users: NDArray[np.int64], *, with_moments: bool) -> None:  # noqa: B027 (most have nothing to copy)
        """Copy what only other ranks have kept up to date; this rank has the rows of these users."""

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of arrays over the ranks that share the data."""
        return values


def joined(steps: Iterable[Stepped]) -> Stepped:
    """Several steps as one."""
    means, losses, weights, ids = zip(*steps, strict=True)
    return Stepped([mean for step in means for mean in step], torch.cat(losses), torch.cat(weights), torch.cat(ids))


def weigh_batch(model: Model, loss: DenoisedLoss, batch: Batch, *, with_ids: bool = True) -> WeighedLosses:
    """The losses of a batch, with gradients, and the weights that the strategy gives them."""
    losses = model.losses(batch, loss.objective)
    of = batch if losses.rows is None else batch.take(losses.rows)
    return loss.weigh(
        losses, of.labels, users=of.users, items=of.items, ids=of.ids if with_ids else None, sample_weights=of.weights,
        positions=of.positions, n_all=of.n_all,
    )  # fmt: skip
