"""Results as files for other programs."""

from pathlib import Path

import polars as pl

from recsieve.errors import ConfigError
from recsieve.files import replacing


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as CSV or Parquet, by the ending of its name."""
    writers = {".parquet": frame.write_parquet, ".csv": frame.write_csv}
    if path.suffix not in writers:
        raise ConfigError(f"{path} has no ending that says how to write it: give a name in .parquet or .csv.")
    with replacing(path) as temporary:
        writers[path.suffix](temporary)
