"""The implementations of a training step, which differ in rounding."""

from __future__ import annotations

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import CDAE, GMF, MF, Model, NeuMF
from recsieve.optim import LazyAdam, make_adam
from recsieve.settings import Engine
from recsieve.training.sharded import check_ranks
from recsieve.training.steps.autograd import AutogradStep
from recsieve.training.steps.base import Stepped, Stepper, weigh_batch
from recsieve.training.steps.exact import ExactStep
from recsieve.training.steps.fused import FusedStep
from recsieve.training.steps.fused_cdae import FusedCDAE
from recsieve.training.steps.fused_gmf import FusedGMF
from recsieve.training.steps.fused_mf import FusedMF
from recsieve.training.steps.fused_neumf import FusedNeuMF

FUSED: dict[type[Model], type[FusedStep]] = {GMF: FusedGMF, NeuMF: FusedNeuMF, CDAE: FusedCDAE, MF: FusedMF}
NOT_FUSED = (
    "the fused engine supports GMF, NeuMF and CDAE with bce, and MF with bce, bpr and softmax, on the CPU: give "
    "engine='auto'."
)

__all__ = ["FUSED", "NOT_FUSED", "Stepped", "Stepper", "check_engine", "make_stepper", "weigh_batch"]


def check_engine(engine: Engine, group: Communicator) -> None:
    """Raise an error if an engine does not work on this many ranks."""
    if engine == "torchrec":
        check_ranks(group)
    if group.size > 1 and engine in ("lazy", "dense"):
        raise ConfigError(f"engine is '{engine}', which works in one process only: give 'auto' or 'exact' on ranks.")


def make_stepper(
    model: Model, loss: DenoisedLoss, learning_rate: float, engine: Engine, group: Communicator = SINGLE_PROCESS
) -> tuple[Stepper, LazyAdam]:
    """The fastest applicable implementation, or the requested one, and its optimiser."""
    fused = FUSED.get(type(model))
    wanted = engine == "fused" or (engine == "auto" and fused is not None and (group.size > 1 or fused.pays(model)))
    if fused is not None and wanted and fused.applies(model, loss):
        optimizer = make_adam(model, learning_rate, "lazy")
        return fused(model, loss, optimizer, group), optimizer
    if engine == "fused":
        raise ConfigError(NOT_FUSED)
    check_engine(engine, group)
    if engine == "exact" or engine == "torchrec" or group.size > 1:
        optimizer = make_adam(model, learning_rate, "lazy")
        return ExactStep(model, loss, optimizer, group), optimizer
    optimizer = make_adam(model, learning_rate, engine)
    return AutogradStep(model, loss, optimizer), optimizer
