"""Item rows on several ranks: each row has an owner, which alone has its moments and makes Adam's steps on it.

Before a step, each rank gets the rows that it needs from their owners, up to date. After it, the owners get the
gradients, and add up those of a row in the order of the ranks. So a row is updated once, whatever the number of ranks,
and has the same bits on all ranks that read it (decision 0030).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from recsieve.links import Links
from recsieve.optim import LazyAdam

Floats = NDArray[np.float32]


class Needed(NamedTuple):
    """Rows that a step looks up, the same of some tables."""

    tables: Sequence[Tensor]
    rows: NDArray[np.integer]


class Lookup(NamedTuple):
    """The rows that a step looks up in some tables: who owns those needed here, and who needs those owned here."""

    tables: Sequence[Tensor]
    rows: NDArray[np.int32]  # that are needed here, each once, by their owner
    inverse: NDArray[np.int32]  # where each row that is looked up is among them
    of_owner: list[slice]  # where among them those of each owner are
    asked: NDArray[np.int32]  # the rows that are owned here and needed somewhere, rank by rank
    of_asker: list[slice]

    @property
    def width(self) -> int:
        return sum(table.shape[1] for table in self.tables)


class ItemRows:
    """The item tables of a model, as rows that their owners lend for a step."""

    def __init__(self, optimizer: LazyAdam, rank: int, n_ranks: int) -> None:
        self._optimizer, self._rank, self._n_ranks = optimizer, rank, n_ranks
        self._coming: Iterator[list[Lookup]] = iter(())
        self._lookups: list[Lookup] = []  # of the present step
        self._buffers: dict[str, Floats] = {}

    def owned(self, n_rows: int, rank: int) -> slice:
        """The rows of a table that a rank owns: every n-th, since rows are often numbered by popularity."""
        return slice(rank, n_rows, self._n_ranks)

    def announce(self, links: Links, steps: Sequence[Sequence[Needed]]) -> None:
        """Tell the owners which rows this rank needs in the steps that come next."""
        ranks, n_kinds = range(self._n_ranks), len(steps[0])
        needed = [need for of_step in steps for need in of_step]
        counts = np.empty((self._n_ranks, len(needed), self._n_ranks), np.int32)  # needed by a rank, owned by a rank
        rows, inverses = [], []
        for k, need in enumerate(needed):
            unique, inverse = self._optimizer.rows_of(need.tables[0]).unique(need.rows)
            rows.append(_sort_by_owner(unique, inverse, counts[self._rank, k]))
            inverses.append(inverse)
        links.all_gather(list(counts.reshape(self._n_ranks, -1)))
        of_owner = [_slices(of_need) for of_need in counts[self._rank]]
        sent = [
            np.concatenate([some[places[rank]] for some, places in zip(rows, of_owner, strict=True)]) for rank in ranks
        ]
        asked = [np.empty(int(counts[rank, :, self._rank].sum()), np.int32) for rank in ranks]
        asked[self._rank] = sent[self._rank]
        links.start_exchange(*({rank: part[rank] for rank in self._others} for part in (sent, asked)))()
        pieces = [[asked[rank][place] for place in _slices(counts[rank, :, self._rank])] for rank in ranks]
        lookups = [
            Lookup(
                need.tables, rows[k], inverses[k], of_owner[k],
                np.concatenate([pieces[rank][k] for rank in ranks]), _slices(counts[:, k, self._rank]),
            )
            for k, need in enumerate(needed)
        ]  # fmt: skip
        self._coming = iter([lookups[first : first + n_kinds] for first in range(0, len(lookups), n_kinds)])

    def unique(self, table: Tensor) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The distinct rows that the present step looks up, in the order that their gradients must have, and the
        position of each row among them.
        """
        lookup = next(lookup for lookup in self._lookups if any(table is of for of in lookup.tables))
        return lookup.rows, lookup.inverse

    def fetch(self, links: Links, meanwhile: Callable[[], None]) -> None:
        """Bring the rows that the next step needs up to date, here and on their owners."""
        self._lookups = next(self._coming)
        sent = self._parts("sent", {rank: self._size(self._asked_by(rank)) for rank in self._others})
        received = self._parts("received", {rank: self._size(self._owned_by(rank)) for rank in self._others})
        for rank, part in sent.items():
            for lookup, table, place, values in self._tables_in(part, self._asked_by(rank)):
                self._optimizer.rows_of(table).lend(table.detach().numpy(), lookup.asked[place], values)
        receive = links.start_exchange(sent, received)
        for lookup in self._lookups:
            for table in lookup.tables:
                own = lookup.rows[lookup.of_owner[self._rank]]
                self._optimizer.rows_of(table).catch_up(table.detach().numpy(), own)
        meanwhile()
        receive()
        for rank, part in received.items():
            for lookup, table, place, values in self._tables_in(part, self._owned_by(rank)):
                self._optimizer.rows_of(table).borrow(table.detach().numpy(), lookup.rows[place], values)

    def step(
        self,
        links: Links,
        gradients: Mapping[Tensor, Floats],
        dense: Floats,
        learning_rate: float,
        meanwhile: Callable[[], None],
    ) -> Floats:
        """Adam's step on the rows that this rank owns, given what each rank has found for those that it needed.

        Dense gradients go to all ranks with it, and their sum is returned.
        """
        n_dense, ranks = len(dense), range(self._n_ranks)
        sent = self._parts("sent", {rank: n_dense + self._size(self._owned_by(rank)) for rank in self._others})
        received = self._parts("received", {rank: n_dense + self._size(self._asked_by(rank)) for rank in ranks})
        for rank in ranks:
            part = received[rank] if rank == self._rank else sent[rank]
            part[:n_dense] = dense
            for _, table, place, values in self._tables_in(part[n_dense:], self._owned_by(rank)):
                values[:] = gradients[table][place]
        receive = links.start_exchange(sent, {rank: received[rank] for rank in self._others})
        meanwhile()
        receive()
        together = self._buffers["received"]
        begins = n_dense + np.cumsum([0, *map(len, received.values())])[:-1]
        for lookup in self._lookups:
            firsts, lengths = np.array([(place.start, place.stop - place.start) for place in lookup.of_asker]).T
            for table in lookup.tables:
                parts = np.stack([firsts, begins, lengths], axis=1)
                adam = self._optimizer.rows_of(table)
                adam.step_sums(table.detach().numpy(), lookup.asked, together, parts, learning_rate)
                begins = begins + lengths * table.shape[1]
        return np.sum([part[:n_dense] for part in received.values()], axis=0)

    def _tables_in(self, part: Floats, places: Sequence[slice]) -> Iterator[tuple[Lookup, Tensor, slice, Floats]]:
        """Each table, which of the rows of its lookup a message is about, and where their numbers are in it."""
        at = 0
        for lookup, place in zip(self._lookups, places, strict=True):
            n_rows = place.stop - place.start
            for table in lookup.tables:
                values = part[at : at + n_rows * table.shape[1]].reshape(n_rows, table.shape[1])
                yield lookup, table, place, values
                at += values.size

    @property
    def _others(self) -> list[int]:
        return [rank for rank in range(self._n_ranks) if rank != self._rank]

    def _asked_by(self, rank: int) -> list[slice]:
        """Which of the rows that are owned here a rank needs, for each lookup."""
        return [lookup.of_asker[rank] for lookup in self._lookups]

    def _owned_by(self, rank: int) -> list[slice]:
        """Which of the rows that are needed here a rank owns, for each lookup."""
        return [lookup.of_owner[rank] for lookup in self._lookups]

    def _size(self, places: Sequence[slice]) -> int:
        """How many numbers some rows of each lookup have in all of its tables."""
        return sum(
            (place.stop - place.start) * lookup.width for place, lookup in zip(places, self._lookups, strict=True)
        )

    def _parts(self, name: str, lengths: Mapping[int, int]) -> dict[int, Floats]:
        buffer, places = self._buffer(name, sum(lengths.values())), _slices(list(lengths.values()))
        return {rank: buffer[place] for rank, place in zip(lengths, places, strict=True)}

    def _buffer(self, name: str, n: int) -> Floats:
        """Where to put this many numbers: the same place each time, since new memory is slow to write."""
        if name not in self._buffers or len(self._buffers[name]) < n:
            self._buffers[name] = np.empty(n + n // 4, np.float32)
        return self._buffers[name][:n]


@njit(cache=True, nogil=True)
def _sort_by_owner(unique, inverse, counts):
    """Distinct rows in the order of their owners; `inverse` is adapted, and the rows of each owner are counted."""
    n_ranks = len(counts)
    counts[:] = 0
    for row in unique:
        counts[row % n_ranks] += 1
    following = np.cumsum(counts) - counts  # where the next row of each owner goes
    rows, places = np.empty(len(unique), np.int32), np.empty(len(unique), np.int32)
    for k in range(len(unique)):
        owner = unique[k] % n_ranks
        rows[following[owner]], places[k] = unique[k], following[owner]
        following[owner] += 1
    for k in range(len(inverse)):
        inverse[k] = places[inverse[k]]
    return rows


def _slices(lengths: Sequence[int] | NDArray[Any]) -> list[slice]:
    """Pieces of these lengths, one behind the other."""
    return [slice(first, last) for first, last in pairwise(accumulate(map(int, lengths), initial=0))]
