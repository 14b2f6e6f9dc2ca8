import socket
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recsieve import links as module
from recsieve.communicator import Communicator, own_address
from recsieve.errors import GroupError
from recsieve.links import Links


def message(rank: int, length: int) -> np.ndarray:
    return np.random.default_rng(rank).standard_normal(length).astype(np.float32)


def parts_of(rank: int, lengths: list[int], seed: int = 0) -> list[np.ndarray]:
    """What a rank has before an exchange."""
    parts = [np.full(length, np.nan, np.float32) for length in lengths]
    parts[rank] = message(rank + seed, lengths[rank])
    return parts


def exchanged(group: Communicator) -> list[np.ndarray]:
    """What a rank has after an exchange of three numbers each."""
    parts = parts_of(group.rank, [3] * group.size)
    Links(group).all_gather(parts)
    return parts


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.sampled_from([0, 1, 7, 1_000, 2_000_000]), min_size=2, max_size=4))
def test_every_rank_gets_what_all_have_given_to_the_bit(in_ranks, lengths):
    def work(group: Communicator):
        between = Links(group)
        first, second = parts_of(group.rank, lengths), parts_of(group.rank, lengths, 10)
        between.all_gather(first)
        between.all_gather(second)
        return first, second

    for first, second in in_ranks(len(lengths), work):
        for rank, length in enumerate(lengths):
            assert np.array_equal(first[rank], message(rank, length))
            assert np.array_equal(second[rank], message(rank + 10, length))


def test_a_rank_that_has_gone_is_told_in_one_line(in_ranks):
    closed = Event()

    def work(group: Communicator):
        between = Links(group)
        if group.rank == 1:
            between._close()
            closed.set()
            return ""
        closed.wait(10)
        with pytest.raises(GroupError) as raised:
            between.all_gather(parts_of(0, [4, 4]))
        return str(raised.value)

    told, _ = in_ranks(2, work)
    assert told.startswith("rank 0 has lost the connection to rank 1 (")
    assert told.endswith("start the group again to continue.")
    assert "\n" not in told


def test_a_rank_that_does_not_answer_counts_as_lost(in_ranks):
    told = Event()

    def work(group: Communicator):
        between = Links(group, patience=0.2 if group.rank == 0 else 10)
        if group.rank == 1:
            return told.wait(10)
        with pytest.raises(GroupError, match="no answer in 0 s"):
            between.all_gather(parts_of(0, [4, 4]))
        told.set()
        return True

    assert in_ranks(2, work) == [True, True]


def test_a_rank_that_does_not_connect_is_told_in_one_line(in_ranks):
    def work(group: Communicator):
        if group.rank == 1:
            group.broadcast_bytes(b"")
            return group.all_gather_arrays(np.frombuffer(b"127.0.0.1 1", np.uint8))
        with pytest.raises(GroupError, match="rank 0 has waited 0 s for rank 1 to connect: hosts must"):
            Links(group, patience=0.2)
        return None

    in_ranks(2, work)


@pytest.mark.parametrize("shown", [b"", b"x" * (module.TOKEN + 4), b"GET / HTTP/1.1\r\n\r\n"])
def test_somebody_else_who_connects_is_not_taken_for_a_rank(in_ranks, monkeypatch, shown):
    endpoint = module._endpoint

    def knocked(own, server):
        with socket.create_connection(server.getsockname()[:2]) as stranger:
            stranger.sendall(shown)
        return endpoint(own, server)

    monkeypatch.setattr(module, "_endpoint", knocked)
    for parts in in_ranks(2, exchanged):
        assert np.array_equal(parts[0], message(0, 3))
        assert np.array_equal(parts[1], message(1, 3))


def test_ranks_on_one_host_listen_on_the_loopback_alone(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    assert own_address() == "127.0.0.1"


@pytest.mark.skipif("lo" not in dict(socket.if_nameindex()).values(), reason="asks Linux for its loopback")
def test_ranks_listen_on_the_interface_that_gloo_was_told_to_use(in_ranks, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("MASTER_ADDR", "255.255.255.255")  # of no host
    for parts in in_ranks(2, exchanged):
        assert np.array_equal(parts[1], message(1, 3))
