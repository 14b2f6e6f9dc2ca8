"""GMF's training step without autograd: forward, selection and backward in one kernel, then Adam over the rows.

It is the plain path written out, equal to it to rounding, on the same tables and the same optimiser state, so a
training may go on by either.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numba import njit
from torch import Tensor

from recsieve.denoisers import KeepAll, Reweighted, Truncated
from recsieve.losses import DenoisedLoss, binary_cross_entropy
from recsieve.models import GMF, Model
from recsieve.optim import LazyAdam
from recsieve.sampling import Batch


class FusedGMF:
    """Makes the training steps of a GMF on the CPU."""

    def __init__(self, model: GMF, loss: DenoisedLoss, optimizer: LazyAdam) -> None:
        self._loss, self._optimizer = loss, optimizer
        self._tables = model.user.weight, model.item.weight
        self._output = model.output

    @staticmethod
    def applies(model: Model, loss: DenoisedLoss) -> bool:
        """Whether this kernel knows the model, its place, and the strategy."""
        known = type(loss.denoiser) in (KeepAll, Truncated, Reweighted) and loss.pointwise is binary_cross_entropy
        return known and type(model) is GMF and model.user.weight.device.type == "cpu"

    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        """Make a step; gives the loss that was minimised, and the losses and weights behind it."""
        loss, optimizer, (user_table, item_table) = self._loss, self._optimizer, self._tables
        users, items = batch.users.long(), batch.items.long()
        optimizer.catch_up(user_table, users)
        optimizer.catch_up(item_table, items)
        loss.step += 1
        n, factors = len(batch), user_table.shape[1]
        losses, weights, user_gradients, item_gradients, output_gradient = (
            torch.empty(n), torch.ones(n), torch.empty(n, factors), torch.empty(n, factors), torch.empty(factors + 1)
        )  # fmt: skip
        n_drop, beta = self._selection(batch)
        given = batch.weights if batch.weights is not None else torch.empty(0)
        arrays = (
            users, items, batch.labels, given, user_table, item_table, self._output.weight[0], self._output.bias,
            losses, weights, user_gradients, item_gradients, output_gradient,
        )  # fmt: skip
        mean = _forward_and_backward(*(array.detach().numpy() for array in arrays), n_drop, beta)
        self._output.weight.grad = output_gradient[:factors].view(1, -1)
        self._output.bias.grad = output_gradient[factors:]
        optimizer.step_on_rows([(user_table, users, user_gradients), (item_table, items, item_gradients)])
        return mean, losses, weights

    def _selection(self, batch: Batch) -> tuple[int, float]:
        """How many positives to drop, and the power that makes weights."""
        denoiser = self._loss.denoiser
        if isinstance(denoiser, Truncated):
            return denoiser.n_drop(self._loss.step, len(batch), int((batch.labels > 0).sum())), 0.0
        return 0, denoiser.beta if isinstance(denoiser, Reweighted) else 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def _forward_and_backward(
    users, items, labels, given, user_table, item_table, output, bias,
    losses, weights, user_gradients, item_gradients, output_gradient, n_drop, beta,
):  # fmt: skip
    """Fill the losses, weights and gradients of a batch; gives the mean loss over what is kept."""
    n, factors = user_gradients.shape
    slopes = np.empty(n, np.float32)  # of each loss by its logit
    for k in range(n):
        user, item = users[k], items[k]
        logit = bias[0]
        for f in range(factors):
            logit += user_table[user, f] * item_table[item, f] * output[f]
        e = math.exp(-abs(logit))
        probability = (1 if logit >= 0 else e) / (1 + e)
        losses[k] = max(logit, 0) - logit * labels[k] + math.log1p(e)
        slopes[k] = probability - labels[k]
    if n_drop > 0:
        _drop_hardest(weights, losses, labels, n_drop)
    kept, total = 0, 0.0
    for k in range(n):
        if beta > 0:
            weights[k] = math.exp(-beta * losses[k])
        if len(given) > 0:
            weights[k] *= given[k]
        kept += weights[k] > 0
        total += weights[k] * losses[k]
    scale = np.float32(1 / max(kept, 1))
    output_gradient[:] = 0
    for k in range(n):
        user, item, slope = users[k], items[k], slopes[k] * weights[k] * scale
        for f in range(factors):
            u, i = user_table[user, f], item_table[item, f]
            user_gradients[k, f] = slope * output[f] * i
            item_gradients[k, f] = slope * output[f] * u
            output_gradient[f] += slope * u * i
        output_gradient[factors] += slope
    return total / max(kept, 1)


@njit(cache=True, nogil=True)
def _drop_hardest(weights, losses, labels, n_drop):
    """Give weight 0 to exactly n_drop positives with the largest losses."""
    positives = np.flatnonzero(labels > 0)
    threshold = np.partition(losses[positives], len(positives) - n_drop)[len(positives) - n_drop]
    left = n_drop
    for k in positives:
        if losses[k] > threshold:
            weights[k] = 0
            left -= 1
    for k in positives:  # of those on the threshold as many as are missing
        if left > 0 and losses[k] == threshold:
            weights[k] = 0
            left -= 1
