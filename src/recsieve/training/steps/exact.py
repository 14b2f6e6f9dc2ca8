"""A training step with the same result on any number of ranks: each scores its own rows, all update tables alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from recsieve.communicator import Communicator
from recsieve.losses import DenoisedLoss, WeighedLosses
from recsieve.models import Model
from recsieve.optim import LazyAdam, lazy_tables
from recsieve.optim.rows import sums_by_index
from recsieve.sampling import Batch
from recsieve.training.sharded import ShardedTable
from recsieve.training.steps.autograd import AutogradStep
from recsieve.training.steps.base import weigh_batch

_Table = nn.Embedding | nn.EmbeddingBag | ShardedTable


class ExactStep(AutogradStep):
    """A step in float64, on a rank's rows of each batch; gradients are summed over the ranks, then rounded once.

    The number of ranks changes the order of sums, and so the last bit of a float64. This bit is lost when a gradient is
    rounded to float32, so parameters have the same bits on each rank and, except for very rare roundings, with any
    number of ranks. Gradients of tables are exchanged as rows, the others as a whole.
    """

    def __init__(self, model: Model, loss: DenoisedLoss, optimizer: LazyAdam, group: Communicator) -> None:
        super().__init__(model, loss, optimizer)
        self._weigher, self._group, self._tables = _Weigher(model, loss), group, lazy_tables(model)
        known = set(self._tables)
        self._dense = {name: weight for name, weight in self._weigher.named_parameters() if weight not in known}
        self._copies: dict[str, Tensor] = {}  # of the dense parameters, in float64

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._group.sum(values)

    def _weigh(self, batch: Batch) -> tuple[WeighedLosses, Tensor | None]:
        self._copies = {name: weight.detach().double().requires_grad_() for name, weight in self._dense.items()}
        return functional_call(self._weigher, self._copies, (batch,))

    def _share(self, weighed: WeighedLosses) -> Tensor:
        return replace(weighed, weights=weighed.weights.double()).share()

    def _differentiate(self, share: Tensor) -> None:
        with self._group.collective():  # sharded tables communicate in the backward pass too
            super()._differentiate(share)

    def _update(self, share: Tensor) -> float:
        own = [self._own_rows(table) for table in self._tables]
        mean, counts = self._all_reduce(share, [len(rows) for rows, _ in own], list(self._copies.values()))
        self._optimizer.step_on_rows(self._gather_rows(own, counts) if own else [])  # TorchRec updates its own
        return mean

    def _all_reduce(self, share: Tensor, n_rows: list[int], copies: list[Tensor]) -> tuple[float, list[list[int]]]:
        """Give dense parameters the gradients of the whole batch; gives its mean loss, and how many rows each has."""
        counts = torch.zeros(self._group.size, len(n_rows), dtype=torch.float64)
        counts[self._group.rank] = torch.tensor(n_rows)
        parts = [share, counts, *(torch.zeros_like(copy) if copy.grad is None else copy.grad for copy in copies)]
        flat = torch.cat([part.reshape(-1) for part in parts])  # one message: waiting is what takes the time
        self._group.all_reduce(flat)
        sums = flat.split([part.numel() for part in parts])
        for parameter, total in zip(self._dense.values(), sums[2:], strict=True):
            parameter.grad = total.float().view_as(parameter)
        return sums[0].float().item(), sums[1].long().view_as(counts).tolist()

    def _gather_rows(
        self, own: list[tuple[Tensor, Tensor]], counts: list[list[int]]
    ) -> list[tuple[Tensor, Tensor, Tensor]]:
        """The rows of each table that have a gradient on any rank, and the gradients, rank after rank."""
        sizes = [[size for n, table in zip(c, self._tables, strict=True) for size in _sizes(n, table)] for c in counts]
        # One message for all tables: the bits of row numbers travel as if they were gradients.
        message = torch.cat([part for rows, values in own for part in (rows.view(torch.float64), values.reshape(-1))])
        messages = self._group.all_gather_known(message, [sum(size) for size in sizes])
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
        """The rows of a table that this rank has gradients for, each once, and their sums in float64."""
        if table.grad is None:
            return torch.zeros(0, dtype=torch.int64), torch.zeros(0, table.shape[1], dtype=torch.float64)
        rows, values = table.grad._indices()[0], table.grad._values()
        unique, inverse = self._optimizer.rows_of(table).unique(np.ascontiguousarray(rows.numpy()))
        sums = sums_by_index(values.double().contiguous().numpy(), inverse, len(unique))
        return torch.from_numpy(unique), torch.from_numpy(sums)


def _sizes(n_rows: int, table: Tensor) -> tuple[int, int]:
    """How many numbers of 8 bytes some rows' numbers and their gradients take in a message."""
    return n_rows, n_rows * table.shape[1]


class _Weigher(nn.Module):
    """Weighs batches as one module, so that `functional_call` reaches the model wherever the loss calls it."""

    def __init__(self, model: Model, loss: DenoisedLoss) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, batch: Batch) -> tuple[WeighedLosses, Tensor | None]:
        with _lookups_in_double(self.model):
            return weigh_batch(self.model, self.loss, batch), self.model.penalty(batch)


@contextmanager
def _lookups_in_double(model: Model) -> Iterator[None]:
    """Let tables, which stay float32, give what is looked up in them as float64."""
    tables = [module for module in model.modules() if isinstance(module, _Table)]
    hooks = [table.register_forward_hook(lambda module, given, rows: rows.double()) for table in tables]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
