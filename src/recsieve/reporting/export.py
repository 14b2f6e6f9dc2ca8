"""Results as files for other programs."""

from pathlib import Path

import polars as pl

from recsieve.errors import ConfigError
from recsieve.files import replacing


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as CSV or Parquet, by the ending of its name."""
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"{path} has no ending that says how to write it: give a name in .parquet or .csv.")
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            frame.write_csv(temporary)
        else:
            frame.write_parquet(temporary)
