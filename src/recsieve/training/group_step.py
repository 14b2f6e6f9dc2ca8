"""A training step on the ranks of a group: each scores its own rows, and all make the same step on their tables."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from recsieve.adam_rows import sums_by_place
from recsieve.group import Group
from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.optim import LazyAdam, lazy_tables
from recsieve.sampling import Batch
from recsieve.training.stepper import Stepper, weigh_batch


class GroupStep(Stepper):
    """Autograd on a rank's rows of each batch; gradients of tables are exchanged as rows, the others as they are.

    They are added up in the same order on every rank, so that the tables of all stay the same to the bit.
    """

    def __init__(self, model: Model, loss: DenoisedLoss, optimizer: LazyAdam, group: Group) -> None:
        self._model, self._loss, self._optimizer, self._group = model, loss, optimizer, group
        self._tables = lazy_tables(model)
        known = set(self._tables)
        self._dense = [parameter for parameter in model.parameters() if parameter not in known]

    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        weighed = weigh_batch(self._model, self._loss, batch)
        share = weighed.share()
        self._optimizer.zero_grad(set_to_none=True)
        with self._group.talking():  # sharded tables do it in the backward pass too
            share.backward()
        mean = self._add_up_dense(share.detach())
        self._optimizer.step_on_rows(self._gather_rows() if self._tables else [])  # TorchRec moves its own
        return mean, weighed.losses.detach(), weighed.weights

    def _add_up_dense(self, share: Tensor) -> float:
        """Make the gradients of dense parameters those of the whole batch; gives its mean loss."""
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._dense]
        flat = torch.cat([share.reshape(1), *(gradient.reshape(-1) for gradient in gradients)])
        self._group.add_up(flat)
        sums = flat[1:].split([parameter.numel() for parameter in self._dense])
        for parameter, total in zip(self._dense, sums, strict=True):
            parameter.grad = total.view_as(parameter)
        return float(flat[0])

    def _gather_rows(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """The rows of each table that have a gradient on any rank, and the gradients, rank after rank."""
        own = [self._own_rows(table) for table in self._tables]
        counts = torch.stack(self._group.gather_alike(torch.tensor([len(rows) for rows, _ in own]))).tolist()
        sizes = [[size for n, table in zip(c, self._tables, strict=True) for size in _sizes(n, table)] for c in counts]
        # One message for all tables: the bits of row numbers travel as if they were gradients.
        message = torch.cat([part for rows, values in own for part in (rows.view(torch.float32), values.reshape(-1))])
        messages = self._group.gather_known(message, [sum(size) for size in sizes])
        parts = [message.split(size) for message, size in zip(messages, sizes, strict=True)]
        return [
            (
                table,
                torch.cat([part[2 * place] for part in parts]).view(torch.int64),
                torch.cat([part[2 * place + 1] for part in parts]).view(-1, table.shape[1]),
            )
            for place, table in enumerate(self._tables)
        ]

    def _own_rows(self, table: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of a table that this rank has gradients for, each once, and their sums."""
        if table.grad is None:
            return torch.zeros(0, dtype=torch.int64), table.new_zeros(0, table.shape[1])
        rows, values = table.grad._indices()[0], table.grad._values()
        distinct, places = self._optimizer.rows_of(table).distinct(np.ascontiguousarray(rows.numpy()))
        sums = sums_by_place(values.contiguous().numpy(), places, len(distinct))
        return torch.from_numpy(distinct), torch.from_numpy(sums)


def _sizes(n_rows: int, table: Tensor) -> tuple[int, int]:
    """How many float32 the numbers of some rows and their gradients take in a message."""
    return 2 * n_rows, n_rows * table.shape[1]
