"""Results as files for other programs."""

from pathlib import Path

import polars as pl

from recsieve.errors import ConfigError
from recsieve.files import replacing
from recsieve.storage.spreadsheet import without_formulas


def write_frame(frame: pl.DataFrame, path: Path, *, escape_formulas: bool = False) -> None:
    """Write a frame as CSV or Parquet, by the ending of its name; in CSV, formulas can be escaped."""
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"{path} has no ending that says how to write it: give a name in .parquet or .csv.")
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            (without_formulas(frame) if escape_formulas else frame).write_csv(temporary)
        else:
            frame.write_parquet(temporary)
