"""What a measurement gives back, and the clock."""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from benchmarks.catalogue import Effort
from recsieve.data.interactions import Interactions

Result = TypeVar("Result")


class Disagreement(Exception):
    """Two ways that should give the same results do not."""


class Skipped(Exception):
    """A measurement cannot be made here; the message says why."""


@dataclass(frozen=True)
class Agreement:
    """How far two ways are apart; refused when it is more than the limit."""

    what: str
    difference: float
    limit: float

    def __post_init__(self) -> None:
        if not self.difference <= self.limit:  # also where it is not a number
            raise Disagreement(f"{self.what}: {self.difference:.3g}, which is more than {self.limit:g}")


@dataclass(frozen=True)
class Timing:
    """Seconds, the single repeats or parts behind them, and what was extrapolated from what."""

    seconds: float
    extrapolated: str = ""
    repeats: list[float] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    peak_mb: float | None = None  # of the process that did the work, where that was another one


@dataclass(frozen=True)
class Case:
    """The folder with a shape's files, and how much effort to spend."""

    folder: Path
    effort: Effort

    @cached_property
    def data(self) -> Interactions:
        from benchmarks.inputs import load

        return load(self.folder)


class Measure(Protocol):
    """Both ways of doing one thing."""

    def agree(self, case: Case) -> Agreement: ...
    def plain(self, case: Case) -> Timing: ...
    def ours(self, case: Case) -> Timing: ...


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """How many seconds some work takes, and what comes of it."""
    gc.collect()  # what was left before is not charged to it
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def seconds(work: Callable[[], object]) -> float:
    """How many seconds some work takes."""
    return timed(work)[0]


def median_of(repeats: int, work: Callable[[], object], share: float = 1.0) -> Timing:
    """The median time of some work, done a few times; `share` of it is what is asked for."""
    times = [seconds(work) * share for _ in range(repeats)]
    return Timing(statistics.median(times), repeats=times)


def peak_mb() -> float:
    """The most memory that this process has ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
