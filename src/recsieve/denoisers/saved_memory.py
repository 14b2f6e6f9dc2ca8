"""Checks the memory of a strategy in a checkpoint before it can index anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from recsieve.errors import RunError


class Remembering:
    """A strategy that remembers some of its attributes: numbers and tensors, saved under their names."""

    remembered: ClassVar[tuple[str, ...]]

    def limits(self) -> Mapping[str, int]:
        """The limit of each of them that is an index, or a tensor of indices."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.remembered}
        return {name: value.clone() if isinstance(value, Tensor) else value for name, value in values.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in checked_memory(self.state_dict(), state, self.limits()).items():
            setattr(self, name, value)


def checked_memory(own: Mapping[str, Any], given: dict[str, Any], below: Mapping[str, int]) -> dict[str, Any]:
    """The saved memory, if its names, types and shapes match the current ones; what was empty may have grown.

    `below` has the limit of each entry that is an index or a tensor of indices; −1 means none.
    """
    if set(given) != set(own):
        raise RunError(f"the strategy saves {_names(own)}, but the checkpoint has {_names(given)}.")
    for name, mine in own.items():
        if not _is_alike(mine, given[name]) or (name in below and not _is_index(given[name], below[name])):
            raise RunError(f"'{name}' in the strategy's saved state belongs to another training: start again.")
    return given


def _names(state: Mapping[str, Any]) -> str:
    return ", ".join(sorted(map(str, state))) or "nothing"


def _is_alike(mine: Any, given: Any) -> bool:
    if not isinstance(mine, Tensor):
        return type(given) is type(mine) and given >= 0
    if not isinstance(given, Tensor) or given.dtype != mine.dtype or given.dim() != mine.dim():
        return False
    return given.shape == mine.shape or not mine.numel()


def _is_index(given: Any, limit: int) -> bool:
    if isinstance(given, Tensor):
        return not given.numel() or -1 <= int(given.min()) <= int(given.max()) < limit
    return bool(given < limit)
