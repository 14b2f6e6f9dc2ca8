"""How much memory there is."""

from __future__ import annotations

import os
from pathlib import Path


def free_memory() -> int:
    """Bytes that may be used without pushing others out."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return all_memory()


def all_memory() -> int:
    """Bytes that this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30  # not told by this system: a small machine
