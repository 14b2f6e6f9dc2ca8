"""What ranks exchange in fused steps: once the rows of some batches, then two messages per step.

The first message has the losses, so that a strategy sees the whole batch. The second has the gradients of what all
ranks have: item rows and dense parameters. A user's row is read and updated only on the user's rank. Everything is
summed in rank order, so that the copies stay the same to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import Communicator
from recsieve.links import Links
from recsieve.models import Model
from recsieve.optim import LazyAdam
from recsieve.optim.rows import sums_by_index
from recsieve.sampling import Batch

Rows = tuple[NDArray[np.integer], NDArray[np.float32]]  # which rows of a table, none of them twice, and their gradients


class Whole(NamedTuple):
    """The rows of a batch that have a loss, on any rank, in its order."""

    columns: Mapping[str, Tensor]  # labels, and what else of `Batch` was announced
    given: Tensor | None  # weights
    places: list[NDArray[np.int64]]  # where the rows of each rank are


class Ranks:
    """The other ranks, as a fused step needs them."""

    def __init__(self, model: Model, optimizer: LazyAdam, group: Communicator) -> None:
        self._optimizer, self._group = optimizer, group
        parameters = dict(model.named_parameters())
        self._own = [parameters[name] for name, of in model.rows_of.items() if of == ("users",)]
        self._shared = [parameters[name] for name, of in model.rows_of.items() if of != ("users",)]
        self._coming: Iterator[Whole] = iter(())
        self._pending: dict[Tensor, Rows] = {}
        self._connected: Links | None = None
        self._counts = np.zeros((group.size, len(self._shared)), np.int32)  # rows of tables in the second message

    @property
    def _links(self) -> Links:
        if self._connected is None:  # not cached_property, whose lock ranks that are threads would share
            self._connected = Links(self._group)
        return self._connected

    def announce(self, rows: Batch, bounds: NDArray[np.int64], *, names: Sequence[str]) -> None:
        """Send which rows this rank has in the next batches, and some of their columns."""
        given = {name: column for name in ("positions", *names) if (column := getattr(rows, name)) is not None}
        # One message for all of them: float64 holds float32 and whole numbers up to 2^53 as they are.
        parts = self._group.all_gather_rows(torch.stack([column.double() for column in given.values()], dim=1))
        of_ranks = [part[:, 0].long().numpy() for part in parts]
        present = np.zeros(bounds[-1], np.bool_)  # not sorted: no position is on two ranks
        present[np.concatenate(of_ranks)] = True
        before = np.concatenate([[0], np.cumsum(present)])  # rows with a loss ahead of each position
        places = [before[of_rank] for of_rank in of_ranks]
        together = torch.empty(before[-1], len(given), dtype=torch.float64)
        for place, part in zip(places, parts, strict=True):
            together[place] = part
        columns = {n: column.to(given[n].dtype) for n, column in zip(given, together.unbind(dim=1), strict=True)}
        del columns["positions"]
        given_weights = columns.pop("weights", None)
        starts = [np.searchsorted(of_rank, bounds) for of_rank in of_ranks]
        steps = [
            Whole(
                {name: column[first:last] for name, column in columns.items()},
                None if given_weights is None else given_weights[first:last],
                [place[start[step] : start[step + 1]] - first for place, start in zip(places, starts, strict=True)],
            )
            for step, (first, last) in enumerate(pairwise(before[bounds].tolist()))
        ]
        self._coming = iter(steps)

    def exchange_losses(
        self, losses: NDArray[np.float32], n_rows: Mapping[Tensor, int]
    ) -> tuple[Whole, NDArray[np.float32], NDArray[np.int64]]:
        """The next batch, its losses, and the positions of this rank's; also sends how many table rows will follow."""
        whole, n_tables = next(self._coming), len(self._shared)
        message = np.empty(n_tables + len(losses), np.float32)
        message[:n_tables].view(np.int32)[:] = [n_rows[table] for table in self._shared]
        message[n_tables:] = losses
        parts = self._links.all_gather(message, [n_tables + len(place) for place in whole.places])
        self._counts = np.stack([part[:n_tables].view(np.int32) for part in parts])
        together = np.empty(sum(map(len, whole.places)), np.float32)
        for part, place in zip(parts, whole.places, strict=True):
            together[place] = part[n_tables:]
        return whole, together, whole.places[self._group.rank]

    def hold(self, table: Tensor, unique: NDArray[np.integer], gradients: NDArray[np.float32]) -> None:
        """Keep the gradients of some rows of a table until all gradients are known."""
        self._pending[table] = unique, gradients

    def step(self, dense: Mapping[Tensor, Tensor], learning_rate: float) -> dict[Tensor, Tensor]:
        """Adam's step on all rows that have a gradient on any rank; returns the dense gradients of all ranks."""
        pending, self._pending = self._pending, {}
        flat = [gradient.detach().numpy().reshape(-1) for gradient in dense.values()]
        n_dense = sum(map(len, flat))
        sizes = n_dense + self._counts @ [1 + table.shape[1] for table in self._shared]
        message = np.concatenate([*flat, *(part for table in self._shared for part in _packed(*pending[table]))])
        receive = self._links.start_all_gather(message, sizes.tolist())
        for table in self._own:  # while the message is on its way
            self._optimizer.rows_of(table).step(table.detach().numpy(), *pending[table], learning_rate)
        parts = receive()
        self._step_shared(parts, n_dense, learning_rate)
        totals = torch.from_numpy(np.sum([part[:n_dense] for part in parts], axis=0))
        split = totals.split([gradient.numel() for gradient in dense.values()])
        return {name: total.view_as(name) for name, total in zip(dense, split, strict=True)}

    def _step_shared(self, parts: list[NDArray[np.float32]], first: int, learning_rate: float) -> None:
        begins = np.full(len(parts), first)
        for place, table in enumerate(self._shared):
            n_rows, factors = self._counts[:, place], table.shape[1]
            ends = begins + n_rows
            rows = [part[begin:end].view(np.int32) for part, begin, end in zip(parts, begins, ends, strict=True)]
            begins = ends + n_rows * factors
            gradients = [part[end:begin] for part, end, begin in zip(parts, ends, begins, strict=True)]
            adam, weights = self._optimizer.rows_of(table), table.detach().numpy()
            unique, inverse = adam.unique(np.concatenate(rows))
            sums = sums_by_index(np.concatenate(gradients).reshape(-1, factors), inverse, len(unique))
            adam.catch_up(weights, unique)  # some were read on other ranks only
            adam.step(weights, unique, sums, learning_rate)

    def gather(self, users: NDArray[np.int64], *, with_moments: bool) -> None:
        """Copy the rows of users from the ranks that have them, so that each rank has complete tables."""
        codes = torch.cat(self._group.all_gather_rows(torch.from_numpy(users)))
        for table in self._own:
            for tensor in self._kept_of(table, with_moments=with_moments):
                tensor[codes] = torch.cat(self._group.all_gather_rows(tensor[users]))

    def _kept_of(self, table: Tensor, *, with_moments: bool) -> Iterator[Tensor]:
        yield table.detach()
        if with_moments:
            adam = self._optimizer.rows_of(table)
            yield from map(torch.from_numpy, (adam.exp_avg, adam.exp_avg_sq, adam.last))


def _packed(unique: NDArray[np.integer], gradients: NDArray[np.float32]) -> Rows:
    return unique.astype(np.int32).view(np.float32), gradients.reshape(-1)
