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
        self._kept = np.empty(0, np.float32)

    @property
    def _links(self) -> Links:
        if self._connected is None:  # not cached_property, whose lock ranks that are threads would share
            self._connected = Links(self._group)
        return self._connected

    def announce(self, rows: Batch, bounds: NDArray[np.int64], *, names: Sequence[str]) -> None:
        """Tell which rows this rank has in the batches that come next, and some columns of them."""
        assert rows.positions is not None  # a rank's rows have them
        given = {name: column for name in names if (column := getattr(rows, name)) is not None}
        plain = given.keys() == {"labels"} and bool(((rows.labels == 0) | (rows.labels == 1)).all())
        masks, more = self._masks(rows, int(bounds[-1]), more=not plain)
        of_ranks = masks[:, 0]
        present, liked = np.logical_or.reduce(masks)
        before = np.concatenate([[0], np.cumsum(present)])  # rows with a loss ahead of each position
        places = [before[np.flatnonzero(of_rank)] for of_rank in of_ranks]
        labels = torch.from_numpy(liked[present].astype(np.float32))
        columns = self._columns(given, places) if more else {"labels": labels}
        given_weights = columns.pop("weights", None)
        firsts = before[bounds]
        starts = [np.searchsorted(place, firsts) for place in places]
        steps = [
            Whole(
                {name: column[first:last] for name, column in columns.items()},
                None if given_weights is None else given_weights[first:last],
                [place[start[step] : start[step + 1]] - first for place, start in zip(places, starts, strict=True)],
            )
            for step, (first, last) in enumerate(pairwise(firsts.tolist()))
        ]
        self._coming = iter(steps)

    def _masks(self, rows: Batch, n_all: int, *, more: bool) -> tuple[NDArray[np.bool_], bool]:
        """For each rank the positions that it has, and those of them with label 1; and whether any has more to tell."""
        own = np.zeros((2, n_all), np.bool_)
        own[0, rows.positions] = True
        own[1, rows.positions] = rows.labels > 0
        packed = np.packbits(own, axis=1)
        parts = np.empty((self._group.size, 1 + packed.size), np.uint8)
        parts[self._group.rank] = np.append(packed.reshape(-1), np.uint8(more))
        self._links.all_gather(list(parts))
        masks = np.unpackbits(parts[:, :-1].reshape(-1, *packed.shape), axis=2, count=n_all).view(np.bool_)
        return masks, bool(parts[:, -1].any())

    def _columns(self, given: Mapping[str, Tensor], places: list[NDArray[np.int64]]) -> dict[str, Tensor]:
        """Columns of the rows of all ranks, in the order of the batches."""
        # One message for all of them: float64 holds float32 and whole numbers up to 2^53 as they are.
        own = torch.stack([column.double() for column in given.values()], dim=1)
        together = torch.empty(sum(map(len, places)), len(given), dtype=torch.float64)
        parts = self._group.all_gather_known(own, [len(place) for place in places])
        for place, part in zip(places, parts, strict=True):
            together[place] = part
        return {n: column.to(given[n].dtype) for n, column in zip(given, together.unbind(dim=1), strict=True)}

    def exchange_losses(
        self, losses: NDArray[np.float32], n_rows: Mapping[Tensor, int]
    ) -> tuple[Whole, NDArray[np.float32], NDArray[np.int64]]:
        """The next batch, its losses, and the positions of this rank's; also sends how many table rows will follow."""
        whole, n_tables = next(self._coming), len(self._shared)
        parts = [np.empty(n_tables + len(place), np.float32) for place in whole.places]
        own = parts[self._group.rank]
        own[:n_tables].view(np.int32)[:] = [n_rows[table] for table in self._shared]
        own[n_tables:] = losses
        self._links.all_gather(parts)
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
        ends = np.cumsum(n_dense + self._counts @ [1 + table.shape[1] for table in self._shared])
        together = self._room(int(ends[-1]))
        parts = np.split(together, ends[:-1])
        packed = (part for table in self._shared for part in _packed(*pending[table]))
        np.concatenate([*flat, *packed], out=parts[self._group.rank])
        receive = self._links.start_all_gather(parts)
        for table in self._own:  # while the message is on its way
            self._optimizer.rows_of(table).step(table.detach().numpy(), *pending[table], learning_rate)
        receive()
        self._step_shared(together, np.append(0, ends[:-1]) + n_dense, learning_rate)
        totals = torch.from_numpy(np.sum([part[:n_dense] for part in parts], axis=0))
        split = totals.split([gradient.numel() for gradient in dense.values()])
        return {name: total.view_as(name) for name, total in zip(dense, split, strict=True)}

    def _step_shared(self, together: NDArray[np.float32], begins: NDArray[np.int64], learning_rate: float) -> None:
        for n_rows, table in zip(self._counts.T, self._shared, strict=True):
            parts = np.stack([begins, begins + n_rows, n_rows], axis=1)
            self._optimizer.rows_of(table).step_sums(table.detach().numpy(), together, parts, learning_rate)
            begins = begins + n_rows * (1 + table.shape[1])

    def _room(self, n: int) -> NDArray[np.float32]:
        """Where to put this many numbers: the same place each time, since new memory is slow to write."""
        if len(self._kept) < n:
            self._kept = np.empty(n + n // 4, np.float32)
        return self._kept[:n]

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
