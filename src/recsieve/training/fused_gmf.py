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
from recsieve.models import GMF
from recsieve.optim import LazyAdam
from recsieve.sampling import Batch


class FusedGMF:
    """Makes the training steps of a GMF on the CPU."""

    def __init__(self, model: GMF, loss: DenoisedLoss, optimizer: LazyAdam) -> None:
        self._loss, self._optimizer = loss, optimizer
        self._tables = model.user.weight, model.item.weight
        self._output = model.output

    @staticmethod
    def applies(model: GMF, loss: DenoisedLoss) -> bool:
        """Whether this kernel knows the strategy, and the place of the model."""
        known = type(loss.denoiser) in (KeepAll, Truncated, Reweighted) and loss.pointwise is binary_cross_entropy
        return known and model.user.weight.device.type == "cpu"

    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        """Make a step; gives the loss that was minimised, and the losses and weights behind it."""
        loss, optimizer, (user_table, item_table) = self._loss, self._optimizer, self._tables
        users, items = batch.users.long(), batch.items.long()
        optimizer.catch_up(user_table, users)
        optimizer.catch_up(item_table, items)
        loss.step += 1
        n, factors = len(batch), user_table.shape[1]
        parameters = [p.detach().numpy() for p in (user_table, item_table, self._output.weight, self._output.bias)]
        rows = users.numpy(), items.numpy()
        logits = torch.empty(n)
        _score(*rows, *parameters, logits.numpy())  # type: ignore[call-arg]
        # By torch, as in the plain path: T-CE's choice turns on the last bit of losses that are nearly equal.
        losses = binary_cross_entropy(logits, batch.labels)
        weights = torch.ones(n) if batch.weights is None else batch.weights.clone()
        user_gradients, item_gradients = torch.empty(n, factors), torch.empty(n, factors)
        output_gradient = torch.zeros(factors + 1)
        about = (logits, losses, batch.labels, weights, user_gradients, item_gradients, output_gradient)
        arrays = (*rows, *parameters, *(array.numpy() for array in about))
        mean = _weigh_and_go_back(*arrays, *self._selection(batch))  # type: ignore[call-arg]
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
def _score(users, items, user_table, item_table, output, bias, logits):
    """Fill in the logit of each pair."""
    for k in range(len(users)):
        user, item, logit = users[k], items[k], bias[0]
        for f in range(user_table.shape[1]):
            logit += user_table[user, f] * item_table[item, f] * output[0, f]
        logits[k] = logit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _weigh_and_go_back(
    users, items, user_table, item_table, output, bias,
    logits, losses, labels, weights, user_gradients, item_gradients, output_gradient, n_drop, beta,
):  # fmt: skip
    """Turn given weights into final ones, fill in all gradients, and give the mean loss over what is kept."""
    if n_drop > 0:
        _drop_hardest(weights, losses, labels, n_drop)
    kept, total = 0, 0.0
    for k in range(len(users)):
        if beta > 0:
            weights[k] *= math.exp(-beta * losses[k])
        kept += weights[k] > 0
        total += weights[k] * losses[k]
    scale = np.float32(1 / max(kept, 1))
    factors = user_table.shape[1]
    for k in range(len(users)):
        user, item = users[k], items[k]
        slope = (np.float32(1 / (1 + math.exp(-logits[k]))) - labels[k]) * weights[k] * scale
        for f in range(factors):
            by_user, by_item = slope * user_table[user, f], slope * item_table[item, f]
            user_gradients[k, f] = by_item * output[0, f]
            item_gradients[k, f] = by_user * output[0, f]
            output_gradient[f] += by_user * item_table[item, f]
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
