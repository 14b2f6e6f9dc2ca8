"""Item rows that their owners lend: what each rank asks for, gets, and gives back."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from recsieve.communicator import Communicator
from recsieve.links import Links
from recsieve.optim import LazyAdam
from recsieve.training.steps.item_rows import ItemRows, Needed

N_ROWS, WIDTHS = 20, (3, 5)
ROWS = st.lists(st.integers(0, N_ROWS - 1), max_size=N_ROWS)


def tables_of():
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(N_ROWS, width, generator=generator)) for width in WIDTHS]


def gradient(rank: int, step: int, rows: np.ndarray, width: int) -> np.ndarray:
    return np.sin(np.arange(width) + 7.0 * rows[:, None] + 3 * rank + step).astype(np.float32)


def train(group: Communicator, needed: list[list[np.ndarray]]):
    """Some steps in which each rank needs some rows; what it read, and the sums of dense gradients."""
    tables, links = tables_of(), Links(group)
    adam = LazyAdam(tables, lr=0.1)
    items, reads, sums = ItemRows(adam, group.rank, group.size), [], []
    own = [of_step[group.rank] for of_step in needed]
    items.announce(links, [[Needed(tables, rows)] for rows in own])
    for step, rows in enumerate(own):
        meanwhile = []
        items.fetch(links, lambda calls=meanwhile: calls.append("fetch"))
        reads.append([adam.rows_of(table).read(table.detach().numpy(), rows) for table in tables])
        unique, inverse = items.unique(tables[0])
        np.testing.assert_array_equal(unique[inverse], rows)
        gradients = {table: gradient(group.rank, step, unique, table.shape[1]) for table in tables}
        dense = np.full(2, group.rank + step, np.float32)
        sums.append(items.step(links, gradients, dense, 0.1, lambda calls=meanwhile: calls.append("step")).tolist())
        assert meanwhile == ["fetch", "step"]
    adam.flush()
    owned = items.owned(N_ROWS, group.rank)
    return reads, sums, [table.detach()[owned].numpy() for table in tables]


def plain(needed: list[list[np.ndarray]]):
    """The same steps in one place: the tables before each, and at the end."""
    tables = tables_of()
    adam = LazyAdam(tables, lr=0.1)
    before = []
    for step, of_step in enumerate(needed):
        for table in tables:
            state, values = adam.rows_of(table), table.detach().numpy()
            state.catch_up(values, np.arange(N_ROWS))
        before.append([table.detach().numpy().copy() for table in tables])
        for table in tables:
            state, values = adam.rows_of(table), table.detach().numpy()
            sums, touched = np.zeros_like(values), np.zeros(N_ROWS, bool)
            for rank, rows in enumerate(map(np.unique, of_step)):
                sums[rows] += gradient(rank, step, rows, table.shape[1])
                touched[rows] = True
            rows = np.flatnonzero(touched)
            state.step(values, rows, sums[rows], 0.1)
    adam.flush()
    return before, [table.detach().numpy() for table in tables]


@settings(max_examples=15, deadline=None)
@given(data=st.data(), n_ranks=st.sampled_from([2, 3]), n_steps=st.integers(1, 5))
def test_every_rank_reads_and_changes_the_rows_that_one_process_would(in_ranks, data, n_ranks, n_steps):
    needed = [[np.array(data.draw(ROWS), np.int64) for _ in range(n_ranks)] for _ in range(n_steps)]
    before, after = plain(needed)
    for rank, (reads, sums, owned) in enumerate(in_ranks(n_ranks, lambda group: train(group, needed))):
        for step, read in enumerate(reads):
            for values, table in zip(read, before[step], strict=True):
                np.testing.assert_allclose(values, table[needed[step][rank]], rtol=1e-5, atol=1e-5)
        assert sums == [[sum(range(n_ranks)) + n_ranks * step] * 2 for step in range(n_steps)]
        for values, table in zip(owned, after, strict=True):
            np.testing.assert_allclose(values, table[rank::n_ranks], rtol=1e-5, atol=1e-5)


def test_what_ranks_send_for_items_does_not_grow_with_their_number(in_ranks, monkeypatch):
    sent = {}
    original = Links.start_exchange

    def counted(self, to_send, to_receive):
        sent[self._group.size, self._group.rank] += sum(of.nbytes for of in to_send.values())
        return original(self, to_send, to_receive)

    monkeypatch.setattr(Links, "start_exchange", counted)
    rows = np.arange(N_ROWS)

    def work(group: Communicator):
        sent[group.size, group.rank] = 0
        train(group, [[rows] * group.size])

    for n_ranks in (2, 4):
        in_ranks(n_ranks, work)
    per_row = 4 * (1 + 2 * sum(WIDTHS))  # its number, its values and its gradients
    for (n_ranks, _), n_bytes in sent.items():
        small = (4 * n_ranks + 4 * 2) * (n_ranks - 1)  # how many rows are needed of each owner, and dense gradients
        assert n_bytes == per_row * (N_ROWS - N_ROWS // n_ranks) + small


def test_rows_are_owned_by_one_rank_each():
    owned = [
        np.arange(N_ROWS)[ItemRows(LazyAdam(tables_of(), lr=0.1), rank, 3).owned(N_ROWS, rank)] for rank in range(3)
    ]
    assert sorted(np.concatenate(owned).tolist()) == list(range(N_ROWS))
