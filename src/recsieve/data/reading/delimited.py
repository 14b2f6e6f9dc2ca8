"""Delimited text: its separator, whether it has a header, and lines with a wrong number of cells."""

from __future__ import annotations

import csv
import gzip
import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polars as pl

from recsieve.data.reading.file_format import AS_FOUND, Format
from recsieve.errors import DataError

SEPARATORS = "\t,;|"
MISSING = ("", "na", "n/a", "nan", "null", "none", "\\n")  # in lower case
_LINES_TO_LOOK_AT = 50
_DECIMAL_COMMA = r"^[+-]?\d+(,\d+)?$"
_MAYBE_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"  # 1,234: a thousand and more to some, little more than one to others

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TextFile:
    """A delimited text file and its layout."""

    path: Path
    separator: str
    names: list[str]
    lines_above: int  # the header and what is blank above the first row
    content: bytes | None = None  # in UTF-8, where the file is not

    @classmethod
    def look_at(cls, path: Path, form: Format = AS_FOUND, asked: Collection[str] = ()) -> TextFile:
        """Detect from the first lines which separator a file has and whether it starts with a header."""
        content = None if form.encoding is None else transcoded(path, form.encoding)
        lines = _first_lines(path, content)
        separator = find_separator([line for line in lines if line.strip()])
        filled = [number for number, line in enumerate(lines) if line.strip()]
        cells = _cells(lines[filled[0]], separator, path)
        has_header = form.header if form.header is not None else looks_like_header(cells, asked)
        names = _distinct_names(cells) if has_header else [f"column_{number}" for number in range(1, len(cells) + 1)]
        return cls(path, separator, names, [*filled, len(lines)][has_header], content)

    def scan(self) -> pl.LazyFrame:
        """Open the file lazily, every cell a string; a blank line is a row of nulls."""
        return pl.scan_csv(
            _readable(self.path, self.content),
            has_header=False,
            skip_lines=self.lines_above,
            separator=self.separator,
            schema=dict.fromkeys(self.names, pl.String()),
            glob=False,
        )

    def count_empty(self) -> int:
        """The number of lines that contain only separators."""
        rest = pl.col("line").str.strip_chars_end("\r").str.strip_chars(self.separator)
        return (
            self._lines().filter(rest == "", pl.col("line").str.contains(self.separator, literal=True)).collect().height
        )

    def refuse_ragged(self) -> None:
        """Raise an error that names the first line with too few or too many cells, if there is one."""
        cells = pl.col("line").str.count_matches(self.separator, literal=True) + 1
        ragged = (
            self._lines()
            .filter(pl.col("line").str.strip_chars() != "")
            .filter(~pl.col("line").str.contains('"', literal=True))  # a separator in quotes is none
            .select("number", cells=cells)
            .filter(pl.col("cells") != len(self.names))
            .head(1)
            .collect()
        )
        if not ragged.is_empty():
            number, found = ragged.row(0)
            raise DataError(
                f"line {number:,} of {self.path} has {found} cells where {len(self.names)} are expected: give every "
                "line the same columns, and put text that contains the separator in quotes."
            )

    def refuse_open_quote(self) -> None:
        """Raise an error that names the first line with a quote that is not closed, if there is one.

        A cell may have several lines: then the next line with an odd number of quotes closes it.
        """
        line, cell = pl.col("line"), re.escape(self.separator)
        rest = r'(?:[^"]|"")*'
        odd = (
            self._lines()
            .filter(line.str.count_matches('"', literal=True) % 2 == 1)
            .select(
                "number",
                opens=line.str.contains(f'(?:^|{cell})"{rest}$'),
                closes=line.str.contains(rf'^{rest}"\s*(?:{cell}|$)'),
            )
            .collect()
        )
        rows = odd.iter_rows()
        for number, opens, _ in rows:
            if not (opens and next(rows, (0, False, False))[2]):
                raise DataError(
                    f"line {number:,} of {self.path} has a quote that is not closed: close it, or leave it out."
                )

    def _lines(self) -> pl.LazyFrame:
        lines = pl.scan_lines(
            _readable(self.path, self.content), glob=False, row_index_name="number", row_index_offset=1
        )
        return lines.filter(pl.col("number") > self.lines_above)


def find_separator(lines: list[str]) -> str:
    """The separator that splits every line into the same, largest number of cells."""
    unquoted = [re.sub(r'"[^"]*"', "", line) for line in lines]

    def merit(separator: str) -> tuple[bool, int]:
        counts = [line.count(separator) for line in unquoted]
        return min(counts) == max(counts), counts[0]

    return max((each for each in SEPARATORS if each in unquoted[0]), key=merit, default=",")


def looks_like_header(cells: list[str], asked: Collection[str]) -> bool:
    """Whether a first line has column names: one that the caller gave, or no number."""
    if not {cell.strip() for cell in cells}.isdisjoint(asked):
        return True
    if asked and all(re.fullmatch(r"column_\d+", name) for name in asked):
        return False
    return not any(_is_number(cell) for cell in cells)


def typed(text: pl.Series) -> pl.Series:
    """Text as integers, numbers or true and false if all of it can be read so; words for 'missing' become null."""
    stripped = text.str.strip_chars()
    cells = stripped.set(stripped.str.to_lowercase().is_in(MISSING), None)
    for dtype in (pl.Int64, pl.Float64):
        try:
            return cells.cast(dtype)
        except pl.exceptions.InvalidOperationError:
            continue
    lower = cells.str.to_lowercase()
    return lower == "true" if lower.is_in(["true", "false"]).all() else text


def with_decimal_points(column: pl.Series) -> pl.Series:
    """Text such as `3,5` as numbers, if the rows show that its commas are decimal; this is reported."""
    numbers = comma_numbers(column)
    if numbers is None:
        return column
    first = column.filter(column.str.contains(",", literal=True).fill_null(False))[0]
    what = f"the column '{column.name}' holds numbers such as '{first.strip()}'"
    if numbers.dtype == pl.String:
        logger.warning("%s, whose comma may mean decimals or thousands: kept as text; use a decimal point", what)
    else:
        logger.warning("%s, read with a decimal comma", what)
    return numbers


def comma_numbers(column: pl.Series) -> pl.Series | None:
    """Text with decimal commas as numbers; unchanged if they may mark thousands, None without such commas."""
    if column.dtype != pl.String:
        return None
    stripped = column.str.strip_chars()
    cells = stripped.set(stripped.str.to_lowercase().is_in(MISSING), None)
    with_comma = cells.filter(cells.str.contains(",", literal=True).fill_null(False))
    if with_comma.is_empty() or not cells.str.contains(_DECIMAL_COMMA).all():
        return None
    if with_comma.str.contains(_MAYBE_THOUSANDS).all():
        return column
    return cells.str.replace(",", ".", literal=True).cast(pl.Float64)


def transcoded(path: Path, encoding: str) -> bytes:
    """The text of a file, plain or .gz, in UTF-8."""
    if path.suffix.lower() == ".zst":
        raise DataError(f"{path} is compressed and encoded as {encoding}: unpack it, or write it in UTF-8.")
    packed = path.read_bytes()
    raw = gzip.decompress(packed) if path.suffix.lower() == ".gz" else packed
    try:
        return raw.decode(encoding).encode()
    except UnicodeError as error:
        raise DataError(f"{path} is not text in {encoding} ({error}): give the encoding it was written in.") from error


def _readable(path: Path, content: bytes | None) -> Path | BytesIO:
    return path if content is None else BytesIO(content)


def _first_lines(path: Path, content: bytes | None) -> list[str]:
    head = pl.scan_lines(_readable(path, content), glob=False).head(_LINES_TO_LOOK_AT).collect().to_series()
    lines = [line.strip("\r\n\ufeff") for line in head]
    if not any(line.strip() for line in lines):
        raise DataError(f"{path} is empty: give a file with at least one row.")
    if any("\x00" in line for line in lines):
        raise DataError(f"{path} is not text: give a CSV or TSV file in UTF-8, or a Parquet file.")
    return lines


def _cells(line: str, separator: str, path: Path) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error as error:
        raise DataError(f"the first line of {path} cannot be read ({error}): end lines with a newline.") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _distinct_names(cells: list[str]) -> list[str]:
    names: dict[str, None] = {}
    for number, cell in enumerate(cells, start=1):
        name = cell.strip() or f"column_{number}"
        names[f"{name}_{number}" if name in names else name] = None
    return list(names)
