"""A checkpoint: one file that holds all that decides how a training goes on, replaced in one step.

It is a safetensors file: the tensors as they are, everything else as JSON in its header. Opening one from a stranger
executes nothing.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from recsieve.errors import RunError
from recsieve.files import replacing
from recsieve.group import Group


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write a nested state of tensors and plain values."""
    tensors: dict[str, Tensor] = {}
    plain = _pack(state, tensors)
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"state": json.dumps(plain)})


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read back what `save_checkpoint` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a dict
            return _unpack(json.loads(file.metadata()["state"]), tensors)
    except FileNotFoundError:
        raise RunError(f"there is no checkpoint at {path}: train without --resume to begin anew.") from None
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise RunError(f"{path} is not a checkpoint of recsieve, or is damaged ({error}): begin anew.") from None


def load_on_all(path: Path, group: Group) -> dict[str, Any]:
    """Read a checkpoint on the first rank, and hand it to the others, which may not see the file."""
    tensors: dict[str, Tensor] = {}
    plain = _pack(load_checkpoint(path), tensors) if group.is_first else None
    shapes = {name: [str(tensor.dtype).removeprefix("torch."), *tensor.shape] for name, tensor in tensors.items()}
    told = json.loads(group.from_first(json.dumps({"state": plain, "shapes": shapes}).encode()))
    for name, (dtype, *shape) in told["shapes"].items():
        group.tensor_from_first(tensors.setdefault(name, torch.empty(shape, dtype=getattr(torch, dtype))))
    return _unpack(told["state"], tensors)


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Move tensors out of a nested value; dictionaries become pairs, because JSON keeps no integer keys."""
    if isinstance(value, Tensor):
        tensors[str(len(tensors))] = value.detach().cpu().contiguous()
        return {"tensor": str(len(tensors) - 1)}
    if isinstance(value, dict):
        return {"pairs": [[key, _pack(entry, tensors)] for key, entry in value.items()]}
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


def copy_weights(module: torch.nn.Module) -> dict[str, Tensor]:
    """The weights of a module as they are now."""
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
