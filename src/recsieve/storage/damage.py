"""Turns errors of libraries on damaged files into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polars.exceptions import PanicException

from recsieve.errors import RecsieveError, RunError


@contextmanager
def reading(path: Path, what: str = "of recsieve", advice: str = "train again in another folder") -> Iterator[None]:
    """Report any problem with the contents of a file or folder in one line that names it.

    An untrusted file can make a library raise anything, so every exception is caught.
    """
    try:
        yield
    except (RecsieveError, MemoryError):
        raise
    except FileNotFoundError as error:
        missing = Path(error.filename or path)
        raise RunError(
            f"{missing.parent} has no {missing.name}: the run is not finished, or a file was removed."
        ) from None
    except (Exception, PanicException) as error:
        reason = str(error).splitlines()[0][:300] if str(error).strip() else type(error).__name__
        raise RunError(f"{path} is damaged or not {what} ({reason}): {advice}.") from None
