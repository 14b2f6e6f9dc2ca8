import numpy as np
import pytest
import torch

from recsieve.communicator import SINGLE_PROCESS, Communicator, current, join, restarts
from recsieve.errors import GroupError


def test_a_process_that_nobody_started_together_with_others_is_alone(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    with join() as group:
        assert group == current() == SINGLE_PROCESS
    assert restarts() == 0


def test_one_rank_of_torchrun_is_alone_and_listens_nowhere(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "test")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with join() as group:
        assert group == SINGLE_PROCESS
        assert not torch.distributed.is_initialized()


def test_alone_everything_is_what_was_given():
    assert SINGLE_PROCESS.sum(np.array([1, 2])).tolist() == [1, 2]
    assert SINGLE_PROCESS.all_gather_joined(np.array([1, 2])).tolist() == [1, 2]
    assert SINGLE_PROCESS.broadcast_bytes(b"hello") == b"hello"
    assert SINGLE_PROCESS.total(3) == 3
    assert SINGLE_PROCESS.any(True)
    assert not SINGLE_PROCESS.all(False)


def test_ranks_gather_what_each_has_even_if_that_is_nothing(in_ranks):
    def work(group: Communicator):
        return (
            group.all_gather_joined(np.arange(group.rank * 2)),
            group.sum(np.ones(2)),
            group.broadcast_bytes(b"%d" % group.rank),
        )

    for joined, total, first in in_ranks(3, work):
        assert joined.tolist() == [0, 1, 0, 1, 2, 3]
        assert total.tolist() == [3, 3]
        assert first == b"0"


def test_a_value_comes_to_the_rank_that_it_is_for_in_the_order_of_those_that_sent_it(in_ranks):
    def work(group: Communicator):
        return group.send(10 * group.rank + np.arange(4), np.array([2, 0, 2, group.rank]))

    assert [values.tolist() for values in in_ranks(3, work)] == [[1, 3, 11, 21], [13], [0, 2, 10, 12, 20, 22, 23]]


def test_what_goes_wrong_between_ranks_is_one_line(monkeypatch):
    def all_reduce(tensor):
        raise RuntimeError("[/gloo/pair.cc:553] Connection closed by peer [10.0.0.2]:6019. Check the logs. GLHF!\nmore")

    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    with pytest.raises(
        GroupError,
        match=r"rank 1 has lost the connection to the others \(Connection closed by peer \[10.0.0.2\]:6019\):",
    ):
        Communicator(1, 2).total(1)


def test_no_garbage_outlives_the_group_whose_threads_would_abort_the_process(start_ranks):
    code = """
import gc, weakref, torch.distributed as dist
from recsieve.communicator import join
gc.disable()
with join():
    cycle = [dist.group.WORLD]
    cycle.append(cycle)
    group = weakref.ref(cycle[0])
    del cycle
assert group() is None
"""
    for rank in start_ranks([["timeit", "-n1", "-r1", code]] * 2):
        _, errors = rank.communicate(timeout=120)
        assert rank.returncode == 0, errors
