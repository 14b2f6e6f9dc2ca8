"""Files that a reader never sees half-written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; at the end it takes the place of `path` in one step, or is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        yield temporary
        _write_through(temporary)  # or a power cut after the rename leaves an empty file
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _write_through(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
