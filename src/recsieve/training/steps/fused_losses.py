"""The losses, logit gradients and weights of a batch, in kernels: per row, or per positive with its negatives."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

from recsieve.sampling import Batch

# Sums may be reordered, so that they are made in parallel lanes; everything else is as it is written.
kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
BIN_BITS = 12  # the counts of as many bins fit into the fastest cache


class Judged(NamedTuple):
    """The rows of a batch that have a loss, each followed by the negatives that share it."""

    heads: NDArray[np.int64]
    n_negatives: int  # 0: each row has a loss of its own, or there are no negatives at all
    pairwise: bool
    temperature: float  # of the softmax; 0: BPR

    def of(self, rows: Batch) -> Batch:
        """The rows that have a loss."""
        return rows if len(self.heads) == len(rows) else rows.take(torch.from_numpy(self.heads))


@kernel
def differentiate(scores, labels, heads, n_negatives, pairwise, temperature):
    """A loss for each head, and its logit_gradient at each row."""
    if not pairwise:
        return cross_entropy(scores, labels)
    losses, logit_gradients = np.empty(len(heads), np.float32), np.zeros_like(scores)
    for place in range(len(heads)):
        group = slice(heads[place], heads[place] + n_negatives + 1)
        if temperature > 0:
            losses[place] = _softmax(scores[group], logit_gradients[group], temperature)
        else:
            losses[place] = _bpr(scores[group], logit_gradients[group])
    return losses, logit_gradients


@kernel
def _bpr(scores, logit_gradients):
    """The loss of a positive, which comes first, as `recsieve.objectives.BPR` has it; fills in the gradients."""
    loss, total, share = 0.0, 0.0, 1.0 / (len(scores) - 1)
    for k in range(1, len(scores)):
        lead = np.float64(scores[0]) - np.float64(scores[k])
        small = math.exp(-abs(lead))
        loss += (max(-lead, 0.0) + math.log1p(small)) * share
        logit_gradient = (small if lead >= 0 else 1.0) / (1.0 + small) * share
        logit_gradients[k] = logit_gradient
        total += logit_gradient
    logit_gradients[0] = -total
    return loss


@kernel
def _softmax(scores, logit_gradients, temperature):
    """The loss of a positive, which comes first, as `recsieve.objectives.Softmax` has it; fills in the gradients."""
    most = np.float64(scores.max())
    total = 0.0
    for score in scores:
        total += math.exp((np.float64(score) - most) / temperature)
    for k in range(len(scores)):
        share = math.exp((np.float64(scores[k]) - most) / temperature) / total
        logit_gradients[k] = (share - 1.0 if k == 0 else share) / temperature
    return math.log(total) - (np.float64(scores[0]) - most) / temperature


@kernel
def weigh_groups(losses, logit_gradients, labels, weights, n_drop, beta, by_batch, heads, n_negatives):
    """Like `weigh`, for losses with the logit_gradients of a head and of the negatives that follow."""
    if n_negatives == 0:
        return weigh(losses, logit_gradients, labels, weights, n_drop, beta, by_batch)
    factors = np.ones_like(losses)
    mean = weigh(losses, factors, labels, weights, n_drop, beta, by_batch)
    scale_groups(logit_gradients, factors, heads, n_negatives)
    return mean


@kernel
def scale_groups(logit_gradients, factors, heads, n_negatives):
    """Multiply the logit_gradients of each head and of the negatives that follow by a factor."""
    for place in range(len(heads)):
        for k in range(heads[place], heads[place] + n_negatives + 1):
            logit_gradients[k] *= factors[place]


@kernel
def cross_entropy(logits, labels):
    """The cross-entropy of each interaction, as in `recsieve.objectives.BCE`, and its logit_gradient."""
    losses, logit_gradients = np.empty_like(logits), np.empty_like(logits)
    for k in range(len(logits)):
        logit = np.float64(logits[k])
        small = math.exp(-abs(logit))
        losses[k] = max(logit, 0.0) - logit * labels[k] + math.log1p(small)
        logit_gradients[k] = (1.0 if logit >= 0 else small) / (1.0 + small) - labels[k]
    return losses, logit_gradients


@kernel
def weigh(losses, logit_gradients, labels, weights, n_drop, beta, by_batch):
    """Turn given weights into final ones, and gradients into those of the mean loss, over the kept or the batch."""
    _drop_hardest(losses, labels, weights, n_drop)
    total, kept = 0.0, 0
    for k in range(len(losses)):
        if beta > 0:
            weights[k] *= np.exp(np.float32(-beta) * losses[k])
        kept += weights[k] > 0
        total += weights[k] * losses[k]
    if by_batch:
        kept = len(losses)
    share = np.float32(1 / max(kept, 1))
    for k in range(len(losses)):
        logit_gradients[k] *= weights[k] * share
    return total / max(kept, 1)


@kernel
def _drop_hardest(losses, labels, weights, n_drop):
    """Give weight 0 to the n_drop positives with the largest losses; of equal ones the first in the batch go."""
    if n_drop == 0:
        return
    of_positives, count = np.empty_like(losses), 0
    for k in range(len(losses)):  # without branches: what is no positive is overwritten by what comes next
        of_positives[count] = losses[k]
        count += labels[k] > 0
    left = min(n_drop, count)
    if left == 0:
        return
    threshold = _nth_largest(of_positives[:count], left)
    for k in range(len(losses)):
        harder = (labels[k] > 0) & (losses[k] > threshold)
        weights[k] = np.float32(0) if harder else weights[k]
        left -= harder
    for k in range(len(losses)):
        if left == 0:
            break
        if labels[k] > 0 and losses[k] == threshold:
            weights[k] = 0
            left -= 1


@kernel
def _nth_largest(values, n):
    """Sorted into bins by their first bits, which order floats; only one bin has to be searched."""
    bits, counts = values.view(np.int32), np.zeros(1 << BIN_BITS, np.int64)
    for k in range(len(bits)):
        counts[_bin(bits[k])] += 1
    bin_of_nth = len(counts) - 1
    while counts[bin_of_nth] < n:
        n -= counts[bin_of_nth]
        bin_of_nth -= 1
    in_bin, count = np.empty_like(values), 0
    for k in range(len(bits)):
        in_bin[count] = values[k]
        count += _bin(bits[k]) == bin_of_nth
    return np.partition(in_bin[:count], count - n)[count - n]


@kernel
def _bin(bits):
    """The sign, the exponent and some of the mantissa of a float32, larger for larger floats."""
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> (32 - BIN_BITS)) + (1 << (BIN_BITS - 1))
