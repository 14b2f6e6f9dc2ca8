"""A checkpoint: one file with everything that affects further training, replaced in one step.

It is a safetensors file: tensors as they are, everything else as JSON in its header. Opening an untrusted one executes
nothing.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.errors import RunError
from recsieve.storage.damage import reading
from recsieve.storage.tensor_file import Share, read_share, write_tensors

OWN = "own_"  # how the name of a tensor begins whose rows are shared out over the ranks


def save_checkpoint(path: Path, state: dict[str, Any], group: Communicator = SINGLE_PROCESS) -> None:
    """Write a nested state of tensors and plain values; the ranks have the same state, or their own rows of it."""
    tensors: dict[str, Tensor | Share] = {}
    plain = _pack(state, tensors)
    write_tensors(path, tensors, {"state": json.dumps(plain)}, group)


def load_checkpoint(path: Path, group: Communicator = SINGLE_PROCESS) -> dict[str, Any]:
    """Load a checkpoint on the first rank, which sends it to the others: they may not have the file."""
    with _opened(path, group) as file:
        about = json.dumps(_contents(file)) if group.is_first else ""
        told = json.loads(group.broadcast_bytes(about.encode()))
        tensors: dict[str, Tensor] = {}
        for name, (dtype, shape) in told["tensors"].items():
            if name.startswith(OWN):
                tensors[name] = read_share(file, name, shape, group)
            else:
                here = file.get_tensor(name) if group.is_first else torch.empty(shape, dtype=getattr(torch, dtype))
                tensors[name] = group.broadcast(here)
        return _unpack(told["state"], tensors)


@contextmanager
def _opened(path: Path, group: Communicator) -> Iterator[Any]:
    """The file on the first rank, nothing on the others; what is wrong with it comes back as one line."""
    if not group.is_first:
        yield None
        return
    if not path.exists():
        raise RunError(f"there is no checkpoint at {path}: train without --resume.")
    with reading(path, "a checkpoint of recsieve", "start again"), safe_open(path, framework="pt") as file:
        yield file


def _contents(file: Any) -> dict[str, Any]:
    """The plain values of a checkpoint, and the type and shape of each tensor."""
    tensors = {}
    for name in file.keys():  # noqa: SIM118 - not a dict
        dtype = torch.float32 if name.startswith(OWN) else file.get_tensor(name).dtype
        tensors[name] = [str(dtype).removeprefix("torch."), file.get_slice(name).get_shape()]
    return {"state": json.loads(file.metadata()["state"]), "tensors": tensors}


def _pack(value: Any, tensors: dict[str, Tensor | Share], name: str = "") -> Any:
    """Move tensors out of a nested value; dictionaries become pairs, because JSON keeps no integer keys."""
    if isinstance(value, Tensor):
        tensor, is_share = value.detach().cpu().contiguous(), name.rpartition(".")[2].startswith(OWN)
        key = f"{OWN if is_share else ''}{len(tensors)}"
        tensors[key] = Share(tensor) if is_share else tensor
        return {"tensor": key}
    if isinstance(value, dict):
        return {"pairs": [[key, _pack(entry, tensors, str(key))] for key, entry in value.items()]}
    if isinstance(value, list | tuple):
        return [_pack(entry, tensors) for entry in value]
    return value


def _unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if "tensor" in value:
            return tensors[value["tensor"]]
        return {key: _unpack(entry, tensors) for key, entry in value["pairs"]}
    if isinstance(value, list):
        return [_unpack(entry, tensors) for entry in value]
    return value
