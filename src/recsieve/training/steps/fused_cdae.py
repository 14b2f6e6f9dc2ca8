"""CDAE's training step without autograd, on the remaining items of the profiles and the requested items."""

from __future__ import annotations

import numpy as np
import torch
from numba import uint64
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.losses import DenoisedLoss
from recsieve.models import CDAE
from recsieve.models.hashing import DRAW_FACTOR, uniform_of
from recsieve.optim import LazyAdam
from recsieve.sampling import Batch
from recsieve.training.steps.fused import FusedStep, sums_of_others
from recsieve.training.steps.fused_losses import kernel
from recsieve.training.steps.item_rows import Needed

MANY_ROWS = 8192  # from which on it pays to have the decoder, which is most of the work, on another core


class FusedCDAE(FusedStep):
    """Makes the training steps of a CDAE."""

    def __init__(
        self, model: CDAE, loss: DenoisedLoss, optimizer: LazyAdam, group: Communicator = SINGLE_PROCESS
    ) -> None:
        super().__init__(model, loss, optimizer, group)
        self._model = model
        self._profiles = model.offsets.numpy(), model.items.numpy()

    def score(self, batch: Batch) -> NDArray[np.float32]:
        model = self._model
        self._users, user_inverse = self.unique(model.user.weight, batch.users)
        self._items, item_inverse = self.unique(model.decoder.weight, batch.items)
        self._inverse = user_inverse, item_inverse
        self._hidden, (self._decoder, bias) = self.both(
            self._encode, self._read_decoder, worth_it=len(batch) >= MANY_ROWS
        )
        return _scores(self._hidden.numpy(), self._decoder, bias, *self._inverse)

    def _encode(self) -> Tensor:
        """The hidden vectors of the unique users, from corrupted profiles."""
        model = self._model
        model.corruption_draw += 1
        kept, self._bounds = self._keep(self._users, self._draw)
        self._kept, self._kept_inverse = self.unique(model.encoder.weight, kept)
        encoder = self.read(model.encoder.weight, self._kept)
        sums = _sum_bags(encoder, self._kept_inverse, self._bounds, np.float32(1 / (1 - model.corruption)))
        own = torch.from_numpy(self.read(model.user.weight, self._users))
        return model.activation(torch.from_numpy(sums) + own + model.hidden_bias)

    @property
    def _draw(self) -> int:
        return int(self._model.corruption_draw)

    def _keep(self, users: NDArray[np.integer], draw: int) -> tuple[NDArray[np.int32], NDArray[np.integer]]:
        """What corruption leaves of the profiles of users in a draw, and where that of each user ends."""
        return _keep(users, *self._profiles, draw, self._model.n_items, self._model.corruption)

    def _read_decoder(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        model = self._model
        return self.read(model.decoder.weight, self._items), self.read(model.item_bias.weight, self._items)

    def item_rows(self, batch: Batch, ahead: int) -> list[Needed]:
        model = self._model
        users, _ = self.optimizer.rows_of(model.user.weight).unique(batch.users.numpy())
        kept, _ = self._keep(users, self._draw + 1 + ahead)
        outputs = [model.decoder.weight, model.item_bias.weight]
        return [Needed([model.encoder.weight], kept), Needed(outputs, batch.items.numpy())]

    def update(self, batch: Batch, logit_gradients: NDArray[np.float32]) -> None:
        at_hidden = sums_of_others(logit_gradients, self._inverse[0], len(self._users), self._inverse[1], self._decoder)
        at_encoder = torch.from_numpy(at_hidden) * self._model.activation_derivative(self._hidden)
        self.both(
            lambda: self._update_encoder(at_encoder),
            lambda: self._update_decoder(logit_gradients),
            worth_it=len(batch) >= MANY_ROWS,
        )
        self.step_dense({self._model.hidden_bias: at_encoder.sum(0)}, self._model.user.weight)

    def _update_encoder(self, at_encoder: Tensor) -> None:
        model, scale = self._model, np.float32(1 / (1 - self._model.corruption))
        gradients = _spread_bags(at_encoder.numpy(), self._kept_inverse, len(self._kept), self._bounds, scale)
        self.update_rows(model.encoder.weight, self._kept, gradients)
        self.update_rows(model.user.weight, self._users, at_encoder.numpy())

    def _update_decoder(self, logit_gradients: NDArray[np.float32]) -> None:
        model, (user_inverse, item_inverse), hidden = self._model, self._inverse, self._hidden.numpy()
        gradients = sums_of_others(logit_gradients, item_inverse, len(self._items), user_inverse, hidden)
        self.update_rows(model.decoder.weight, self._items, gradients)
        ones = np.ones((len(hidden), 1), np.float32)
        gradients = sums_of_others(logit_gradients, item_inverse, len(self._items), user_inverse, ones)
        self.update_rows(model.item_bias.weight, self._items, gradients)


@kernel
def _keep(users, offsets, items, draw, n_items, corruption):
    """The items that are left in the profiles of users, and where those of each user end.

    By the same hash as in the model, so that a training may go on by either.
    """
    kept, bounds, count = np.empty((offsets[users + 1] - offsets[users]).sum(), np.int32), np.empty_like(users), 0
    for place in range(len(users)):
        for item in items[offsets[users[place]] : offsets[users[place] + 1]]:
            key = uint64(users[place]) * uint64(n_items) + uint64(item) + uint64(draw) * uint64(DRAW_FACTOR)
            if uniform_of(key) >= np.float32(corruption):
                kept[count] = item
                count += 1
        bounds[place] = count
    return kept[:count], bounds


@kernel
def _sum_bags(rows, inverse, bounds, scale):
    """For each user the sum of the rows of their items, scaled."""
    sums = np.zeros((len(bounds), rows.shape[1]), np.float32)
    first = 0
    for user in range(len(bounds)):
        for k in range(first, bounds[user]):
            place = inverse[k]
            for i in range(rows.shape[1]):
                sums[user, i] += rows[place, i]
        first = bounds[user]
        for i in range(rows.shape[1]):
            sums[user, i] *= scale
    return sums


@kernel
def _spread_bags(gradients, inverse, n_unique, bounds, scale):
    """For each row the sum of the gradients of the users who have its item, scaled."""
    sums = np.zeros((n_unique, gradients.shape[1]), np.float32)
    first = 0
    for user in range(len(bounds)):
        for k in range(first, bounds[user]):
            place = inverse[k]
            for i in range(gradients.shape[1]):
                sums[place, i] += gradients[user, i] * scale
        first = bounds[user]
    return sums


@kernel
def _scores(hidden, decoder, bias, user_inverse, item_inverse):
    logits = np.empty(len(user_inverse), np.float32)
    for k in range(len(logits)):
        user, item, logit = user_inverse[k], item_inverse[k], np.float32(0)
        for i in range(hidden.shape[1]):
            logit += hidden[user, i] * decoder[item, i]
        logits[k] = logit + bias[item, 0]
    return logits
