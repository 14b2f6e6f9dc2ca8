"""Communication between the processes of a run, over torch.distributed.

The default is a group of one, so that no code has to ask whether there are others. Every rank has to make the same
calls in the same order. Nothing is sent as a pickle here; TorchRec does so once for each table that it shards.
"""

from __future__ import annotations

import gc
import os
import re
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from recsieve.errors import GroupError

if TYPE_CHECKING:
    from torch import Tensor

Number = TypeVar("Number", bound=np.generic)

_ADDRESS_OF_INTERFACE = 0x8915  # SIOCGIFADDR of Linux


@dataclass(frozen=True)
class Communicator:
    """The ranks of a run, each of which holds a share of the data."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that writes files and shows progress."""
        return self.rank == 0

    def all_gather_rows(self, rows: Tensor) -> list[Tensor]:
        """The tensors of all ranks, in rank order; only their lengths may differ."""
        if self.size == 1:
            return [rows]
        import torch

        return self.all_gather_known(
            rows, [int(n) for n in self.all_gather(torch.tensor([len(rows)], device=rows.device))]
        )

    def all_gather_known(self, rows: Tensor, lengths: list[int]) -> list[Tensor]:
        """The tensors of all ranks, whose lengths all ranks already know."""
        padded = rows.new_zeros((max(lengths), *rows.shape[1:]))
        padded[: len(rows)] = rows
        parts = self.all_gather(padded) if padded.numel() else [padded] * self.size
        return [part[:length] for part, length in zip(parts, lengths, strict=True)]

    def all_gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all ranks, all of one shape."""
        if self.size == 1:
            return [tensor]
        import torch
        import torch.distributed as dist

        parts = [torch.empty_like(tensor) for _ in range(self.size)]
        with self.collective():
            dist.all_gather(parts, tensor)
        return parts

    def all_reduce(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all ranks, with the same bits on each."""
        if self.size > 1:
            import torch.distributed as dist

            with self.collective():
                dist.all_reduce(tensor)

    def exchange_parts(self, parts: Sequence[Tensor]) -> None:
        """Fill in the parts of a table that the other ranks have, without a copy."""
        if self.size > 1:
            import torch.distributed as dist

            with self.collective():
                for under_way in [dist.broadcast(part, rank, async_op=True) for rank, part in enumerate(parts)]:
                    under_way.wait()

    def all_to_all(self, rows: Tensor, counts: list[int]) -> Tensor:
        """The rows that all ranks have for this one; of its own rows, the first `counts[0]` are for rank 0 etc."""
        if self.size == 1:
            return rows
        import torch
        import torch.distributed as dist

        arriving = [int(of_rank[self.rank]) for of_rank in self.all_gather(torch.tensor(counts))]
        received = rows.new_empty((sum(arriving), *rows.shape[1:]))
        with self.collective():
            dist.all_to_all_single(received, rows.contiguous(), arriving, counts)
        return received

    def send(self, values: NDArray[Number], receivers: NDArray[np.integer]) -> NDArray[Number]:
        """The values that all ranks have for this one, given the target rank of each of its own."""
        if self.size == 1:
            return values
        import torch

        order, counts = np.argsort(receivers, kind="stable"), np.bincount(receivers, minlength=self.size)
        return self.all_to_all(torch.from_numpy(values[order]), counts.tolist()).numpy()

    def all_gather_arrays(self, values: NDArray[Number]) -> list[NDArray[Number]]:
        """The arrays of all ranks, in rank order."""
        if self.size == 1:
            return [values]
        import torch

        return [part.numpy() for part in self.all_gather_rows(torch.from_numpy(np.array(values)))]

    def all_gather_joined(self, values: NDArray[Number]) -> NDArray[Number]:
        """The arrays of all ranks, concatenated."""
        return np.concatenate(self.all_gather_arrays(values))

    def sum(self, values: NDArray[Number]) -> NDArray[Number]:
        """The sum over all ranks of arrays of equal length."""
        if self.size == 1:
            return values
        import torch

        total = torch.from_numpy(np.array(values))
        self.all_reduce(total)
        return total.numpy()

    def total(self, count: int) -> int:
        """The sum of a count over all ranks."""
        return int(self.sum(np.array([count], np.int64))[0])

    def any(self, answer: bool) -> bool:
        """Whether something is true on any rank."""
        return self.total(int(answer)) > 0

    def all(self, answer: bool) -> bool:
        """Whether something is true on every rank."""
        return not self.any(not answer)

    def broadcast_bytes(self, message: bytes) -> bytes:
        """The bytes of the first rank; those of the others are ignored."""
        return self.all_gather_arrays(np.frombuffer(message if self.is_first else b"", np.uint8))[0].tobytes()

    def broadcast(self, tensor: Tensor) -> Tensor:
        """Fill a tensor with that of the first rank."""
        if self.size > 1:
            import torch.distributed as dist

            with self.collective():
                dist.broadcast(tensor, 0)
        return tensor

    def share_of(self, n_rows: int) -> slice:
        """The consecutive rows of a table that this rank has, if the table is divided among ranks."""
        share = -(-n_rows // self.size)  # as TorchRec does it
        return slice(min(self.rank * share, n_rows), min((self.rank + 1) * share, n_rows))

    def gather_to_first(self, rows: Tensor, at_once: int) -> Iterator[Tensor]:
        """The rows of all ranks on the first, in rank order, in blocks; the others only send theirs."""
        lengths = [int(n) for n in self.all_gather_joined(np.array([len(rows)]))]
        for rank, length in enumerate(lengths):
            for start in range(0, length, at_once):
                stop = min(start + at_once, length)
                block = rows[start:stop] if rank == self.rank else rows.new_empty((stop - start, *rows.shape[1:]))
                if rank > 0 and self.rank in (0, rank):
                    self._send_to_first(block, rank)
                if self.is_first:
                    yield block

    def _send_to_first(self, block: Tensor, sender: int) -> None:
        import torch.distributed as dist

        with self.collective():
            if self.is_first:
                dist.recv(block, sender)
            else:
                dist.send(block.contiguous(), 0)

    @contextmanager
    def collective(self) -> Iterator[None]:
        """Turn the loss of another rank into a one-line error."""
        import torch.distributed as dist

        try:
            yield
        except RuntimeError as error:
            if "gloo" not in str(error) and not isinstance(error, dist.DistError):
                raise
            raise GroupError(
                f"rank {self.rank} has lost the connection to the others ({_reason(error)}): one of them has stopped "
                "(see its output), or its host cannot be reached; start the group again to continue."
            ) from error


SINGLE_PROCESS = Communicator()


def current() -> Communicator:
    """The group that this process has joined in any way, or a group of one."""
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return SINGLE_PROCESS
    return Communicator(dist.get_rank(), dist.get_world_size())


@contextmanager
def join() -> Iterator[Communicator]:
    """Join the processes started by the same torchrun, or a group of one without torchrun."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ["WORLD_SIZE"]) == 1:
        yield SINGLE_PROCESS
        return
    import torch.distributed as dist

    # Functions of this module take the group that exists when it is imported for a default, and torch's optimisers
    # import it: the group would outlive its end, and its threads abort the process at exit (pytorch/pytorch#179291).
    import torch.distributed.nn.functional  # noqa: F401

    _stay_on_the_way_to(os.environ["MASTER_ADDR"])
    try:
        store, rank, size = next(dist.rendezvous("env://"))
        # torchrun keeps its store when it starts the ranks again: they must not find the addresses of those before.
        store = dist.PrefixStore(f"start {restarts()}", store)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    except RuntimeError as error:
        raise GroupError(
            f"rank {os.environ['RANK']} cannot connect to the others at {os.environ['MASTER_ADDR']} "
            f"({_reason(error)}): give torchrun the same address on every host, one that all of them can reach."
        ) from error
    try:
        yield current()
    finally:
        gc.collect()  # tables of TorchRec refer to the group, and are part of cycles: they must not outlive it either
        dist.destroy_process_group()


def restarts() -> int:
    """How often torchrun has restarted the group after a rank was lost."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def _reason(error: RuntimeError) -> str:
    """What gloo says, without the place in its source that it begins with and the advice that it ends with."""
    return re.sub(r"^\[\S*\] ", "", str(error).splitlines()[0]).partition(". ")[0]


def _stay_on_the_way_to(address: str) -> None:
    """Let gloo listen only on the interface from which the address given to torchrun is reached."""
    if "GLOO_SOCKET_IFNAME" not in os.environ and (interface := _interface_towards(address)) is not None:
        os.environ["GLOO_SOCKET_IFNAME"] = interface


def own_address() -> str:
    """The address at which other ranks reach this one: that of the interface which gloo uses, if it is known."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        of_interfaces = (_address_of(name, probe) for name in os.environ.get("GLOO_SOCKET_IFNAME", "").split(","))
        of_gloo = next((address for address in of_interfaces if address is not None), None)
    return of_gloo or address_towards(os.environ.get("MASTER_ADDR", "localhost"))


def address_towards(address: str) -> str:
    """The address of this host from which it reaches another."""
    family, kind, _, _, place = socket.getaddrinfo(address, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(place)  # sends nothing
        return str(probe.getsockname()[0])


def _interface_towards(address: str) -> str | None:
    """The name of the interface with the address that a packet there would come from; None where that is not known."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        own = address_towards(address)
        return next((name for _, name in socket.if_nameindex() if _address_of(name, probe) == own), None)
    return None


def _address_of(interface: str, probe: socket.socket) -> str | None:
    try:
        import fcntl

        answer = fcntl.ioctl(probe.fileno(), _ADDRESS_OF_INTERFACE, struct.pack("256s", interface.encode()))
        return socket.inet_ntoa(answer[20:24])
    except (ImportError, OSError):
        return None
