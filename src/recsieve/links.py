"""Connections between ranks for the small messages of a training step.

gloo takes about a millisecond for such a message, whatever its length, because it passes it from thread to thread. Here
the training thread itself sends and receives (decision 0029).
"""

from __future__ import annotations

import secrets
import select
import socket
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recsieve.communicator import Communicator, own_address
from recsieve.errors import GroupError

PATIENCE = 1800.0  # seconds without a byte after which another rank counts as lost, as for gloo
TOKEN = 16  # bytes that a rank shows when it connects, so that nobody else is taken for one


class Links:
    """A TCP connection to each other rank. Every rank has to make the same calls in the same order."""

    def __init__(self, group: Communicator, *, patience: float = PATIENCE) -> None:
        self._group, self._patience = group, patience
        self._sockets = _connect(group, patience)
        self._close = weakref.finalize(self, _close, list(self._sockets.values()))

    def start_exchange(
        self, sent: Mapping[int, NDArray[Any]], received: Mapping[int, NDArray[Any]]
    ) -> Callable[[], None]:
        """Begin to send an array to each other rank; what this gives fills in those that come from them.

        A rank that is left out is sent nothing. What is sent must not be changed before all has come.
        """
        to_send, to_receive = (
            {rank: of.view(np.uint8).data for rank, of in arrays.items() if len(of)} for arrays in (sent, received)
        )

        def receive() -> None:
            poll, ranks = select.poll(), {of.fileno(): rank for rank, of in self._sockets.items()}
            while to_send or to_receive:
                for number, rank in ranks.items():
                    wanted = select.POLLOUT * (rank in to_send) | select.POLLIN * (rank in to_receive)
                    poll.register(number, wanted)
                ready = poll.poll(1000 * self._patience)
                if not ready:
                    raise self._lost(next(iter(to_receive or to_send)), f"no answer in {self._patience:.0f} s")
                for number, _ in ready:
                    self._send(ranks[number], to_send)
                    self._receive(ranks[number], to_receive)

        for rank in list(to_send):
            self._send(rank, to_send)
        return receive

    def all_gather(self, parts: Sequence[NDArray[Any]]) -> None:
        """Fill in the parts of the other ranks; all ranks know how long each is."""
        own = parts[self._group.rank]
        self.start_exchange(dict.fromkeys(self._sockets, own), {rank: parts[rank] for rank in self._sockets})()

    def _send(self, rank: int, to_send: dict[int, memoryview]) -> None:
        """Send as much as the connection takes without waiting."""
        try:
            while rank in to_send:
                sent = self._sockets[rank].send(to_send[rank])
                to_send[rank] = to_send[rank][sent:]
                if not to_send[rank]:
                    del to_send[rank]
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost(rank, str(error)) from error

    def _receive(self, rank: int, to_receive: dict[int, memoryview]) -> None:
        """Take what has come."""
        try:
            while rank in to_receive:
                n_bytes = self._sockets[rank].recv_into(to_receive[rank])
                if n_bytes == 0:
                    raise self._lost(rank, "it has closed the connection")
                to_receive[rank] = to_receive[rank][n_bytes:]
                if not to_receive[rank]:
                    del to_receive[rank]
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost(rank, str(error)) from error

    def _lost(self, rank: int, reason: str) -> GroupError:
        return GroupError(
            f"rank {self._group.rank} has lost the connection to rank {rank} ({reason}): it has stopped (see its "
            "output), or its host cannot be reached; start the group again to continue."
        )


def _connect(group: Communicator, patience: float) -> dict[int, socket.socket]:
    """Connect to the ranks before this one, and wait for those after it."""
    own = own_address()
    family = socket.AF_INET6 if ":" in own else socket.AF_INET
    connections: dict[int, socket.socket] = {}
    with socket.create_server((own, 0), family=family, backlog=group.size) as server:
        server.settimeout(patience)
        token = group.broadcast_bytes(secrets.token_bytes(TOKEN))
        endpoints = [part.tobytes().decode() for part in group.all_gather_arrays(_endpoint(own, server))]
        for rank in range(group.rank):
            address, port = endpoints[rank].rsplit(" ", 1)
            try:
                connections[rank] = socket.create_connection((address, int(port)), patience)
                connections[rank].sendall(token + group.rank.to_bytes(4, "little"))
            except OSError as error:
                raise GroupError(
                    f"rank {group.rank} cannot connect to rank {rank} at {address}, port {port} ({error}): hosts must "
                    "be able to reach each other at all ports, as for gloo."
                ) from error
        while len(connections) < group.size - 1:
            try:
                connection, _ = server.accept()
            except TimeoutError as error:
                missing = sorted(set(range(group.rank + 1, group.size)) - connections.keys())
                raise GroupError(
                    f"rank {group.rank} has waited {patience:.0f} s for rank {missing[0]} to connect: hosts must be "
                    "able to reach each other at all ports, as for gloo."
                ) from error
            who = _who(connection, token, patience)
            if who is None or who in connections or not group.rank < who < group.size:
                connection.close()
            else:
                connections[who] = connection
    for connection in connections.values():
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
    return connections


def _endpoint(own: str, server: socket.socket) -> NDArray[np.uint8]:
    return np.frombuffer(f"{own} {server.getsockname()[1]}".encode(), np.uint8)


def _who(connection: socket.socket, token: bytes, patience: float) -> int | None:
    """The rank that has connected; None if it is none of the group."""
    connection.settimeout(min(patience, 10))
    shown = b""
    with suppress(OSError):
        while len(shown) < TOKEN + 4 and (more := connection.recv(TOKEN + 4 - len(shown))):
            shown += more
    known = secrets.compare_digest(shown[:TOKEN], token) and len(shown) == TOKEN + 4
    return int.from_bytes(shown[TOKEN:], "little") if known else None


def _close(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.close()
