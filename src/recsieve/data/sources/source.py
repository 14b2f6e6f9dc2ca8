"""The interface of a public data set: its files, and how their lines become interactions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from recsieve.data.sources.blocks import Block
from recsieve.errors import DataError

USER, ITEM, FLAG, TIME = "user", "item", "false_positive", "time"


class RawSource(Protocol):
    """The raw files of one data set, and how their lines are read."""

    @property
    def rule(self) -> str:
        """What counts as a false positive, in words."""

    def files(self) -> list[Path]:
        """The files with one interaction per line."""

    def rows(self, block: Block) -> pl.DataFrame:
        """The interactions in some lines: user and item as text, false_positive, and time in seconds.

        Missing values are null. A row without a user, an item or a time is left out later, and counted.
        """


def number(name: str) -> pl.Expr:
    """A text field as a number; null if it is none."""
    return pl.col(name).cast(pl.Float64, strict=False).fill_nan(None)


def seconds(name: str) -> pl.Expr:
    """A text field as a time in whole seconds; milliseconds, which would be past the year 5000, are converted."""
    time = number(name)
    return pl.when(time.abs() > 1e11).then(time / 1000).otherwise(time).floor().cast(pl.Int64, strict=False)


@dataclass(frozen=True)
class Rated:
    """Interactions with ratings; those rated below `below` are false positives."""

    source: Path
    below: float = 3.0

    @property
    def rule(self) -> str:
        return f"rating < {self.below:g}"

    def flagged(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with a rating as interactions; those without one are left out."""
        flag = (number("rating") < self.below).alias(FLAG)
        return rows.select(USER, ITEM, flag, seconds(TIME).alias(TIME)).drop_nulls(FLAG)


def existing(path: Path) -> Path:
    """The path, if it exists."""
    if not path.exists():
        raise DataError(f"there is no file or folder '{path}': give the path of the original files.")
    return path
