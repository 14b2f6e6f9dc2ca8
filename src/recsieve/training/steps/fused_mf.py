"""MF's training steps, many of them in one kernel, for pointwise and pairwise objectives."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numba import uint64
from numpy.typing import NDArray

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.losses import DenoisedLoss
from recsieve.models import MF
from recsieve.models.hashing import DRAW_FACTOR, uniform_of
from recsieve.objectives import BCE, BPR, Softmax
from recsieve.optim import LazyAdam
from recsieve.optim.rows import Rows, advance_rows, read_rows, step_rows, unique_rows
from recsieve.sampling import Batch, Chunk
from recsieve.training.steps.base import Stepped
from recsieve.training.steps.fused import FusedStep, given_weights, sums_of_others
from recsieve.training.steps.fused_losses import differentiate, kernel, weigh_groups
from recsieve.training.steps.item_rows import Needed


class State(NamedTuple):
    """The two tables, their steps, the state of dropout, and the options, in the form that kernels take."""

    user: Rows
    item: Rows
    user_step: int
    item_step: int
    draw: int
    dropout: float
    l2: float
    learning_rate: float


class FusedMF(FusedStep):
    """Makes the training steps of an MF."""

    objectives: ClassVar[tuple[type, ...]] = (BCE, BPR, Softmax)

    def __init__(
        self, model: MF, loss: DenoisedLoss, optimizer: LazyAdam, group: Communicator = SINGLE_PROCESS
    ) -> None:
        super().__init__(model, loss, optimizer, group)
        self._model, self._tables = model, (model.user.weight, model.item.weight)
        self._arrays = [table.detach().numpy() for table in self._tables]

    def run(self, chunk: Chunk) -> Stepped:
        if not self.is_built_in or self.ranks is not None:
            return super().run(chunk)
        rows, judged = chunk.rows, self.judged(chunk.rows)
        of, ends = judged.of(rows), np.searchsorted(judged.heads, chunk.bounds)
        sizes = np.diff(ends).tolist()
        drops = np.array([self.selection(self.loss.step + 1 + i, size)[0] for i, size in enumerate(sizes)])
        beta = self.selection(self.loss.step, sizes[0])[1]
        losses = np.empty(len(of), np.float32)
        weights = given_weights(of.labels, of.weights, only_liked=self.loss.objective.pairwise)
        pairs, about = (rows.users.numpy(), rows.items.numpy()), (of.labels.numpy(), weights, losses)
        state = self._begin(len(sizes))
        means = _train(*pairs, *about, *judged, chunk.bounds, ends, drops, beta, state)
        self._end(len(sizes))
        self.loss.step += len(sizes)
        return Stepped(means.tolist(), torch.from_numpy(losses), torch.from_numpy(weights), of.ids)

    def score(self, batch: Batch) -> NDArray[np.float32]:
        self._state = self._begin(1)
        distinct = self.unique(self._tables[0], batch.users), self.unique(self._tables[1], batch.items)
        scores, self._read = _score(*distinct, self._state, 0)
        return scores

    def item_rows(self, batch: Batch, ahead: int) -> list[Needed]:
        return [Needed([self._tables[1]], batch.items.numpy())]

    def update(self, batch: Batch, logit_gradients: NDArray[np.float32]) -> None:
        gradients = _gradients(logit_gradients, *self._read, self._state, batch.n_all or len(batch))  # type: ignore[call-arg]
        for table, read, of_rows in zip(self._tables, self._read, gradients, strict=True):
            self.update_rows(table, read[0], of_rows)
        self.step_dense({}, self._tables[0])
        if self._model.dropout > 0:
            self._model.dropout_draw += 1

    def _begin(self, steps: int) -> State:
        users, items = (self.optimizer.rows_of(table) for table in self._tables)
        users.timeline.reserve(steps)
        items.timeline.reserve(steps)
        return State(
            users.rows(self._arrays[0]), items.rows(self._arrays[1]), users.timeline.step, items.timeline.step,
            int(self._model.dropout_draw), self._model.dropout, self._model.l2, self.learning_rate,
        )  # fmt: skip

    def _end(self, steps: int) -> None:
        for table in self._tables:
            self.optimizer.rows_of(table).timeline.step += steps
        if self._model.dropout > 0:
            self._model.dropout_draw += steps


@kernel
def _train(
    users, items, labels, weights, losses, heads, n_negatives, pairwise, temperature, bounds, ends, drops, beta, state,
):  # fmt: skip
    """Make a step on each batch, filling in losses and final weights; gives the mean losses."""
    means = np.empty(len(drops))
    for k in range(len(drops)):
        rows, own = slice(bounds[k], bounds[k + 1]), slice(ends[k], ends[k + 1])
        distinct = unique_rows(users[rows], state.user.marks), unique_rows(items[rows], state.item.marks)
        scores, read = _score(*distinct, state, k)
        first = heads[own] - bounds[k]
        losses[own], logit_gradients = differentiate(scores, labels[own], first, n_negatives, pairwise, temperature)
        about = losses[own], logit_gradients, labels[own], weights[own]
        means[k] = weigh_groups(*about, drops[k], beta, False, first, n_negatives)
        _update(logit_gradients, *read, state, k)  # type: ignore[call-arg]
    return means


@kernel
def _score(distinct_users, distinct_items, state, k):
    """The score of each pair; and of users and of items the unique rows, the place of each, vectors and dropout."""
    user, item = state.user, state.item
    (unique_users, user_inverse), (unique_items, item_inverse) = distinct_users, distinct_items
    user_vectors = read_rows(unique_users, user, state.user_step + k)
    item_vectors = read_rows(unique_items, item, state.item_step + k)
    draw = state.draw + 1 + k
    user_kept = _drop_out(user_vectors, unique_users, 0, draw, state.dropout)
    item_kept = _drop_out(item_vectors, unique_items, len(user.marks), draw, state.dropout)
    scores = _products(user_vectors, item_vectors, user_inverse, item_inverse)
    of_users = unique_users, user_inverse, user_vectors, user_kept
    return scores, (of_users, (unique_items, item_inverse, item_vectors, item_kept))


@kernel
def _drop_out(vectors, unique, first, draw, dropout):
    """Multiply the numbers of vectors by 0, or by 1 scaled up, and give these factors; none without dropout.

    By the same hash as in the model, so that a training may go on by either.
    """
    n_factors = vectors.shape[1]
    kept = np.empty((len(vectors) if dropout > 0 else 0, n_factors), np.float32)
    scale = np.float32(1 / (1 - dropout))
    for place in range(len(kept)):
        row = np.int64(unique[place]) + first
        for f in range(n_factors):
            key = uint64(row) * uint64(n_factors) + uint64(f) + uint64(draw) * uint64(DRAW_FACTOR)
            is_kept = uniform_of(key) >= np.float32(dropout)
            kept[place, f] = scale if is_kept else np.float32(0)
            vectors[place, f] *= kept[place, f]
    return kept


@kernel
def _products(user_vectors, item_vectors, user_inverse, item_inverse):
    scores = np.empty(len(user_inverse), np.float32)
    for k in range(len(scores)):
        user, item, score = user_inverse[k], item_inverse[k], np.float32(0)
        for f in range(user_vectors.shape[1]):
            score += user_vectors[user, f] * item_vectors[item, f]
        scores[k] = score
    return scores


@kernel
def _update(logit_gradients, of_users, of_items, state, k):
    """Make Adam's step on the rows of the batch."""
    user, item, step = state.user, state.item, k + 1
    user_gradients, item_gradients = _gradients(logit_gradients, of_users, of_items, state, len(logit_gradients))
    advance_rows(user, state.user_step + step, state.learning_rate)
    advance_rows(item, state.item_step + step, state.learning_rate)
    step_rows(of_users[0], user_gradients, user, state.user_step + step)
    step_rows(of_items[0], item_gradients, item, state.item_step + step)


@kernel
def _gradients(logit_gradients, of_users, of_items, state, n_rows):
    """Those of the unique users, and of the unique items, of a batch that has this many rows on all ranks."""
    decay = np.float32(2 * state.l2 / max(n_rows, 1))
    return (
        _gradients_of(logit_gradients, of_users, of_items, state.user.table, decay),
        _gradients_of(logit_gradients, of_items, of_users, state.item.table, decay),
    )


@kernel
def _gradients_of(logit_gradients, own, others, table, decay):
    """The gradients of unique rows: of the loss through what dropout has left, and of L2 for each time one comes."""
    unique, inverse, _, kept = own
    gradients = sums_of_others(logit_gradients, inverse, len(unique), others[1], others[2])
    for place in range(len(kept)):
        for f in range(kept.shape[1]):
            gradients[place, f] *= kept[place, f]
    if decay > 0:
        times = np.zeros(len(unique), np.float32)
        for place in inverse:
            times[place] += 1
        for place in range(len(unique)):
            row, factor = unique[place], decay * times[place]
            for f in range(table.shape[1]):
                gradients[place, f] += factor * table[row, f]
    return gradients
