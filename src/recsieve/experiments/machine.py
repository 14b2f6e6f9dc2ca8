"""What a result was made on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("recsieve", "torch", "numba", "numpy", "polars", "scipy")


def machine() -> dict[str, str | int | float]:
    """Processor, cores and memory."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "memory_gb": round(_pages("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
    }


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide numbers."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def free_memory() -> int:
    """Bytes that may be used without pushing others out."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return _pages("SC_PHYS_PAGES")


def _pages(name: str) -> int:
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30  # not told by this system: a small machine


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
