"""Only one process at a time writes into a folder; any other gets an error that names it.

The lock is one of the operating system, so it ends with its holder, however that dies. A file next to it says who that
is, because a locked file cannot be read on every system.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from recsieve.errors import RunError

LOCK, HOLDER = ".lock", ".holder"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for writing, creating it if necessary; an error if another process has it."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise RunError(
            f"{folder} is being written by {_holder(folder)}: wait until it has finished, or give another folder with "
            "--out."
        ) from None
    try:
        now = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        (folder / HOLDER).write_text(f"process {os.getpid()} on {socket.gethostname()} since {now}", encoding="utf-8")
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        with suppress(OSError):  # Windows removes nothing that is open, and another may have begun to use the folder
            (folder / LOCK).unlink()  # filelock notices where it has locked a file that is no longer there
            if new and not is_begun(folder):
                folder.rmdir()
        lock.release()


def is_begun(folder: Path) -> bool:
    """Whether a folder has anything but a lock."""
    return folder.exists() and any(path.name not in (LOCK, HOLDER) for path in folder.iterdir())


def _holder(folder: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        if said := (folder / HOLDER).read_text(encoding="utf-8")[:200].strip():
            return said
    return "another process"
