"""A training from its settings and a split: model, strategy and loss, and the criterion that keeps weights."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import torch

from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import DENOISERS, Denoiser, make_denoiser
from recsieve.errors import ConfigError, DataError
from recsieve.evaluation import evaluate
from recsieve.evaluation.groups import some_users
from recsieve.losses import CascadedLoss, DenoisedLoss
from recsieve.models import MODELS, NMTR, Model
from recsieve.sampling import Sampler
from recsieve.settings import AUTO, Settings, parse_criterion
from recsieve.training import InteractionMemory, Training
from recsieve.training.selection import own_loss, require_flags
from recsieve.training.sharded import ShardedModel

log = logging.getLogger(__name__)


def check_possible(settings: Settings, split: Split) -> None:
    """Say what the data lacks for these settings, before anything is written or trained."""
    train, validation, group = split.train, split.validation, split.train.group
    if train.total() == 0:
        raise DataError("there are no interactions to train on: give at least one.")
    if settings.denoiser == AUTO:
        if group.size > 1:
            raise ConfigError("auto chooses in one process: name a strategy, or start it without torchrun.")
        if len(validation) == 0:
            raise ConfigError("auto chooses on validation data, but there is none: give some, or name a strategy.")
    told = (MODELS[settings.model], DENOISERS.get(settings.denoiser))
    if any(getattr(kind, "learns_from_flags", False) for kind in told):
        require_flags(train)
    if settings.select_by.startswith("clean-") and validation.total():
        if not group.any(validation.has_flags):
            raise ConfigError(f"select_by is '{settings.select_by}', but it is not known which interactions are noise.")
        if not group.any(bool((~validation.is_false_positive).any())):
            raise ConfigError(
                f"select_by is '{settings.select_by}', but all of the validation data is noise: give e.g. 'ndcg@20'."
            )


def prepare_training(
    settings: Settings, split: Split, denoiser: Denoiser | None = None, memory: InteractionMemory | None = None
) -> Training:
    """A training that has not begun; `denoiser` takes the place of the one that the settings name."""
    model = _make_model(settings, split.train)
    steps = Sampler(split.train, seed=0, negatives=settings.negatives).steps_per_epoch(settings.batch_size)
    denoiser = denoiser or make_denoiser(
        settings.denoiser, settings.denoiser_options, steps_per_epoch=steps, negatives=settings.negatives,
        popularity=torch.from_numpy(split.train.group.sum(split.train.item_counts())),
    )  # fmt: skip
    _warn_of_long_ramp(denoiser, settings.epochs * steps)
    network = model.model if isinstance(model, ShardedModel) else model
    loss = (
        CascadedLoss(denoiser, network.click, network.satisfaction_share)
        if isinstance(network, NMTR)
        else DenoisedLoss(denoiser)
    )
    return Training(model, loss, split.train, settings.plan(), memory)


def criterion(settings: Settings, training: Training, split: Split) -> Callable[[int], float]:
    """The one criterion that decides which weights are kept: the step in, a score out."""
    validation, group = split.validation, split.train.group
    if validation.total() == 0:
        log.warning("there is no validation data, so the last weights are kept, whatever select_by says.")
        return lambda step: float(step)
    if settings.select_by == "own-loss":
        return lambda step: -own_loss(
            training.model, training.loss, validation, split.train.csr,
            batch_size=settings.batch_size, seed=settings.seed, step=step,
        )  # fmt: skip
    metric, k, clean = parse_criterion(settings.select_by)
    if clean:
        validation = validation.take(~validation.is_false_positive)
    relevant = some_users(validation, settings.validation_users).csr
    return lambda step: evaluate(training.model, relevant, split.train.csr, [k], group=group).overall[f"{metric}@{k}"]


def _make_model(settings: Settings, data: Interactions) -> Model:
    generator = torch.Generator().manual_seed(settings.seed)
    make = partial(MODELS[settings.model], data.csr, generator, **settings.model_options)
    if not settings.shard_tables:
        return make()
    log.warning("TorchRec moves sharded tables by row-wise Adagrad and not by Adam: expect other results.")
    return ShardedModel(make, settings.table_learning_rate, data.group)


def _warn_of_long_ramp(denoiser: Denoiser, most_steps: int) -> None:
    ramp_steps = getattr(denoiser, "ramp_steps", 0)
    if ramp_steps > most_steps:
        log.warning(
            "the drop rate grows over %d steps, but the training has at most %d: it never reaches its maximum; give a "
            "smaller ramp_steps, or ramp_epochs.", ramp_steps, most_steps,
        )  # fmt: skip
