"""Fitting by gradient descent: batches, losses, a strategy's weights, steps of Adam."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.denoisers import Context, Denoiser, EpochMemory, InteractionMemory, NextEpoch
from recsieve.errors import ConfigError, DivergedError, RunError
from recsieve.fidelity import Fidelity
from recsieve.losses import DenoisedLoss
from recsieve.models import Earlier, Fitting, Model
from recsieve.models.learner import context_of
from recsieve.objectives import Objective
from recsieve.sampling import Layout, Sampler
from recsieve.settings import TrainingPlan
from recsieve.training.history import History
from recsieve.training.own_index import OwnIndex
from recsieve.training.steps import Stepped, Stepper, make_stepper, weigh_batch
from recsieve.training.steps.redraw import Redraw

log = logging.getLogger(__name__)

# Steps made in one go where nothing is to be done between: enough that Python's share of the time is small.
AT_ONCE = 64
# A mean loss that no training comes back from: cross-entropy begins at log 2, and at a learning rate of 1 is about 10.
MOST_LOSS = 1000.0
# How often fresh interactions come in an epoch of a training that goes on (docs/decisions/0022-a-refresh-rehearses.md).
MOST_OFTEN = 4
GENTLER = 0.5  # the learning rate of a training that goes on, times that of one from the start


class GradientFitting(Fitting):
    """A training in progress: an epoch has each interaction once, with new negatives."""

    forgets = True
    anew_per_refresh = 6

    def __init__(
        self,
        model: Model,
        objective: Objective,
        data: Interactions,
        plan: TrainingPlan,
        make_denoiser: Callable[[Context], Denoiser],
        memory: InteractionMemory | None = None,
    ) -> None:
        self.model, self.data, self.plan = model, data, plan
        self._layout = layout_of(model, objective, plan.fidelity)
        self.sampler = Sampler(data, seed=plan.seed, negatives=plan.negatives, layout=self._layout)
        self.steps_per_epoch = self.sampler.steps_per_epoch(plan.batch_size)
        self.total = plan.epochs * self.steps_per_epoch
        per_positive = 1 if objective.pairwise else 1 + plan.negatives
        context = context_of(data, self.steps_per_epoch, per_positive)
        denoiser = make_denoiser(replace(context, fidelity=plan.fidelity))
        self.loss = DenoisedLoss(denoiser, objective, data.group)  # who shares the data shares the batches
        if hasattr(denoiser, "end_epoch"):
            self.loss.memory = EpochMemory(data.all_reduce_length())
        self.memory = None if memory is None else _emptied(memory, len(data))
        self.sampler.relabel(learned_labels(model, denoiser, data), None)
        _tell_of_pairs(objective, self.sampler, model, denoiser, data)
        self._steps: Stepper
        self._steps, self.optimizer = make_stepper(model, self.loss, plan.learning_rate, plan.engine, data.group)
        if hasattr(denoiser, "choose"):
            if self._layout == "joint":
                raise ConfigError(
                    "the strategy needs positives together with their negatives, which fidelity 'authors' shuffles: "
                    "give fidelity 'paper'."
                )
            self._steps = Redraw(self._steps, model, self.loss, data, plan.seed)
        self._own_users = np.flatnonzero(data.user_counts())
        self._history, self._index, self._next = History(data, self._steps.total), OwnIndex(data.rows), NextEpoch()
        self._report_every = max(1, self.steps_per_epoch // 20)
        self._prepared = -1  # the step at which the model was prepared for ranking
        self._fresh: NDArray[np.bool_] | None = None  # interactions that come more often than others
        self._ask(denoiser.first_epoch() if hasattr(denoiser, "first_epoch") else None)
        self._course = self._run()

    def start_from(self, earlier: Earlier) -> bool:
        users, items = torch.from_numpy(earlier.users), torch.from_numpy(earlier.items)
        if not self.model.take_vectors(earlier.scorer, users, items):
            return False
        self.step = self.loss.step = earlier.epochs * self.steps_per_epoch
        self.total = self.step + earlier.more * self.steps_per_epoch
        self._fresh = earlier.fresh if earlier.fresh.any() else None
        for group in self.optimizer.param_groups:
            group["lr"] = GENTLER * self.plan.learning_rate
        return True

    def advance(self) -> float:
        self.model.train()
        self.loss.train()
        return next(self._course)

    def _run(self) -> Iterator[float]:
        """Make steps, giving the loss wherever something is due."""
        while self.step < self.total:
            epoch, within = divmod(self.step, self.steps_per_epoch)
            if self._fresh is not None:
                self.sampler.choose(rehearsal(self._fresh, self.plan.seed, epoch))
            stops = self._stops(epoch)
            ends = [stop - self.step + within for stop in stops]
            chunks = self.sampler.chunks(epoch, self.plan.batch_size, within, ends)
            for self.step, chunk in zip(stops, chunks, strict=True):
                self._remember(self._steps.run(chunk))
                if self.step % self.steps_per_epoch == 0:
                    self._end_epoch()
                if (
                    self._due(self._report_every)
                    or self._due(self.plan.validate_every)
                    or self._due(self.plan.checkpoint_every)
                ):
                    loss = self._history.close_row(self.step, epoch)
                    if not self._history.mean_loss < MOST_LOSS:
                        raise self._diverged(self.step, self._history.mean_loss)
                    yield loss

    def _stops(self, epoch: int) -> list[int]:
        """The steps of the rest of an epoch after which something is to be done, and some between."""
        plan, last = self.plan, (epoch + 1) * self.steps_per_epoch
        intervals = {AT_ONCE, self._report_every, plan.validate_every or last, plan.checkpoint_every or last}
        stops = {stop for every in intervals for stop in range(self.step // every * every + every, last, every)}
        return [*sorted(stops), last]

    def _due(self, every: int | None) -> bool:
        return self.step % (every or self.steps_per_epoch) == 0 or self.step == self.total

    def _remember(self, stepped: Stepped) -> None:
        self._check_finite(stepped.means)
        index = torch.from_numpy(self._index.of(stepped.ids.numpy()))
        self._history.add(stepped.means, stepped.losses, stepped.weights, index)
        if self.memory is not None:
            self.memory.add(stepped.losses, stepped.weights, index)

    def _check_finite(self, means: list[float]) -> None:
        """Stop at the first of some steps whose loss is no number; it is the same on all ranks."""
        if not math.isfinite(sum(means)):
            at = next((place for place, loss in enumerate(means) if not math.isfinite(loss)), len(means) - 1)
            raise self._diverged(self.step - len(means) + 1 + at, means[at])

    def _diverged(self, step: int, loss: float) -> DivergedError:
        rate = self.plan.learning_rate
        return DivergedError(
            f"the training diverged at step {step}, where the loss is {loss:.4g}: give a smaller learning rate than "
            f"{rate:g}, e.g. {rate / 10:g}.",
            step,
        )

    def _end_epoch(self) -> None:
        if self.memory is not None:
            self.memory.close_epoch()
        self._ask(self.loss.end_epoch())

    def _ask(self, asked: NextEpoch | None) -> None:
        if asked is not None:
            # What it leaves as it is stays in the checkpoint too.
            self._next = replace(self._next, **_given(asked))
            self._prepare_epoch()

    def _prepare_epoch(self) -> None:
        """Do with the next epoch what the strategy asked for."""
        asked, own = self._next, self.data.ids_of(np.arange(len(self.data)))
        labels, weights = (
            None if values is None else values.numpy().astype(np.float32)[own]
            for values in (asked.labels, asked.weights)
        )
        self.sampler.relabel(labels, weights)
        if asked.chosen is not None:
            self.sampler.choose(asked.chosen.numpy())

    def scorer(self) -> Model:
        if self._prepared != self.step:
            self.optimizer.flush()
            self._steps.gather(self._own_users, with_moments=False)
            self.model.eval()
            self.model.prepare()
            self._prepared = self.step
        return self.model

    def history(self) -> pl.DataFrame:
        return self._history.frame()

    @torch.no_grad()
    def validation_loss(self, validation: Interactions) -> float:
        """The mean over batches of the mean loss on held-out data, with new negatives at each validation.

        T-CE's loss is taken at its current drop rate, so later models look better for free; this option is for
        comparison with the paper.
        """
        labels = None
        if validation.group.any(validation.has_flags):
            labels = learned_labels(self.model, self.loss.denoiser, validation)
        sampler = Sampler(validation, seed=self.plan.seed, observed=self.data.csr, layout=self._layout, labels=labels)
        self.scorer()
        self.loss.eval()
        means = []
        for batch in sampler.batches(self.step, self.plan.batch_size):
            plain = replace(batch, weights=None)  # what was given says how to train, not how to judge
            # Ids are of training interactions elsewhere; beside labels they only tell what was regretted.
            means.append(float(weigh_batch(self.model, self.loss, plain, with_ids=labels is not None).mean()))
        self.loss.train()
        means_of_all = validation.group.sum(np.array(means)) / validation.group.size
        return float(sum(means_of_all) / len(means))

    @torch.no_grad()
    def trimmed_loss(self, validation: Interactions, share: float) -> float:
        """The mean plain loss on held-out data, without the largest losses of a share of its positives.

        Noise in the validation part is mostly among those, so it has less influence on what is kept.
        """
        if validation.group.size > 1:
            raise ConfigError(
                "select_by is trimmed-loss, which works in one process only: start it without torchrun, or give "
                "another criterion."
            )
        sampler = Sampler(validation, seed=self.plan.seed, observed=self.data.csr, layout=self._layout)
        self.scorer()
        parts = []
        for batch in sampler.batches(self.step, self.plan.batch_size):
            losses = self.model.losses(batch, self.loss.objective)
            rows = slice(None) if losses.rows is None else losses.rows
            parts.append((losses.judged.double(), batch.labels[rows] > 0))
        judged, positive = (torch.cat(part) for part in zip(*parts, strict=True))
        kept = judged[positive].sort().values[: math.ceil((1 - share) * int(positive.sum()))]
        return float(torch.cat([kept, judged[~positive]]).mean())

    def state_dict(self) -> dict[str, Any]:
        self._steps.gather(self._own_users, with_moments=True)
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "loss": self.loss.get_extra_state(),
            "optimizer": self.optimizer.state_dict(),
            "history": self._history.state_dict(),
            "memory": None if self.memory is None else self._of_all_ranks(self.memory.state_dict()),
            "next_epoch": _given(self._next),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.step, self._prepared = state["step"], -1
        self.model.load_state_dict(state["model"])
        self.loss.set_extra_state(state["loss"])
        self.optimizer.load_state_dict(state["optimizer"])
        self._history.load_state_dict(state["history"])
        self._next = NextEpoch(**state["next_epoch"])
        self._prepare_epoch()
        self._course = self._run()
        if self.memory is not None:
            if state.get("memory") is None:
                raise RunError("the training was started without a memory: continue without one, or start again.")
            self.memory.load_state_dict(self._of_this_rank(state["memory"]))

    def _of_all_ranks(self, memory: dict[str, Any]) -> dict[str, Any]:
        """The state of a memory with the records of all ranks, since a checkpoint is written by the first alone."""
        data = self.data
        if data.group.size == 1:
            return memory
        n = data.all_reduce_length()

        def whole(records: Tensor) -> Tensor:  # (rows, interactions here) -> (rows, interactions)
            rows = [data.all_gather_values(row) for row in records.numpy()]
            return torch.from_numpy(np.array(rows, np.float32).reshape(-1, n))

        return {name: whole(value) if isinstance(value, Tensor) else value for name, value in memory.items()}

    def _of_this_rank(self, memory: dict[str, Any]) -> dict[str, Any]:
        """The state of a memory with the records of the interactions here, from those of all ranks."""
        data = self.data
        if data.group.size == 1 or memory["open"].shape[1] != data.all_reduce_length():
            return memory  # of other data it is refused
        own = data.ids_of(np.arange(len(data)))
        return {name: value[:, own] if isinstance(value, Tensor) else value for name, value in memory.items()}


def layout_of(model: Model, objective: Objective, fidelity: Fidelity) -> Layout:
    """How the rows of an epoch are shuffled."""
    if model.user_grouped_batches:
        return "users"  # whichever the fidelity: the authors released nothing of such a model
    if fidelity == "authors" and objective.pairwise:
        raise ConfigError("fidelity is 'authors', which needs a pointwise objective such as bce.")
    return "joint" if fidelity == "authors" else "interactions"


def rehearsal(fresh: NDArray[np.bool_], seed: int, epoch: int) -> NDArray[np.int64]:
    """An epoch in which new interactions come several times and a sample of the others once, so that they are not
    forgotten.
    """
    new, old = np.flatnonzero(fresh), np.flatnonzero(~fresh)
    times = max(1, min(MOST_OFTEN, len(fresh) // (2 * len(new))))
    rng, n_old = np.random.default_rng([seed, epoch, 0xF2E5]), len(fresh) - times * len(new)
    some = rng.choice(old, n_old, replace=False, shuffle=False)  # the sampler shuffles them
    return np.concatenate([np.tile(new, times), some])


def _given(asked: NextEpoch) -> dict[str, Tensor]:
    return {name: value for name, value in vars(asked).items() if value is not None}


def learned_labels(model: Model, denoiser: Denoiser, data: Interactions) -> NDArray[np.float32] | None:
    """The training labels of interactions, if they differ: known false positives are negatives."""
    if not (model.uses_noise_labels or getattr(denoiser, "uses_noise_labels", False)):
        return None
    require_noise_labels(data)
    return (~data.is_false_positive).astype(np.float32)


def require_noise_labels(data: Interactions) -> None:
    """Raise an error if noise has to be known but is not."""
    if not data.group.any(data.has_flags):
        raise ConfigError(
            "the model or strategy learns from noise labels, but there are none: give a rule for false positives, "
            'e.g. "rating < 3", or a model and strategy that do not need labels.'
        )


def _tell_of_pairs(
    objective: Objective, sampler: Sampler, model: Model, denoiser: Denoiser, data: Interactions
) -> None:
    """Say what a pairwise objective leaves out."""
    if not objective.pairwise:
        return
    if sampler.without_negatives:
        log.warning(
            "%d interactions belong to users who have every item: a pairwise objective cannot learn from them.",
            sampler.without_negatives,
        )
    labels = learned_labels(model, denoiser, data)
    if labels is not None:
        left_out = data.group.total(int((labels == 0).sum()))
        log.warning("%d interactions are known to be noise: a pairwise objective gives them no weight.", left_out)


def _emptied(memory: InteractionMemory, n_interactions: int) -> InteractionMemory:
    """A memory that fits and holds nothing of another training."""
    if memory.n_interactions != n_interactions:
        raise ConfigError(
            f"the memory is for {memory.n_interactions} interactions, but there are {n_interactions} to train on: "
            f"give InteractionMemory({n_interactions})."
        )
    memory.forget()
    return memory
