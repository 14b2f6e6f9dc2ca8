import numpy as np
import pytest
import torch

from recsieve.errors import GroupError
from recsieve.group import ALONE, Group, current, join, restarts


def test_a_process_that_nobody_started_together_with_others_is_alone(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    with join() as group:
        assert group == current() == ALONE
    assert restarts() == 0


def test_one_rank_of_torchrun_is_alone_and_listens_nowhere(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "test")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with join() as group:
        assert group == Group(launched=True)
        assert not torch.distributed.is_initialized()


def test_alone_everything_is_what_was_given():
    assert ALONE.sum(np.array([1, 2])).tolist() == [1, 2]
    assert ALONE.joined(np.array([1, 2])).tolist() == [1, 2]
    assert ALONE.from_first(b"hello") == b"hello"
    assert ALONE.total(3) == 3
    assert ALONE.any(True)
    assert not ALONE.all(False)


def test_ranks_gather_what_each_has_even_if_that_is_nothing(in_ranks):
    def work(group: Group):
        return group.joined(np.arange(group.rank * 2)), group.sum(np.ones(2)), group.from_first(b"%d" % group.rank)

    for joined, total, first in in_ranks(3, work):
        assert joined.tolist() == [0, 1, 0, 1, 2, 3]
        assert total.tolist() == [3, 3]
        assert first == b"0"


def test_what_goes_wrong_between_ranks_is_one_line(monkeypatch):
    def all_reduce(tensor):
        raise RuntimeError("[/gloo/pair.cc:553] Connection closed by peer [10.0.0.2]:6019. Check the logs. GLHF!\nmore")

    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    with pytest.raises(
        GroupError, match=r"rank 1 has lost the others \(Connection closed by peer \[10.0.0.2\]:6019\):"
    ):
        Group(1, 2).total(1)
