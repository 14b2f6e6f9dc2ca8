"""The released files of the paper's authors: X.train.rating, X.valid.rating and X.test.negative.

They have lines `user<TAB>item<TAB>flag` without a header. Flag 1 is a true positive and 0 a false positive; others who
use the same layout have stars in that column. A test file has pairs that are all true positives.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recsieve.errors import DataError

RATED, CLEAN = (".rating", ".noisy"), ".negative"
_NAMES = ("user", "item", "rating", "timestamp")
# `1<TAB>2`, `1<TAB>2<TAB>1`, or `(1, 2)` and then items that were sampled as negatives.
_PAIR = r"^\s*\(?\s*(?<user>\d+)\s*[,\t ]\s*(?<item>\d+)(?:\s*\)|\s|$)"


def is_authors_file(name: str) -> bool:
    """Whether a file has a name like those of the authors."""
    return name.endswith((*RATED, CLEAN))


def name_columns(rows: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """Name the columns of a training or validation file: user, item, rating, and the time that some copies have."""
    names = rows.collect_schema().names()
    if not 2 <= len(names) <= len(_NAMES):
        raise DataError(f"{path} has {len(names)} columns: give lines of user, item and label, separated by tabs.")
    return rows.rename(dict(zip(names, _NAMES, strict=False)))


def scan_clean(path: Path) -> pl.LazyFrame:
    """Open a test file: the user and the item at the start of each line."""
    lines = pl.scan_lines(path, glob=False).filter(pl.col("line").str.strip_chars() != "")
    pairs = lines.select(pl.col("line").str.extract_groups(_PAIR)).unnest("line")
    return pairs.cast(pl.Int64, strict=False)
