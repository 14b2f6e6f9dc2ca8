"""Training steps without autograd: a model scores and updates its own rows, and the rest is the same for all models.

Such a step is the plain path written out. It equals that path up to rounding, on the same tables and optimiser state,
so a training may continue with either.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.cores import one_thread, thread_pool
from recsieve.denoisers import KeepAll, LossBatch, Reweighted, Truncated
from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.objectives import BCE, Softmax
from recsieve.optim import LazyAdam
from recsieve.optim.rows import step_vector
from recsieve.sampling import Batch, Chunk
from recsieve.training.steps.base import Stepped, Stepper, joined
from recsieve.training.steps.fused_losses import Judged, differentiate, kernel, scale_groups, weigh
from recsieve.training.steps.item_rows import Needed
from recsieve.training.steps.ranks import Ranks, Unique

A = TypeVar("A")
B = TypeVar("B")


class FusedStep(Stepper):
    """Makes the training steps of one model class on the CPU."""

    objectives: ClassVar[tuple[type, ...]] = (BCE,)

    def __init__(
        self, model: Model, loss: DenoisedLoss, optimizer: LazyAdam, group: Communicator = SINGLE_PROCESS
    ) -> None:
        self.loss, self.optimizer = loss, optimizer
        self.ranks = None if group.size == 1 else Ranks(model, optimizer, group)
        self._other_core = thread_pool(1) if torch.get_num_threads() > 1 else None

    @abstractmethod
    def score(self, batch: Batch) -> NDArray[np.float32]:
        """The logits of a batch, from rows brought up to the current step."""

    @abstractmethod
    def update(self, batch: Batch, logit_gradients: NDArray[np.float32]) -> None:
        """Adam's step, given the gradient of the mean loss at each of the logits that were just computed."""

    @abstractmethod
    def item_rows(self, batch: Batch, ahead: int) -> list[Needed]:
        """The rows of item tables that a batch looks up if it is this many steps ahead; on ranks only."""

    @classmethod
    def applies(cls, model: Model, loss: DenoisedLoss) -> bool:
        """Whether the objective and the device of the model are supported; any strategy is."""
        known = type(loss) is DenoisedLoss and type(loss.objective) in cls.objectives
        return known and all(parameter.device.type == "cpu" for parameter in model.parameters())

    @staticmethod
    def pays(model: Model) -> bool:
        """Whether it is faster than autograd for a model of this size."""
        return True

    def __call__(self, batch: Batch) -> Stepped:
        if self.ranks is not None:
            return self.run(Chunk(batch, np.array([0, batch.n_all])))
        with one_thread():
            return self._step(batch)

    def run(self, chunk: Chunk) -> Stepped:
        if self.ranks is None:
            return super().run(chunk)
        with one_thread():
            names = ("labels", "weights") if self.is_built_in else ("labels", "weights", "users", "items", "ids")
            needed = [self.item_rows(batch, ahead) for ahead, batch in enumerate(chunk.batches())]
            self.ranks.announce(self.judged(chunk.rows).of(chunk.rows), chunk.bounds, needed, names=names)
            return joined(map(self._step, chunk.batches()))

    @torch.no_grad()
    def _step(self, batch: Batch) -> Stepped:
        self.loss.step += 1
        if self.ranks is not None:
            self.ranks.fetch(batch.users.numpy())
        judged = self.judged(batch)
        of = judged.of(batch)
        losses, logit_gradients = differentiate(self.score(batch), batch.labels.numpy(), *judged)
        if self.ranks is None:
            about = LossBatch(torch.from_numpy(losses), of.labels, self.loss.step, of.users, of.items, of.ids)
            weights, factors, mean = self._weigh(about, of.weights)
        else:
            whole, all_losses, own = self.ranks.exchange_losses(losses)
            about = LossBatch(torch.from_numpy(all_losses), step=self.loss.step, **whole.columns)
            weights, factors, mean = self._weigh(about, whole.given)
            weights, factors = weights[own], factors[own]
        scale_groups(logit_gradients, factors, judged.heads, judged.n_negatives)
        self.update(batch, logit_gradients)
        return Stepped([mean], torch.from_numpy(losses), torch.from_numpy(weights), of.ids)

    def gather(self, users: NDArray[np.int64], *, with_moments: bool) -> None:
        if self.ranks is not None:
            self.ranks.gather(users, with_moments=with_moments)

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if self.ranks is None else self.ranks.total(values)

    def judged(self, rows: Batch) -> Judged:
        """The rows that have a loss: all, or with a pairwise objective the positives that have negatives."""
        objective = self.loss.objective
        if not objective.pairwise:
            return Judged(np.arange(len(rows)), 0, False, 0.0)
        positive, negative = rows.pairs()
        temperature = objective.temperature if isinstance(objective, Softmax) else 0.0
        return Judged(positive.numpy(), negative.shape[1], True, temperature)

    def _weigh(self, about: LossBatch, given: Tensor | None) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
        """The weights of a whole batch, how the mean loss changes with each loss, and the mean."""
        if self.is_built_in:  # what the kernel does not make itself
            weights = given_weights(about.labels, given, only_liked=self.loss.objective.pairwise)
        else:
            weights = self.loss.weights_of(about, given).numpy()
        losses, factors = about.losses.numpy(), np.ones(len(weights), np.float32)
        by_batch = getattr(self.loss.denoiser, "divides_by", "kept") == "batch"
        selection = self.selection(about.step, len(weights))
        return weights, factors, weigh(losses, factors, about.labels.numpy(), weights, *selection, by_batch)

    @property
    def learning_rate(self) -> float:
        return float(self.optimizer.param_groups[0]["lr"])

    def unique(self, table: Tensor, rows: Tensor | NDArray[np.integer]) -> Unique:
        """Rows of a table, each once, and where each of these is among them; on ranks, as they were announced."""
        if self.ranks is None:
            return self.optimizer.rows_of(table).unique(np.asarray(rows))
        return self.ranks.unique(table)

    def read(self, table: Tensor, unique: NDArray[np.integer]) -> NDArray[np.float32]:
        """A copy of distinct rows of a table, brought up to date."""
        return self.optimizer.rows_of(table).read(table.detach().numpy(), unique)

    def update_rows(self, table: Tensor, unique: NDArray[np.integer], gradients: NDArray[np.float32]) -> None:
        """Adam's step on rows that were read; in a group, as part of `step_dense`."""
        if self.ranks is not None:
            return self.ranks.hold(table, unique, gradients)
        self.optimizer.rows_of(table).step(table.detach().numpy(), unique, gradients, self.learning_rate)

    def step_dense(self, gradients: dict[Tensor, Tensor], table: Tensor) -> None:
        """Adam's step on dense parameters, after that on all tables."""
        if self.ranks is not None:
            gradients = self.ranks.step(gradients, self.learning_rate)
        adam = self.optimizer.rows_of(table)
        time = adam.timeline
        factors = time.rates[time.step], time.scales[time.step], *time.betas, adam.eps
        for parameter, gradient in gradients.items():
            state = self.optimizer.dense_state(parameter)
            tensors = parameter.detach(), state["exp_avg"], state["exp_avg_sq"], gradient
            step_vector(*(tensor.numpy().reshape(-1) for tensor in tensors), *factors)  # type: ignore[call-arg]
            state["step"] += 1

    def both(self, one: Callable[[], A], other: Callable[[], B], *, worth_it: bool = True) -> tuple[A, B]:
        """Do two things, on two cores if torch may use them and the work is large enough."""
        if self._other_core is None or not worth_it:
            return one(), other()
        coming = self._other_core.submit(other)
        return one(), coming.result()

    @property
    def is_built_in(self) -> bool:
        """Whether `selection` fully describes the strategy."""
        return type(self.loss.denoiser) in (KeepAll, Truncated, Reweighted)

    def selection(self, step: int, n: int) -> tuple[int, float]:
        """How many positives of a batch to drop, and the exponent of the weights."""
        denoiser = self.loss.denoiser
        if type(denoiser) is Truncated:
            return denoiser.n_drop(step, n, n), 0.0
        return 0, denoiser.beta if type(denoiser) is Reweighted else 0.0


def given_weights(labels: Tensor, given: Tensor | None, *, only_liked: bool = False) -> NDArray[np.float32]:
    """A copy of the given weights; 1 if there are none, and 0 for positives without a pair."""
    weights = np.ones(len(labels), np.float32) if given is None else given.numpy().copy()
    return weights * (labels.numpy() > 0) if only_liked else weights


@kernel
def sums_of_others(logit_gradients, inverse, n_unique, other_inverse, others):
    """For each distinct row, the sum of logit_gradient times the row that it is paired with."""
    sums = np.zeros((n_unique, others.shape[1]), np.float32)
    for k in range(len(logit_gradients)):
        logit_gradient, place, other = logit_gradients[k], inverse[k], other_inverse[k]
        for i in range(others.shape[1]):
            sums[place, i] += logit_gradient * others[other, i]
    return sums
