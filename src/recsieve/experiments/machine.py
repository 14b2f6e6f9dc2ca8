"""The machine and the versions behind a result."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from recsieve.memory import all_memory

PACKAGES = ("recsieve", "torch", "numba", "numpy", "polars", "scipy")


def machine() -> dict[str, str | int | float]:
    """Processor, cores and memory."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "memory_gb": round(all_memory() / 2**30, 1),
        "system": platform.platform(),
    }


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores_each() -> int:
    """The cores for each of the ranks that torchrun has started on this host; all where it has not."""
    return max(1, cores() // ranks_here())


def ranks_here() -> int:
    """How many ranks torchrun has started on this host."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that affect results."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
