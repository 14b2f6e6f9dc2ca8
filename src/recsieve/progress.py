"""Progress reports: what long operations pass to their `progress` callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Advanced:
    """How far an operation has come."""

    what: str
    done: float
    total: float
    unit: str = ""  # users, bytes, steps, epochs; none: only the share matters
    note: str = ""
    ended: bool = False  # may come early, as for a training that no longer improves
    even: bool = True  # whether parts take about as long as each other, so that the time left can be estimated


Progress = Callable[[Advanced], None]


def unheard(event: object) -> None:
    """A progress callback that does nothing."""
