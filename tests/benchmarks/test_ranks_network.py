"""What the model of more hosts takes for the bytes of a step or sweep, beside what ranks send."""

from collections import Counter

import pytest

from benchmarks.ranks_network import bytes_of
from benchmarks.ranks_speed import CASES, begin
from recsieve.data.sharing import share_out
from recsieve.links import Links
from recsieve.models.ials_shares import Table


@pytest.fixture
def small_cases(monkeypatch):
    monkeypatch.setitem(CASES, "gmf", ("gmf", 2048))
    monkeypatch.setitem(CASES, "ials", ("ials", 4))


@pytest.mark.parametrize("n_ranks", [2, 16])
def test_the_calculated_bytes_of_a_step_are_those_that_ranks_send(
    small_data, in_ranks, small_cases, monkeypatch, n_ranks
):
    sent, original = Counter(), Links.start_exchange

    def counted(self, to_send, to_receive):
        sent[self._group.rank] += sum(part.nbytes for part in to_send.values())
        return original(self, to_send, to_receive)

    monkeypatch.setattr(Links, "start_exchange", counted)
    data = small_data(500, 1000, 0.02)

    def steps(group):
        fitting = begin("gmf", share_out(data, group), group)
        while fitting.step < fitting.steps_per_epoch:
            fitting.advance()
        return fitting.step

    n_steps, *_ = in_ranks(n_ranks, steps)
    assert sum(sent.values()) / n_ranks / n_steps == pytest.approx(bytes_of("gmf", data, n_ranks), rel=0.05)


def test_a_sweep_sends_the_vectors_of_users_and_of_items_once(small_data, in_ranks, small_cases, monkeypatch):
    sent, original = Counter(), Table.hand_on

    def counted(self):
        sent[self._group.rank] += self.own.nbytes * (self._group.size - 1)
        original(self)

    monkeypatch.setattr(Table, "hand_on", counted)
    data = small_data()

    def sweep(group):
        fitting = begin("ials", share_out(data, group), group)
        sent[group.rank] = 0
        fitting.advance()

    in_ranks(3, sweep)
    assert sum(sent.values()) / 3 == pytest.approx(bytes_of("ials", data, 3))
