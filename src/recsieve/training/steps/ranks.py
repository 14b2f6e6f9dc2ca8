"""What ranks exchange in fused steps: once what some batches need, then three messages per step.

Before a step, the rows of items come from the ranks that own them. The second message has the losses, so that a
strategy sees the whole batch. The third has the gradients of items, for their owners, and of dense parameters, for all.
A user's row is read and updated only on the user's rank. Everything is summed in rank order, so that copies stay the
same to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import Communicator
from recsieve.links import Links
from recsieve.models import Model
from recsieve.optim import LazyAdam
from recsieve.sampling import Batch
from recsieve.training.steps.item_rows import ItemRows, Needed


class Whole(NamedTuple):
    """The rows of a batch that have a loss, on any rank, in its order."""

    columns: Mapping[str, Tensor]  # labels, and what else of `Batch` was announced
    given: Tensor | None  # weights
    places: list[NDArray[np.int32]]  # where the rows of each rank are


Unique = tuple[NDArray[np.integer], NDArray[np.int32]]  # distinct rows, and where each of some rows is among them


class Ranks:
    """The other ranks, as a fused step needs them."""

    def __init__(self, model: Model, optimizer: LazyAdam, group: Communicator) -> None:
        self._optimizer, self._group = optimizer, group
        parameters = dict(model.named_parameters())
        self._own = [parameters[name] for name, of in model.rows_of.items() if of == ("users",)]
        self._shared = [parameters[name] for name, of in model.rows_of.items() if of != ("users",)]
        self._items = ItemRows(optimizer, group.rank, group.size)
        self._coming: Iterator[Whole] = iter(())
        self._users: Unique = np.empty(0, np.int32), np.empty(0, np.int32)  # of the present batch
        self._pending: dict[Tensor, tuple[NDArray[np.integer], NDArray[np.float32]]] = {}
        self._connected: Links | None = None

    @property
    def _links(self) -> Links:
        if self._connected is None:  # not cached_property, whose lock ranks that are threads would share
            self._connected = Links(self._group)
        return self._connected

    def announce(
        self, rows: Batch, bounds: NDArray[np.int64], needed: Sequence[Sequence[Needed]], *, names: Sequence[str]
    ) -> None:
        """Tell which rows this rank has in the batches that come next, some columns of them, and what it needs."""
        self._items.announce(self._links, needed)
        given = {name: column for name in names if (column := getattr(rows, name)) is not None}
        plain = given.keys() == {"labels"} and bool(((rows.labels == 0) | (rows.labels == 1)).all())
        masks, more = self._masks(rows, int(bounds[-1]), more=not plain)
        liked, places, firsts, starts = _merge(masks, bounds)
        of_ranks = [place[: start[-1]] for place, start in zip(places, starts, strict=True)]
        columns = self._columns(given, of_ranks) if more else {"labels": torch.from_numpy(liked)}
        given_weights = columns.pop("weights", None)
        self._coming = iter(
            [
                Whole(
                    {name: column[first:last] for name, column in columns.items()},
                    None if given_weights is None else given_weights[first:last],
                    [
                        place[start[step] : start[step + 1]] - np.int32(first)
                        for place, start in zip(of_ranks, starts, strict=True)
                    ],
                )
                for step, (first, last) in enumerate(pairwise(firsts.tolist()))
            ]
        )

    def _masks(self, rows: Batch, n_all: int, *, more: bool) -> tuple[NDArray[np.uint8], bool]:
        """For each rank its positions, and those of them with label 1, as bits; and whether any has more to tell."""
        assert rows.positions is not None  # a rank's rows have them
        parts = np.zeros((self._group.size, 1 + 2 * -(-n_all // 8)), np.uint8)
        own = parts[self._group.rank]
        own[0] = more
        _set_bits(own[1:].reshape(2, -1), rows.positions.numpy(), rows.labels.numpy())
        self._links.all_gather(list(parts))
        return parts[:, 1:].reshape(self._group.size, 2, -1), bool(parts[:, 0].any())

    def _columns(self, given: Mapping[str, Tensor], places: list[NDArray[np.int32]]) -> dict[str, Tensor]:
        """Columns of the rows of all ranks, in the order of the batches."""
        # One message for all of them: float64 holds float32 and whole numbers up to 2^53 as they are.
        own = torch.stack([column.double() for column in given.values()], dim=1)
        together = torch.empty(sum(map(len, places)), len(given), dtype=torch.float64)
        parts = self._group.all_gather_known(own, [len(place) for place in places])
        for place, part in zip(places, parts, strict=True):
            together[place] = part
        return {n: column.to(given[n].dtype) for n, column in zip(given, together.unbind(dim=1), strict=True)}

    def fetch(self, users: NDArray[np.integer]) -> None:
        """Bring the rows of the next batch up to date: those of these users, and of items that other ranks own."""
        self._items.fetch(self._links, partial(self._catch_up, users))

    def _catch_up(self, users: NDArray[np.integer]) -> None:
        self._users = self._optimizer.rows_of(self._own[0]).unique(users)
        for table in self._own:
            self._optimizer.rows_of(table).catch_up(table.detach().numpy(), self._users[0])

    def unique(self, table: Tensor) -> Unique:
        """The distinct rows of a table in the present batch; those of items as they stand in messages."""
        return self._users if any(table is own for own in self._own) else self._items.unique(table)

    def exchange_losses(self, losses: NDArray[np.float32]) -> tuple[Whole, NDArray[np.float32], NDArray[np.int32]]:
        """The next batch, its losses, and the positions of this rank's."""
        whole = next(self._coming)
        parts = [np.empty(len(place), np.float32) for place in whole.places]
        parts[self._group.rank] = losses
        self._links.all_gather(parts)
        together = np.empty(sum(map(len, whole.places)), np.float32)
        for part, place in zip(parts, whole.places, strict=True):
            together[place] = part
        return whole, together, whole.places[self._group.rank]

    def hold(self, table: Tensor, unique: NDArray[np.integer], gradients: NDArray[np.float32]) -> None:
        """Keep the gradients of some rows of a table until all gradients are known."""
        self._pending[table] = unique, gradients

    def step(self, dense: Mapping[Tensor, Tensor], learning_rate: float) -> dict[Tensor, Tensor]:
        """Adam's step on all rows that have a gradient on any rank; returns the dense gradients of all ranks."""
        pending, self._pending = self._pending, {}
        flat = [gradient.detach().numpy().reshape(-1) for gradient in dense.values()]
        totals = self._items.step(
            self._links,
            {table: pending[table][1] for table in self._shared},
            np.concatenate(flat) if flat else np.empty(0, np.float32),
            learning_rate,
            meanwhile=partial(self._step_own, pending, learning_rate),
        )
        split = torch.from_numpy(totals).split([gradient.numel() for gradient in dense.values()])
        return {name: total.view_as(name) for name, total in zip(dense, split, strict=True)}

    def _step_own(
        self, pending: Mapping[Tensor, tuple[NDArray[np.integer], NDArray[np.float32]]], learning_rate: float
    ) -> None:
        for table in self._own:
            self._optimizer.rows_of(table).step(table.detach().numpy(), *pending[table], learning_rate)

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over all ranks of arrays of one shape, in rank order."""
        parts = np.empty((self._group.size, values.size))
        parts[self._group.rank] = values.reshape(-1)
        self._links.all_gather(list(parts))
        return parts.sum(axis=0).reshape(values.shape)

    def gather(self, users: NDArray[np.int64], *, with_moments: bool) -> None:
        """Copy the rows of users and items from the ranks that have them, so that each rank has complete tables."""
        codes = torch.cat(self._group.all_gather_rows(torch.from_numpy(users)))
        for table in self._own:
            for tensor in self._kept_of(table, with_moments=with_moments):
                tensor[codes] = torch.cat(self._group.all_gather_rows(tensor[users]))
        for table in self._shared:
            for tensor in self._kept_of(table, with_moments=with_moments):
                owned = [self._items.owned(len(tensor), rank) for rank in range(self._group.size)]
                for rows, part in zip(owned, self._group.all_gather_rows(tensor[owned[self._group.rank]]), strict=True):
                    tensor[rows] = part

    def _kept_of(self, table: Tensor, *, with_moments: bool) -> Iterator[Tensor]:
        yield table.detach()
        if with_moments:
            adam = self._optimizer.rows_of(table)
            yield from map(torch.from_numpy, (adam.exp_avg, adam.exp_avg_sq, adam.last))


@njit(cache=True)
def _set_bits(bits, positions, labels):
    """Set those of the positions, and those of the positions with a label."""
    for k in range(len(positions)):
        byte, bit = positions[k] >> 3, np.uint8(1 << (positions[k] & 7))
        bits[0, byte] |= bit
        if labels[k] > 0:
            bits[1, byte] |= bit


@njit(cache=True)
def _merge(masks, bounds):
    """Number the positions that any rank has, in their order.

    Gives for each number whether its label is 1; for each rank the numbers that it has; and how many numbers, and how
    many of each rank's, come before each of the bounds.
    """
    n_ranks, n_all = len(masks), bounds[-1]
    present, labels = masks[0, 0].copy(), masks[0, 1].copy()
    for rank in range(1, n_ranks):
        present |= masks[rank, 0]
        labels |= masks[rank, 1]
    # Without branches, which could not be foreseen: what is not there is overwritten by what comes next.
    liked, numbers, count = np.empty(n_all + 1, np.float32), np.empty(n_all + 1, np.int32), 0
    for position in range(n_all):
        byte, bit = position >> 3, position & 7
        liked[count], numbers[position] = labels[byte] >> bit & 1, count
        count += present[byte] >> bit & 1
    numbers[n_all] = count
    places, starts = np.empty((n_ranks, n_all + 1), np.int32), np.zeros((n_ranks, len(bounds)), np.int64)
    for rank in range(n_ranks):
        bits, of_rank, n_own = masks[rank, 0], places[rank], 0
        for step in range(len(bounds) - 1):
            for position in range(bounds[step], bounds[step + 1]):
                of_rank[n_own] = numbers[position]
                n_own += bits[position >> 3] >> (position & 7) & 1
            starts[rank, step + 1] = n_own
    return liked[:count], places, numbers[bounds], starts
