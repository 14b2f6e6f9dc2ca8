"""The ways to make a training step: each takes a batch and gives the loss, and the losses and weights behind it."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from recsieve.errors import ConfigError
from recsieve.group import ALONE, Group
from recsieve.losses import DenoisedLoss
from recsieve.models import CDAE, GMF, Model, NeuMF
from recsieve.optim import LazyAdam, make_adam
from recsieve.sampling import Batch
from recsieve.training.fused import FusedStep
from recsieve.training.fused_cdae import FusedCDAE
from recsieve.training.fused_gmf import FusedGMF
from recsieve.training.fused_neumf import FusedNeuMF
from recsieve.training.group_step import GroupStep
from recsieve.training.stepper import Stepper, weigh_batch

Engine = Literal["auto", "fused", "lazy", "dense", "exact"]
FUSED: dict[type[Model], type[FusedStep]] = {GMF: FusedGMF, NeuMF: FusedNeuMF, CDAE: FusedCDAE}


def make_stepper(
    model: Model, loss: DenoisedLoss, learning_rate: float, engine: Engine, group: Group = ALONE
) -> tuple[Stepper, LazyAdam]:
    """The fastest way that applies, or the one that is asked for, and the optimiser behind it."""
    if engine == "exact" or group.size > 1 or (engine == "auto" and group.launched):
        return _make_group_step(model, loss, learning_rate, engine, group)
    fused = FUSED.get(type(model))
    wanted = engine == "fused" or (engine == "auto" and fused is not None and fused.pays(model))
    if fused is not None and wanted and fused.applies(model, loss):
        optimizer = make_adam(model, learning_rate, "lazy")
        return fused(model, loss, optimizer), optimizer
    if engine == "fused":
        raise ConfigError(
            "the fused engine knows GMF, NeuMF and CDAE on the CPU with the cross-entropy: give engine='auto'."
        )
    optimizer = make_adam(model, learning_rate, engine)
    return PlainStep(model, loss, optimizer), optimizer


def _make_group_step(
    model: Model, loss: DenoisedLoss, learning_rate: float, engine: Engine, group: Group
) -> tuple[Stepper, LazyAdam]:
    if engine not in ("auto", "exact"):
        raise ConfigError(
            f"engine is '{engine}', but all ranks of a group have to make the same steps: give engine='auto', which is "
            "'exact' there."
        )
    optimizer = make_adam(model, learning_rate, "lazy")
    return GroupStep(model, loss, optimizer, group), optimizer


class PlainStep(Stepper):
    """Autograd, whatever the model and the strategy."""

    def __init__(self, model: Model, loss: DenoisedLoss, optimizer: LazyAdam) -> None:
        self._model, self._loss, self._optimizer = model, loss, optimizer

    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        weighed = weigh_batch(self._model, self._loss, batch)
        mean = weighed.mean()
        self._optimizer.zero_grad(set_to_none=True)
        mean.backward()
        self._optimizer.step()
        return mean.item(), weighed.losses.detach(), weighed.weights
