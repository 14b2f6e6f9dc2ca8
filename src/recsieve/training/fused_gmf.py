"""GMF's training step in two kernels, without autograd: rows caught up and scored, then weighed, gone back, and moved.

It is the plain path written out, equal to it to rounding, on the same tables and the same optimiser state, so a
training may go on by either.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numba import njit
from torch import Tensor

from recsieve.adam_rows import catch_up_rows, step_rows
from recsieve.denoisers import KeepAll, LossBatch, Reweighted, Truncated
from recsieve.losses import DenoisedLoss, binary_cross_entropy
from recsieve.models import GMF
from recsieve.optim import LazyAdam
from recsieve.sampling import Batch


class FusedGMF:
    """Makes the training steps of a GMF on the CPU."""

    def __init__(self, model: GMF, loss: DenoisedLoss, optimizer: LazyAdam) -> None:
        self._loss, self._optimizer = loss, optimizer
        self._tables = model.user.weight, model.item.weight
        self._output = model.output.weight, model.output.bias
        self._parameters = [parameter.detach().numpy() for parameter in (*self._tables, *self._output)]

    @staticmethod
    def applies(model: GMF, loss: DenoisedLoss) -> bool:
        """Whether the kernels know the loss and the place of the model; any strategy will do."""
        return loss.pointwise is binary_cross_entropy and model.user.weight.device.type == "cpu"

    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        """Make a step; gives the loss that was minimised, and the losses and weights behind it."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # a second one would wait busily on the core that draws the next batches
        try:
            return self._step(batch)
        finally:
            torch.set_num_threads(threads)

    def _step(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        user_rows, item_rows = (self._optimizer.rows_of(table) for table in self._tables)
        self._loss.step += 1
        rows = batch.users.numpy(), batch.items.numpy()
        logits = torch.empty(len(batch))
        _catch_up_and_score(*rows, *self._parameters, logits.numpy(), user_rows.past, item_rows.past)  # type: ignore[call-arg]
        # By torch, as in the plain path: T-CE's choice turns on the last bit of losses that are nearly equal.
        losses = binary_cross_entropy(logits, batch.labels)
        weights = self._first_weights(batch, losses)
        learning_rate = float(self._optimizer.param_groups[0]["lr"])
        user_rows.timeline.advance(learning_rate)
        item_rows.timeline.advance(learning_rate)
        about = (logits.numpy(), losses.numpy(), batch.labels.numpy(), weights.numpy())
        presents = user_rows.present, item_rows.present, self._output_moments()
        mean = _go_back_and_move(*rows, *self._parameters, *about, *self._selection(batch), *presents)  # type: ignore[call-arg]
        return mean, losses, weights

    def _first_weights(self, batch: Batch, losses: Tensor) -> Tensor:
        """The given weights, and those of a strategy that the kernel does not make itself."""
        weights = torch.ones(len(batch)) if batch.weights is None else batch.weights.clone()
        if type(self._loss.denoiser) in (KeepAll, Truncated, Reweighted):
            return weights
        about = LossBatch(losses, batch.labels, self._loss.step, batch.users, batch.items, batch.ids)
        return weights * self._loss.denoiser.weights(about)

    def _selection(self, batch: Batch) -> tuple[int, float]:
        """How many positives to drop if there are as many, and the power that makes weights."""
        denoiser = self._loss.denoiser
        if isinstance(denoiser, Truncated):
            return denoiser.n_drop(self._loss.step, len(batch), len(batch)), 0.0
        return 0, denoiser.beta if isinstance(denoiser, Reweighted) else 0.0

    def _output_moments(self) -> tuple[np.ndarray, ...]:
        """The moments of the output layer, which has a gradient in every step and so never anything to catch up."""
        states = [self._optimizer.dense_state(parameter) for parameter in self._output]
        for state in states:
            state["step"].numpy()[...] += 1  # on the same memory, and many times quicker than by torch
        return tuple(state[name].numpy() for state in states for name in ("exp_avg", "exp_avg_sq"))


# Sums may be reordered, so that they are made in parallel lanes; everything else is as it is written.
# One thread: on a machine that is busy, waiting for a second one costs more than it saves.
_kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@_kernel
def _catch_up_and_score(users, items, user_table, item_table, output, bias, logits, user_past, item_past):
    """Fill in the logit of each pair, from rows brought up to the present step."""
    catch_up_rows(users, user_table, *user_past)
    catch_up_rows(items, item_table, *item_past)
    weights = output[0]
    for k in range(len(users)):
        user, item, logit = user_table[users[k]], item_table[items[k]], np.float32(0)
        for f in range(len(weights)):
            logit += user[f] * item[f] * weights[f]
        logits[k] = logit + bias[0]


@_kernel
def _go_back_and_move(
    users, items, user_table, item_table, output, bias, logits, losses, labels, weights, n_drop, beta,
    user_present, item_present, output_moments,
):  # fmt: skip
    """Turn given weights into final ones, and make Adam's step; gives the mean loss over what is kept."""
    total, kept = _weigh(losses, labels, weights, n_drop, beta)
    n, factors = len(users), user_table.shape[1]
    user_gradients, item_gradients = np.empty((n, factors), np.float32), np.empty((n, factors), np.float32)
    output_gradient, bias_gradient = np.zeros((1, factors), np.float32), np.zeros((1, 1), np.float32)
    scale = np.float32(1 / kept)
    for k in range(n):
        user, item = users[k], items[k]
        slope = (np.float32(1 / (1 + math.exp(-logits[k]))) - labels[k]) * weights[k] * scale
        # Loops of their own, because the compiler gives up vector instructions over many arrays that might overlap.
        for f in range(factors):
            user_gradients[k, f] = slope * output[0, f] * item_table[item, f]
        for f in range(factors):
            item_gradients[k, f] = slope * output[0, f] * user_table[user, f]
        for f in range(factors):
            output_gradient[0, f] += slope * user_table[user, f] * item_table[item, f]
        bias_gradient[0, 0] += slope
    step_rows(users, user_gradients, user_table, *user_present)
    step_rows(items, item_gradients, item_table, *item_present)
    _, _, _, step, rate, decay, beta1, beta2, eps = user_present
    only, last = np.zeros(1, np.int32), np.zeros(1, np.int32)
    exp_avg, exp_avg_sq, bias_avg, bias_avg_sq = output_moments
    step_rows(only, output_gradient, output, exp_avg, exp_avg_sq, last, step, rate, decay, beta1, beta2, eps)
    bias_row = bias.reshape(1, 1), bias_avg.reshape(1, 1), bias_avg_sq.reshape(1, 1)
    step_rows(only, bias_gradient, *bias_row, last, step, rate, decay, beta1, beta2, eps)
    return total / kept


@_kernel
def _weigh(losses, labels, weights, n_drop, beta):
    """Apply a strategy to given weights; gives the weighted sum of the losses, and over how many it is (at least 1)."""
    _drop_hardest(losses, labels, weights, n_drop)
    total, kept = 0.0, 0
    for k in range(len(losses)):
        if beta > 0:
            weights[k] *= math.exp(-beta * losses[k])
        kept += weights[k] > 0
        total += weights[k] * losses[k]
    return total, max(kept, 1)


@_kernel
def _drop_hardest(losses, labels, weights, n_drop):
    """Give weight 0 to the n_drop positives with the largest losses; of equal ones the first in the batch go."""
    positives = np.flatnonzero(labels > 0)
    n_drop = min(n_drop, len(positives))
    if n_drop == 0:
        return
    threshold = np.partition(losses[positives], len(positives) - n_drop)[len(positives) - n_drop]
    left = n_drop
    for k in positives:
        if losses[k] > threshold:
            weights[k] = 0
            left -= 1
    for k in positives:
        if left > 0 and losses[k] == threshold:
            weights[k] = 0
            left -= 1
