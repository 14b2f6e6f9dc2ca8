"""NeuMF's training step without autograd, on the distinct users and items of a batch."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.losses import DenoisedLoss
from recsieve.models import Model, NeuMF
from recsieve.optim import LAZY_ROWS, LazyAdam
from recsieve.optim.rows import sums_by_index
from recsieve.sampling import Batch
from recsieve.training.steps.fused import FusedStep, sums_of_others
from recsieve.training.steps.fused_losses import kernel
from recsieve.training.steps.item_rows import Needed


class FusedNeuMF(FusedStep):
    """Makes the training steps of a NeuMF.

    The item rows of the perceptron, which are half of the work on rows, are read and updated on another core.
    """

    def __init__(
        self, model: NeuMF, loss: DenoisedLoss, optimizer: LazyAdam, group: Communicator = SINGLE_PROCESS
    ) -> None:
        super().__init__(model, loss, optimizer, group)
        self._model = model
        second, _, third, _ = model.deeper
        self._second, self._third = cast(nn.Linear, second), cast(nn.Linear, third)

    @staticmethod
    def pays(model: Model) -> bool:
        return max(model.n_users, model.n_items) >= LAZY_ROWS

    def score(self, batch: Batch) -> NDArray[np.float32]:
        model = self._model
        self._users, user_inverse = self.unique(model.user.weight, batch.users)
        self._items, item_inverse = self.unique(model.item.weight, batch.items)
        self._inverse = user_inverse, item_inverse
        (user, item, user_mlp, user_part), (item_mlp, item_part) = self.both(self._read_most, self._read_items)
        first = torch.from_numpy(_first_layer(user_part, item_part, *self._inverse, model.first.bias.detach().numpy()))
        second = torch.addmm(self._second.bias, first, self._second.weight.T).relu_()
        third = torch.addmm(self._third.bias, second, self._third.weight.T).relu_()
        last = torch.cat([torch.from_numpy(_products(user, item, *self._inverse)), third], dim=1)
        self._rows, self._layers = (user, item, user_mlp, item_mlp), (first, second, third, last)
        bias = model.output.bias.expand(len(last))  # torch expands it by itself, but not to no rows
        return torch.addmv(bias, last, model.output.weight[0]).numpy()

    # The first layer is a sum of a user part and an item part, each computed once for a unique row.

    def _read_most(self) -> tuple[NDArray[np.float32], NDArray[np.float32], Tensor, NDArray[np.float32]]:
        model = self._model
        user, item = self.read(model.user.weight, self._users), self.read(model.item.weight, self._items)
        user_mlp = torch.from_numpy(self.read(model.user_mlp.weight, self._users))
        return user, item, user_mlp, (user_mlp @ _user_part(model.first.weight).T).numpy()

    def _read_items(self) -> tuple[Tensor, NDArray[np.float32]]:
        item_mlp = torch.from_numpy(self.read(self._model.item_mlp.weight, self._items))
        return item_mlp, (item_mlp @ _item_part(self._model.first.weight).T).numpy()

    def item_rows(self, batch: Batch, ahead: int) -> list[Needed]:
        return [Needed([self._model.item.weight, self._model.item_mlp.weight], batch.items.numpy())]

    def update(self, batch: Batch, logit_gradients: NDArray[np.float32]) -> None:
        model = self._model
        first, second, third, _ = self._layers
        # Back through the layers, as autograd does it.
        hidden_weight = model.output.weight[0, model.output.in_features // 2 :]
        at_third = _before_relu(torch.outer(torch.from_numpy(logit_gradients), hidden_weight), third)
        at_second = _before_relu(at_third @ self._third.weight, second)
        at_first = _before_relu(at_second @ self._second.weight, first)
        gradients, of_items = self.both(
            lambda: self._update_most(logit_gradients, at_first, at_second, at_third),
            lambda: self._update_items(at_first),
        )
        gradients[model.first.weight] = torch.cat([gradients[model.first.weight], of_items], dim=1)
        self.step_dense(gradients, model.user.weight)

    def _update_most(
        self, logit_gradients: NDArray[np.float32], at_first: Tensor, at_second: Tensor, at_third: Tensor
    ) -> dict[Tensor, Tensor]:
        """Move rows, and give the gradients of the layers (of the first one's weight only the users' part)."""
        model, (user, item, user_mlp, _), (user_inverse, item_inverse) = self._model, self._rows, self._inverse
        first, second, _, last = self._layers
        logit_gradient = torch.from_numpy(logit_gradients)
        product_weight = model.output.weight.detach().numpy()[0, : user.shape[1]]
        gradients = sums_of_others(logit_gradients, user_inverse, len(self._users), item_inverse, item)
        self.update_rows(model.user.weight, self._users, gradients * product_weight)
        gradients = sums_of_others(logit_gradients, item_inverse, len(self._items), user_inverse, user)
        self.update_rows(model.item.weight, self._items, gradients * product_weight)
        at_users = torch.from_numpy(sums_by_index(at_first.numpy(), user_inverse, len(self._users)))
        of_users = at_users.T @ user_mlp
        self.update_rows(model.user_mlp.weight, self._users, (at_users @ _user_part(model.first.weight)).numpy())
        return {
            model.first.weight: of_users,
            model.first.bias: at_first.sum(0),
            self._second.weight: at_second.T @ first,
            self._second.bias: at_second.sum(0),
            self._third.weight: at_third.T @ second,
            self._third.bias: at_third.sum(0),
            model.output.weight: logit_gradient @ last,
            model.output.bias: logit_gradient.sum(dtype=torch.float64).float(),
        }

    def _update_items(self, at_first: Tensor) -> Tensor:
        table, weight = self._model.item_mlp.weight, self._model.first.weight
        at_items = torch.from_numpy(sums_by_index(at_first.numpy(), self._inverse[1], len(self._items)))
        of_items = at_items.T @ self._rows[3]
        self.update_rows(table, self._items, (at_items @ _item_part(weight)).numpy())
        return of_items


def _before_relu(gradient: Tensor, output: Tensor) -> Tensor:
    """The gradient where the output is positive, 0 elsewhere."""
    return torch.ops.aten.threshold_backward(gradient, output, 0)


def _user_part(weight: Tensor) -> Tensor:
    return weight[:, : weight.shape[1] // 2]


def _item_part(weight: Tensor) -> Tensor:
    return weight[:, weight.shape[1] // 2 :]


@kernel
def _first_layer(user_part, item_part, user_inverse, item_inverse, bias):
    """The sum of the parts of each pair and the bias, or 0 where that is negative."""
    sums = np.empty((len(user_inverse), len(bias)), np.float32)
    for k in range(len(sums)):
        user, item = user_inverse[k], item_inverse[k]
        for i in range(len(bias)):
            sums[k, i] = max(user_part[user, i] + item_part[item, i] + bias[i], np.float32(0))
    return sums


@kernel
def _products(user, item, user_inverse, item_inverse):
    products = np.empty((len(user_inverse), user.shape[1]), np.float32)
    for k in range(len(products)):
        u, i = user_inverse[k], item_inverse[k]
        for f in range(products.shape[1]):
            products[k, f] = user[u, f] * item[i, f]
    return products
