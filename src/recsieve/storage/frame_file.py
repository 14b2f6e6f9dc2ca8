"""Data frames as files for other programs, and text that a spreadsheet would take for a formula."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recsieve.errors import ConfigError
from recsieve.files import replacing

_STARTS = r"^[=+\-@\t\r]"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run as a formula; numbers stay as they are.

    An id in a log may be `=HYPERLINK(…)`. Escaping changes the id, so it is done only on request.
    """
    text = pl.col(pl.String)
    escaped = pl.when(text.str.contains(_STARTS)).then("'" + text).otherwise(text)
    return frame.with_columns(escaped.name.keep())


def write_frame(frame: pl.DataFrame, path: Path, *, escape_formulas: bool = False) -> None:
    """Write a frame as CSV or Parquet, by its extension; in CSV, formulas can be escaped."""
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"{path} has an unknown extension: give a name ending in .parquet or .csv.")
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            (without_formulas(frame) if escape_formulas else frame).write_csv(temporary)
        else:
            frame.write_parquet(temporary)
