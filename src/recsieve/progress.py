"""How far something is: what everything that takes long tells whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Advanced:
    """So much of something is done."""

    what: str
    done: float
    total: float
    unit: str = ""  # users, bytes, steps, epochs; none: `done` is a share
    note: str = ""
    ended: bool = False  # also before all is done, as a training that no longer improves


Progress = Callable[[Advanced], None]


def unheard(event: object) -> None:
    """A progress callback that does nothing."""
