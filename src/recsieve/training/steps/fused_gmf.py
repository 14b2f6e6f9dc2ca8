"""GMF's training steps, many of them in one kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.losses import DenoisedLoss
from recsieve.models import GMF
from recsieve.optim import LazyAdam
from recsieve.optim.rows import Rows, advance_rows, catch_up_rows, fetch_row, step_rows, step_vector, unique_rows
from recsieve.prefetch import AHEAD
from recsieve.sampling import Batch, Chunk
from recsieve.training.steps.base import Stepped
from recsieve.training.steps.fused import FusedStep, given_weights
from recsieve.training.steps.fused_losses import cross_entropy, kernel, weigh
from recsieve.training.steps.item_rows import Needed


class Dense(NamedTuple):
    """A parameter that is no table, with its moments, in the form that kernels take."""

    values: NDArray[np.float32]
    exp_avg: NDArray[np.float32]
    exp_avg_sq: NDArray[np.float32]


class FusedGMF(FusedStep):
    """Makes the training steps of a GMF."""

    def __init__(
        self, model: GMF, loss: DenoisedLoss, optimizer: LazyAdam, group: Communicator = SINGLE_PROCESS
    ) -> None:
        super().__init__(model, loss, optimizer, group)
        self._tables = model.user.weight, model.item.weight
        self._arrays = [table.detach().numpy() for table in self._tables]
        self._output = model.output.weight, model.output.bias

    def run(self, chunk: Chunk) -> Stepped:
        if not self.is_built_in or self.ranks is not None:
            return super().run(chunk)
        rows, sizes = chunk.rows, np.diff(chunk.bounds).tolist()
        drops = np.array([self.selection(self.loss.step + 1 + i, size)[0] for i, size in enumerate(sizes)])
        beta = self.selection(self.loss.step, sizes[0])[1]
        losses, weights = np.empty(len(rows), np.float32), given_weights(rows.labels, rows.weights)
        columns = rows.users.numpy(), rows.items.numpy(), rows.labels.numpy(), weights, losses
        means = _train(*columns, chunk.bounds, drops, beta, self.learning_rate, *self._begin(len(sizes)))
        self._end(len(sizes))
        self.loss.step += len(sizes)
        return Stepped(means.tolist(), torch.from_numpy(losses), torch.from_numpy(weights), rows.ids)

    def score(self, batch: Batch) -> NDArray[np.float32]:
        self._rows = self._begin(1)
        users, user_inverse = self.unique(self._tables[0], batch.users)
        items, item_inverse = self.unique(self._tables[1], batch.items)
        self._inverse = users, user_inverse, items, item_inverse
        return _score(batch.users.numpy(), batch.items.numpy(), users, items, *self._rows)

    def item_rows(self, batch: Batch, ahead: int) -> list[Needed]:
        return [Needed([self._tables[1]], batch.items.numpy())]

    def update(self, batch: Batch, logit_gradients: NDArray[np.float32]) -> None:
        users, items, weight, bias = _gradients(logit_gradients, *self._inverse, *self._rows[:3])
        self.update_rows(self._tables[0], self._inverse[0], users)
        self.update_rows(self._tables[1], self._inverse[2], items)
        gradients = zip(self._output, map(torch.from_numpy, (weight, bias)), strict=True)
        self.step_dense(dict(gradients), self._tables[0])

    def _begin(self, steps: int) -> tuple[Rows, Rows, Dense, Dense, int, int]:
        """The two tables, weights and bias of the output layer, and the steps of the tables."""
        users, items = (self.optimizer.rows_of(table) for table in self._tables)
        users.timeline.reserve(steps)
        items.timeline.reserve(steps)
        user, item = users.rows(self._arrays[0]), items.rows(self._arrays[1])
        weight, bias = (self._dense(parameter) for parameter in self._output)
        return user, item, weight, bias, users.timeline.step, items.timeline.step

    def _dense(self, parameter: Tensor) -> Dense:
        state = self.optimizer.dense_state(parameter)
        tensors = parameter.detach(), state["exp_avg"], state["exp_avg_sq"]
        return Dense(*(tensor.numpy().reshape(-1) for tensor in tensors))

    def _end(self, steps: int) -> None:
        for table in self._tables:
            self.optimizer.rows_of(table).timeline.step += steps
        for parameter in self._output:
            self.optimizer.dense_state(parameter)["step"] += steps


@kernel
def _train(
    users, items, labels, weights, losses, bounds, drops, beta, learning_rate,
    user, item, weight, bias, user_step, item_step,
):  # fmt: skip
    """Make a step on each batch, filling in losses and final weights; gives the mean losses."""
    means = np.empty(len(drops))
    for k in range(len(drops)):
        batch = slice(bounds[k], bounds[k + 1])
        past = user, item, weight, bias, user_step + k, item_step + k
        unique_users, user_inverse = unique_rows(users[batch], user.marks)
        unique_items, item_inverse = unique_rows(items[batch], item.marks)
        logits = _score(users[batch], items[batch], unique_users, unique_items, *past)
        losses[batch], logit_gradients = cross_entropy(logits, labels[batch])
        means[k] = weigh(losses[batch], logit_gradients, labels[batch], weights[batch], drops[k], beta, False)
        inverse = unique_users, user_inverse, unique_items, item_inverse
        _update(logit_gradients, *inverse, learning_rate, *past)
    return means


@kernel
def _score(users, items, unique_users, unique_items, user, item, weight, bias, user_step, item_step):
    """The logit of each pair, once the rows of their unique users and items are up to date."""
    catch_up_rows(unique_users, user, user_step)
    catch_up_rows(unique_items, item, item_step)
    return _products(users, items, user.table, item.table, weight.values, bias.values[0])


@kernel
def _products(users, items, user_table, item_table, weights, bias):
    logits = np.empty(len(users), np.float32)
    for k in range(len(users)):
        if k + AHEAD < len(users):
            fetch_row(user_table, users[k + AHEAD])
            fetch_row(item_table, items[k + AHEAD])
        u, i, logit = users[k], items[k], np.float32(0)
        for f in range(len(weights)):
            logit += user_table[u, f] * item_table[i, f] * weights[f]
        logits[k] = logit + bias
    return logits


@kernel
def _update(
    logit_gradients, unique_users, user_inverse, unique_items, item_inverse, learning_rate,
    user, item, weight, bias, user_step, item_step,
):  # fmt: skip
    """Make Adam's step on the rows of the batch and on the output layer."""
    user_gradients, item_gradients, weight_gradient, bias_gradient = _gradients(
        logit_gradients, unique_users, user_inverse, unique_items, item_inverse, user, item, weight
    )
    advance_rows(user, user_step + 1, learning_rate)
    advance_rows(item, item_step + 1, learning_rate)
    step_rows(unique_users, user_gradients, user, user_step + 1)
    step_rows(unique_items, item_gradients, item, item_step + 1)
    factors = user.rates[user_step + 1], user.scales[user_step + 1], user.beta1, user.beta2, user.eps
    step_vector(weight.values, weight.exp_avg, weight.exp_avg_sq, weight_gradient, *factors)
    step_vector(bias.values, bias.exp_avg, bias.exp_avg_sq, bias_gradient, *factors)


@kernel
def _gradients(logit_gradients, unique_users, user_inverse, unique_items, item_inverse, user, item, weight):
    """Those of the unique users and items, and of weight and bias of the output layer."""
    user_gradients = _sums_of_others(
        logit_gradients, user_inverse, len(unique_users), item_inverse, unique_items, item.table
    )
    item_gradients = _sums_of_others(
        logit_gradients, item_inverse, len(unique_items), user_inverse, unique_users, user.table
    )
    weight_gradient = _sum_of_products(user_gradients, unique_users, user.table)
    _scale_columns(user_gradients, weight.values)
    _scale_columns(item_gradients, weight.values)
    bias_gradient = np.full(1, logit_gradients.astype(np.float64).sum(), np.float32)
    return user_gradients, item_gradients, weight_gradient, bias_gradient


@kernel
def _sums_of_others(logit_gradients, inverse, n_unique, other_inverse, others, table):
    """For each unique row the sum of logit_gradient times vector of the row that it is paired with."""
    sums = np.zeros((n_unique, table.shape[1]), np.float32)
    for k in range(len(logit_gradients)):
        if k + AHEAD < len(logit_gradients):
            fetch_row(sums, inverse[k + AHEAD])
            fetch_row(table, others[other_inverse[k + AHEAD]])
        # Read before the loop: the compiler cannot know that the sums do not overlap them, and would read them again.
        logit_gradient, place, other = logit_gradients[k], inverse[k], others[other_inverse[k]]
        for f in range(sums.shape[1]):
            sums[place, f] += logit_gradient * table[other, f]
    return sums


@kernel
def _sum_of_products(sums, unique, table):
    total = np.zeros(table.shape[1], np.float32)
    for place in range(len(unique)):
        row = unique[place]
        for f in range(table.shape[1]):
            total[f] += sums[place, f] * table[row, f]
    return total


@kernel
def _scale_columns(sums, factors):
    for place in range(len(sums)):
        for f in range(len(factors)):
            sums[place, f] *= factors[f]
