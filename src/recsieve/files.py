"""Files that are never half-written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from recsieve.errors import RunError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to; at the end it replaces `path` in one step, or is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode & 0o777  # as the umask says: a library may make the file anew
        yield temporary
        temporary.chmod(mode)
        _write_through(temporary)  # or a power cut after the rename leaves an empty file
        os.replace(temporary, path)
    except OSError as error:
        if str(error.filename) == str(temporary):
            error.filename = str(path)  # nobody knows the temporary one
        raise
    finally:
        with suppress(OSError):  # it may be gone, or never have been: what went wrong before says more
            temporary.unlink()


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder to fill; at the end it becomes `folder`, which must be new or empty, or is removed."""
    folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"'{folder}' exists and is not an empty folder: give a new folder, or remove this one first.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        made = TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent)
    except OSError as error:
        error.filename = str(folder)
        raise
    with made as temporary:
        complete = Path(temporary) / "complete"
        complete.mkdir()
        yield complete
        if folder.exists():  # it may be the folder that somebody stands in, so it stays
            for file in complete.iterdir():
                file.rename(folder / file.name)
        else:
            complete.rename(folder)


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
