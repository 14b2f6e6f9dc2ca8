"""The part of iALS that a rank solves, and what the ranks exchange.

A rank solves the users whose interactions it holds, and a range of the items, whose interactions the others send it
once. A single process solves everything, and nothing is sent or copied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import Communicator
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import balanced_cuts
from recsieve.models.ials_solver import Side

_ROW = 40  # what it takes to solve for a row, beside what each of its interactions takes


class Share(NamedTuple):
    """The users or items that a rank solves, and their interactions, in the order of the data."""

    codes: NDArray[np.int64]  # ascending
    rows: NDArray[np.int32]  # whose each interaction is, as a position in `codes`
    side: Side
    weights: NDArray[np.float32]
    ids: NDArray[np.int64] | None  # where each interaction stands among those of all ranks; None: all are here

    def reading(self, table: Table) -> Share:
        """The same, with the vectors of the other side read from the rows of a table."""
        if not table.moved:
            return self
        others = table.places().numpy().astype(np.int32)[self.side.others]
        return self._replace(side=self.side._replace(others=others))

    def sums(self, confidences: NDArray[np.float32]) -> NDArray[np.float64]:
        """The sum of each row."""
        return np.bincount(self.rows, confidences, minlength=len(self.codes)).astype(np.float64, copy=False)

    def take(self, of_all: NDArray[np.float32]) -> NDArray[np.float32]:
        """The values of the local interactions, from values of all."""
        return of_all if self.ids is None else of_all[self.ids]


class Table:
    """The vectors of all users or items, rank by rank, and those that this rank solves."""

    def __init__(self, vectors: Tensor, codes: NDArray[np.int64], group: Communicator) -> None:
        of_ranks = [torch.from_numpy(of_rank) for of_rank in group.all_gather_arrays(codes)]
        self._group, self._codes = group, torch.cat(of_ranks)
        self.moved = not torch.equal(self._codes, torch.arange(len(vectors)))  # whether rows are in another order
        self._complete = True  # whether the rows of other ranks are those that they have solved
        self._in_order: Tensor | None = None
        self.rows = vectors[self._codes] if self.moved else vectors
        self._parts = self.rows.split([len(of_rank) for of_rank in of_ranks])
        self.own = self._parts[group.rank]

    def vectors(self) -> Tensor:
        """The vectors of all users or items, in the order of their codes; all ranks have to ask for them together."""
        if not self._complete:
            self.hand_on()
        if self._in_order is None:
            self._in_order = self.rows[self.places()] if self.moved else self.rows
        return self._in_order

    def places(self) -> Tensor:
        """The row of each user or item."""
        return torch.argsort(self._codes)

    def hand_on(self) -> None:
        """Send what this rank has solved to all ranks."""
        self._group.exchange_parts(self._parts)
        self._complete, self._in_order = True, None

    def keep(self) -> None:
        """Send what this rank has solved only if somebody asks for all vectors."""
        self._complete, self._in_order = False, None

    def replace(self, vectors: Tensor) -> None:
        """Replace all vectors."""
        self.rows.copy_(vectors[self._codes])
        self._complete, self._in_order = True, None


def share_by_user(train: Interactions) -> Share:
    """The users whose interactions are here; one without any interaction is also solved by one rank."""
    weights = train.weights_or_ones
    if train.group.size == 1:
        side = Side.of(train.users, train.items, train.n_users)
        return Share(np.arange(train.n_users), train.users, side, weights, None)
    here = train.user_counts() > 0
    anywhere = train.group.sum(here.astype(np.int8)) > 0
    codes = np.flatnonzero(here | (~anywhere & (np.arange(train.n_users) % train.group.size == train.group.rank)))
    rows = np.searchsorted(codes, train.users).astype(np.int32)
    return Share(codes, rows, Side.of(rows, train.items, len(codes)), weights, train.rows)


def share_by_item(train: Interactions) -> Share:
    """A range of the items, with the interactions that all ranks have of them."""
    weights, group = train.weights_or_ones, train.group
    if group.size == 1:
        side = Side.of(train.items, train.users, train.n_items)
        return Share(np.arange(train.n_items), train.items, side, weights, None)
    assert train.rows is not None
    cuts = balanced_cuts(group.sum(train.item_counts()) + float(_ROW), group.size)
    solvers = np.searchsorted(cuts, train.items, side="right") - 1
    ids = group.send(train.rows, solvers)
    order = np.argsort(ids)
    items, users = group.send(train.items, solvers)[order], group.send(train.users, solvers)[order]
    codes = np.arange(cuts[group.rank], cuts[group.rank + 1])
    rows = (items - cuts[group.rank]).astype(np.int32)
    return Share(
        codes, rows, Side.of(rows, users, len(codes)), group.send(weights, solvers)[order], ids[order],
    )  # fmt: skip
