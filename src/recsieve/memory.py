"""How much memory is available, and how much of it may be used."""

from __future__ import annotations

import ctypes
import gc
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from recsieve.errors import ConfigError

# An environment variable and no argument: the processes that a command starts have to keep to it too.
LIMIT = "RECSIEVE_MEMORY"
_JEMALLOC = "_RJEM_MALLOC_CONF"  # polars' own
_M_MMAP_THRESHOLD, _LARGE = -3, 1 << 20  # of glibc's mallopt: blocks from this size on are mapped one by one
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def limit_memory(text: str) -> None:
    """Limit this process and those it starts to "4G" or "500M", as far as memory can be estimated in advance."""
    parse_memory(text)
    os.environ[LIMIT] = text


def parse_memory(text: str) -> int:
    """Bytes from "4G", "500M" or "4000000000"."""
    match = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([KMGT]?)I?B?\s*", text.upper(), re.ASCII)
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not size:
        raise ConfigError(f"memory is '{text}', but it is a memory limit: give e.g. 4G or 500M.")
    return size


def free_memory() -> int:
    """Bytes that may still be used, within the limit and without swapping."""
    return max(0, min(_free_by_each_limit()))


def all_memory() -> int:
    """The memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30  # not told by this system: a small machine


def give_back() -> None:
    """Return unused memory to the system, which the allocator would otherwise keep."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # another allocator than glibc's
        ctypes.CDLL(None).malloc_trim(0)


def keep_little() -> None:
    """Let the allocators give large blocks back when they are freed, for whoever runs for long.

    It has to be called before polars is imported, whose allocator, jemalloc, reads its settings when it is loaded and
    would keep what each reload of a service has read until it is used again.
    """
    os.environ[_JEMALLOC] = "dirty_decay_ms:0,muzzy_decay_ms:0"
    with suppress(OSError, AttributeError, TypeError):  # another allocator than glibc's
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


def gigabytes(size: float) -> str:
    """A number of bytes in words."""
    return f"{size / 2**30:,.1f} GB"


def _free_by_each_limit() -> Iterator[int]:
    """What is left of the machine's memory, of the address space, of a container's share and of the stated limit."""
    used, addressed = _used()
    if LIMIT in os.environ:
        yield parse_memory(os.environ[LIMIT]) - used
    with suppress(ImportError, OSError):  # no such limit on this system
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        if allowed != resource.RLIM_INFINITY:
            yield allowed - addressed
    with suppress(OSError, ValueError):  # "max" is no number: no limit
        group = Path("/sys/fs/cgroup")
        yield int(_read(group / "memory.max")) - int(_read(group / "memory.current"))
    try:
        yield next(
            int(line.split()[1]) * 1024
            for line in _read(Path("/proc/meminfo")).splitlines()
            if line.startswith("MemAvailable")
        )
    except (OSError, StopIteration):
        yield all_memory()


def _used() -> tuple[int, int]:
    """Bytes of this process that are in memory, and those it has addressed; 0 where the system does not tell."""
    try:
        addressed, resident = _read(Path("/proc/self/statm")).split()[:2]
        return int(resident) * os.sysconf("SC_PAGE_SIZE"), int(addressed) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0, 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
