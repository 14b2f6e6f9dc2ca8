"""Whether a log fits into memory, checked before it is read: a compressed file may unpack to many times its size."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import polars as pl
import zstandard

from recsieve.errors import DataError
from recsieve.memory import free_memory, gigabytes

PIECE = 1 << 20
GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ZLIB = (b"x\x01", b"x^", b"x\x9c", b"x\xda")  # polars would unpack these too
# Bytes at the peak of reading, from logs of 10 to 130 bytes a line: twice the text, and its cells as 3 columns.
TEXT_BYTE, TEXT_ROW = 2, 100
PARQUET_ROW = 24  # a user, an item, and their codes


def require_memory(texts: Sequence[Path], tables: Sequence[Path], name: str) -> None:
    """Refuse files that need more memory than is available, as soon as that is known."""
    free = free_memory()
    needed = sum(PARQUET_ROW * _rows(path) for path in tables)
    _refuse_above(free, needed, name)
    for path in texts:
        for piece in _unpacked(path):
            needed += TEXT_BYTE * len(piece) + TEXT_ROW * piece.count(b"\n")
            _refuse_above(free, needed, name)


def _refuse_above(free: int, needed: int, name: str) -> None:
    if needed > free:
        raise DataError(
            f"{name} needs more memory than allowed, which is {gigabytes(free)}: allow more with --memory if the "
            "machine has it, or give Parquet with fewer rows."
        )


def _rows(path: Path) -> int:
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


def _unpacked(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked if it is compressed, in pieces."""
    try:
        with path.open("rb") as raw, _opened(raw, path) as file:
            while piece := file.read(PIECE):
                yield piece
    except (EOFError, zlib.error, zstandard.ZstdError) as error:
        raise DataError(f"{path} cannot be read ({error}): give a complete file.") from error


def _opened(raw: IO[bytes], path: Path) -> Any:
    start = raw.read(4)
    raw.seek(0)
    if start.startswith(GZIP):
        return gzip.open(raw)
    if start == ZSTANDARD:
        return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    if start[:2] in ZLIB:
        raise DataError(f"{path} is compressed with zlib: give plain text, .gz or .zst.")
    return raw
