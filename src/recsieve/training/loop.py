"""The only training loop."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.errors import ConfigError, DivergedError, RunError
from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.sampling import Sampler
from recsieve.tensor_file import is_finite
from recsieve.training.history import History
from recsieve.training.memory import InteractionMemory
from recsieve.training.selection import Selection, learned_labels
from recsieve.training.steps import Engine, make_stepper

log = logging.getLogger(__name__)

# Steps made in one go where nothing is to be done between: enough that Python's share of the time is small.
AT_ONCE = 64

# A mean cross-entropy that no training comes back from: it begins at log 2, and at a learning rate of 1 is about 10.
MOST_LOSS = 1000.0

Validate = Callable[[int], float]  # the step in, a score out; higher is better


@dataclass(frozen=True)
class TrainingPlan:
    """How long and in what steps to train (the paper's settings by default)."""

    epochs: int = 100
    patience: int = 10  # validations without progress until the training ends
    batch_size: int = 1024  # positives and negatives together
    learning_rate: float = 1e-3
    negatives: int = 1  # for each positive
    seed: int = 0
    validate_every: int | None = None  # steps; None: after each epoch
    checkpoint_every: int | None = None  # steps; None: after each epoch
    engine: Engine = "auto"  # the same numbers to rounding, whichever it is


@dataclass(frozen=True)
class Trained:
    """Some steps have been made."""

    step: int
    epoch: int
    total_steps: int
    loss: float


@dataclass(frozen=True)
class Validated:
    """The model was judged on validation data."""

    step: int
    epoch: int
    score: float
    best: bool


@dataclass(frozen=True)
class Began:
    """One of several trainings has begun, or what else there is to do before the last of them."""

    name: str
    number: int  # from 1
    total: int


Event = Trained | Validated | Began


class Training:
    """A training under way: `run()` goes on with it, and `state_dict()` is all it takes to go on elsewhere."""

    def __init__(
        self,
        model: Model,
        loss: DenoisedLoss,
        data: Interactions,
        plan: TrainingPlan,
        memory: InteractionMemory | None = None,
    ) -> None:
        self.model, self.loss, self.data, self.plan = model, loss, data, plan
        loss.group = data.group  # who shares the data shares the batches
        self.memory = None if memory is None else _emptied(memory, len(data))
        labels = learned_labels(model, loss, data)
        self.sampler = Sampler(data, seed=plan.seed, negatives=plan.negatives, by_user=model.by_user, labels=labels)
        self._steps, self.optimizer = make_stepper(model, loss, plan.learning_rate, plan.engine, data.group)
        self.selection = Selection(plan.patience)
        self.history = History(data)
        self.step = 0
        self.steps_per_epoch = self.sampler.steps_per_epoch(plan.batch_size)
        self.total_steps = plan.epochs * self.steps_per_epoch
        self._report_every = max(1, self.steps_per_epoch // 20)

    def run(
        self, validate: Validate, save: Callable[[dict[str, Any]], None] | None = None
    ) -> Iterator[Trained | Validated]:
        """Train to the end, yielding what happens; the model ends with the weights that were selected.

        So it does where the training diverges, which is an error.
        """
        try:
            yield from self._go_on(validate, save)
        except DivergedError:
            self._end()
            raise
        self._end()

    def _go_on(
        self, validate: Validate, save: Callable[[dict[str, Any]], None] | None
    ) -> Iterator[Trained | Validated]:
        plan = self.plan
        self.model.train()
        self.loss.train()
        while self.step < self.total_steps and not self.selection.exhausted:
            epoch, within = divmod(self.step, self.steps_per_epoch)
            stops = self._stops(epoch)
            stretches = self.sampler.stretches(epoch, plan.batch_size, within, [s - self.step + within for s in stops])
            for self.step, rows in zip(stops, stretches, strict=True):
                reduced, losses, weights = self._steps.stretch(rows, plan.batch_size)
                self._check_finite(reduced)
                self.history.add(reduced, losses, weights, rows.ids)
                self._remember(losses, weights, rows.ids)
                validating = self._due(plan.validate_every)
                saving = save is not None and (validating or self._due(plan.checkpoint_every))
                if self.step % self._report_every == 0 or validating or saving:
                    loss = self.history.close_row(self.step, epoch)
                    if not self.history.mean_loss < MOST_LOSS:
                        raise self._diverged(self.step, self.history.mean_loss)
                    yield Trained(self.step, epoch, self.total_steps, loss)
                if validating:
                    yield self._validate(validate, epoch)
                if save is not None and saving:
                    save(self.state_dict())
                if self.selection.exhausted:
                    break

    def _end(self) -> None:
        if self.selection.weights:
            self.model.load_state_dict(self.selection.weights)
        self.model.eval()

    def _check_finite(self, reduced: list[float]) -> None:
        """Stop at the first of some steps whose loss is no number; it is the same on all ranks."""
        if not math.isfinite(sum(reduced)):
            at = next((place for place, loss in enumerate(reduced) if not math.isfinite(loss)), len(reduced) - 1)
            raise self._diverged(self.step - len(reduced) + 1 + at, reduced[at])

    def _diverged(self, step: int, loss: float) -> DivergedError:
        best, rate = self.selection, self.plan.learning_rate
        kept = f"the weights of step {best.best_step} are kept" if best.weights else "no weights were kept"
        return DivergedError(
            f"the training diverged by step {step}, where the loss is {loss:.4g} ({kept}): give a smaller learning "
            f"rate than {rate:g}, e.g. {rate / 10:g}.",
            step,
        )

    def _stops(self, epoch: int) -> list[int]:
        """The steps of the rest of an epoch after which something is to be done, and some between."""
        plan, last = self.plan, (epoch + 1) * self.steps_per_epoch
        intervals = {AT_ONCE, self._report_every, plan.validate_every or last, plan.checkpoint_every or last}
        stops = {stop for every in intervals for stop in range(self.step // every * every + every, last, every)}
        return [*sorted(stops), last]

    def _remember(self, losses: Tensor, weights: Tensor, ids: Tensor) -> None:
        if self.memory is not None:
            self.memory.add(losses, weights, torch.from_numpy(self.data.index_of(ids.numpy())))
            if self.step % self.steps_per_epoch == 0:
                self.memory.close_epoch()

    def _due(self, every: int | None) -> bool:
        return self.step % (every or self.steps_per_epoch) == 0 or self.step == self.total_steps

    @torch.no_grad()
    def _validate(self, validate: Validate, epoch: int) -> Validated:
        self.optimizer.flush()
        self.model.eval()
        if self.data.group.any(not all(map(is_finite, self.model.state_dict().values()))):
            raise self._diverged(self.step, math.nan)
        score = validate(self.step)
        best = self.selection.consider(self.model, score, self.step)
        self.model.train()
        return Validated(self.step, epoch, score, best)

    def state_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "loss": self.loss.get_extra_state(),
            "optimizer": self.optimizer.state_dict(),
            "selection": self.selection.state_dict(),
            "history": self.history.state_dict(),
            "memory": None if self.memory is None else self.memory.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not isinstance(state["step"], int) or not 0 <= state["step"] <= self.total_steps:
            raise RunError(f"the checkpoint is at step {state['step']!r}, but the training has {self.total_steps}.")
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.loss.set_extra_state(state["loss"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.selection.load_state_dict(state["selection"])
        self.history.load_state_dict(state["history"])
        if self.memory is not None:
            if state.get("memory") is None:
                raise RunError("the training was begun without a memory: go on without one, or begin anew.")
            self.memory.load_state_dict(state["memory"])


def _emptied(memory: InteractionMemory, n_interactions: int) -> InteractionMemory:
    """A memory that fits and holds nothing of another training."""
    if memory.n_interactions != n_interactions:
        raise ConfigError(
            f"the memory is for {memory.n_interactions} interactions, but there are {n_interactions} to train on: "
            f"give InteractionMemory({n_interactions})."
        )
    memory.forget()
    return memory
