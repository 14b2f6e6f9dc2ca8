"""Huge text files, plain or gzipped, in blocks of whole lines: only one block is ever in memory."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

import polars as pl

from recsieve.errors import DataError

BLOCK_BYTES = 1 << 25
LONGEST_LINE = 1 << 28  # beyond this a file has no lines: it is one JSON document, or no text


@dataclass(frozen=True)
class Block:
    """Some lines of a file, and how far it has been read."""

    text: bytes
    path: Path
    first_line: int  # its number in the file, from 1
    bytes_read: int  # of the file as it is on the disk

    @property
    def n_lines(self) -> int:
        return self.text.count(b"\n") + (not self.text.endswith(b"\n"))


def read_blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The lines of a file, about `size` bytes at a time."""
    try:
        with path.open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield from _cut(cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_gzip else file, file, path, size)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be unpacked ({error}): it is incomplete or damaged, download it again."
        ) from error


def _cut(text: IO[bytes], file: IO[bytes], path: Path, size: int) -> Iterator[Block]:
    rest, line = b"", 1
    while piece := text.read(size):
        if line == 1 and not rest:
            _refuse_archive(piece, path)
        end = piece.rfind(b"\n") + 1
        if end == 0:
            rest += piece
            if len(rest) > LONGEST_LINE:
                raise DataError(f"line {line:,} of {path} does not end: give a file with one record per line.")
            continue
        block = Block(rest + piece[:end], path, line, file.tell())
        yield block
        rest, line = piece[end:], line + block.n_lines
    if rest:
        yield Block(rest, path, line, file.tell())


def _refuse_archive(beginning: bytes, path: Path) -> None:
    if beginning.startswith(b"PK\x03\x04") or beginning[257:262] == b"ustar":
        raise DataError(f"{path} is an archive of several files: unpack it, and give the file inside.")


def without_header(block: Block, beginning: bytes) -> Block:
    """The lines without the first of the file, if that begins as a header does."""
    if block.first_line != 1 or not block.text.startswith(beginning):
        return block
    return replace(block, text=block.text.partition(b"\n")[2], first_line=2)


def json_fields(block: Block, fields: Sequence[str]) -> pl.DataFrame:
    """Some fields of JSON lines as text, null where a line has them not."""
    try:
        return pl.read_ndjson(block.text, schema=dict.fromkeys(fields, pl.String()))
    except pl.exceptions.PolarsError as error:
        _refuse_broken_json(block)
        raise DataError(f"{block.path} cannot be read as JSON lines ({str(error).splitlines()[0]}).") from error


def _refuse_broken_json(block: Block) -> None:
    for number, line in enumerate(block.text.splitlines(), start=block.first_line):
        try:
            is_record = not line.strip() or isinstance(json.loads(line), dict)
        except ValueError:
            is_record = False
        if not is_record:
            raise DataError(
                f"line {number:,} of {block.path} is not a JSON object: give a file with one JSON object per line."
            )


def cells(block: Block, separator: str, names: Sequence[str]) -> pl.DataFrame:
    """The cells of delimited lines as text, under the names given; a line with more or fewer is an error."""
    try:
        frame = pl.read_csv(
            block.text, has_header=False, separator=separator, schema=dict.fromkeys(names, pl.String()), quote_char=None
        )
    except pl.exceptions.PolarsError:
        frame = None
    if frame is None or frame[:, -1].has_nulls():  # polars fills a line that is too short with nulls
        _refuse_ragged(block, separator, len(names))
    if frame is None:
        raise DataError(f"{block.path} cannot be read as text with '{separator}' between its cells.")
    return frame


def _refuse_ragged(block: Block, separator: str, expected: int) -> None:
    for number, line in enumerate(block.text.splitlines(), start=block.first_line):
        found = line.count(separator.encode()) + 1
        if line.strip() and found != expected:
            raise DataError(f"line {number:,} of {block.path} has {found} cells where {expected} are expected.")
