"""The ways to make a training step: each takes a batch and gives the loss, and the losses and weights behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor

from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import GMF, Model
from recsieve.optim import LazyAdam, make_adam
from recsieve.sampling import Batch
from recsieve.training.fused_gmf import FusedGMF

Engine = Literal["auto", "fused", "lazy", "dense"]
Stepper = Callable[[Batch], tuple[float, Tensor, Tensor]]


def make_stepper(model: Model, loss: DenoisedLoss, learning_rate: float, engine: Engine) -> tuple[Stepper, LazyAdam]:
    """The fastest way that applies, or the one that is asked for, and the optimiser behind it."""
    if isinstance(model, GMF) and engine in ("auto", "fused") and FusedGMF.applies(model, loss):
        optimizer = make_adam(model, learning_rate, "lazy")
        return FusedGMF(model, loss, optimizer), optimizer
    if engine == "fused":
        raise ConfigError("the fused engine knows only GMF on the CPU with a built-in strategy: give engine='auto'.")
    optimizer = make_adam(model, learning_rate, engine)
    return PlainStep(model, loss, optimizer), optimizer


class PlainStep:
    """Autograd, whatever the model and the strategy."""

    def __init__(self, model: Model, loss: DenoisedLoss, optimizer: LazyAdam) -> None:
        self._model, self._loss, self._optimizer = model, loss, optimizer

    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        logits = self._model(batch.users, batch.items)
        weighed = self._loss.weigh(
            logits, batch.labels, users=batch.users, items=batch.items, ids=batch.ids, sample_weights=batch.weights
        )
        mean = weighed.mean()
        self._optimizer.zero_grad(set_to_none=True)
        mean.backward()
        self._optimizer.step()
        return mean.item(), weighed.losses.detach(), weighed.weights
