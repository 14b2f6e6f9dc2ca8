"""The learner of every model that is trained by gradients."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from recsieve.data.interactions import CSR, Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import Denoiser
from recsieve.errors import ConfigError, RunError
from recsieve.memory import free_memory, gigabytes
from recsieve.models import Model, Run
from recsieve.models.base import empty_table, table_factory
from recsieve.objectives import BCE, Objective
from recsieve.settings import Engine
from recsieve.training.gradient import GradientFitting, TrainingPlan
from recsieve.training.sharded import ShardedModel

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GradientLearner:
    """Trains a model class with an objective."""

    model: type[Model]
    options: Mapping[str, Any] = field(default_factory=dict)
    plan: TrainingPlan = field(default_factory=TrainingPlan)
    objective: Objective = field(default_factory=BCE)

    def begin(self, split: Split, run: Run) -> GradientFitting:
        model = self._make(split.train, run)
        fitting = GradientFitting(model, self.objective, split.train, self.plan, run.make_denoiser, run.memory)
        _warn_of_long_ramp(fitting.loss.denoiser, fitting.total)
        return fitting

    def _make(self, train: Interactions, run: Run) -> Model:
        make = partial(self.model, self._profiles(train), torch.Generator().manual_seed(run.seed), **self.options)
        if self.plan.engine != "torchrec":
            return make()
        log.warning("TorchRec trains tables with row-wise Adagrad instead of Adam: results will differ.")
        return ShardedModel(make, self.plan.learning_rate, train.group)

    def _profiles(self, train: Interactions) -> CSR:
        if self.model.reads_all_profiles and train.group.size > 1:
            raise ConfigError(
                f"{self.model.__name__} needs the interactions of all users, but they are divided among "
                f"{train.group.size} ranks: start it without torchrun, or use another model, e.g. mf."
            )
        return train.profiles

    def accepts(self, denoiser: type) -> bool:
        return True

    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> Model:
        with table_factory(empty_table):
            model = self.model(self._profiles(train), torch.Generator(), **self.options)
        dtypes = {name: weight.dtype for name, weight in model.state_dict().items()}
        try:
            # Assigned, not copied: the rows of a file larger than memory are read when they are asked for.
            model.load_state_dict(state, assign=True)
        except RuntimeError as error:
            raise RunError(f"the weights do not fit the settings ({str(error).splitlines()[0]}).") from None
        for name, dtype in dtypes.items():
            if state[name].dtype != dtype:
                raise RunError(f"the weights do not fit the settings ({name} is {state[name].dtype}, not {dtype}).")
        return model.eval().prepare()


def require_memory(
    name: str, model: type[Model], options: Mapping[str, Any], engine: Engine, train: Interactions
) -> None:
    """Refuse tables of users and items that do not fit."""
    usual = inspect.signature(model).parameters.get("factors")
    factors = int(options.get("factors", usual.default if usual else 0))
    # The weights, the two moments of Adam, and the best weights so far.
    n_rows, free = train.n_users + train.n_items, free_memory()
    needed = 4 * 4 * factors * n_rows // (train.group.size if engine == "torchrec" else 1)
    if needed > free:
        raise ConfigError(
            f"{name} with {factors:,} factors for {n_rows:,} users and items needs {gigabytes(needed)} of memory, and "
            f"{gigabytes(free)} is free: use fewer factors."
        )


def _warn_of_long_ramp(denoiser: Denoiser, most_steps: int) -> None:
    ramp_steps = getattr(denoiser, "ramp_steps", 0)
    if ramp_steps > most_steps:
        log.warning(
            "the drop rate grows over %d steps, but the training has at most %d, so it never reaches its maximum: give "
            "a smaller ramp_steps or ramp_epochs.", ramp_steps, most_steps,
        )  # fmt: skip
