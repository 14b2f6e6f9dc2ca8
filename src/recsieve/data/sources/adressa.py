"""Adressa's event logs: JSON lines, one file per day, such as one_week/20170101 (Gulla et al., 2017).

An event on an article has an `id`; front pages have none. `activeTime` is the number of seconds that a page was active
in the browser. It is missing if it was not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from recsieve.data.sources.blocks import Block, json_fields
from recsieve.data.sources.source import FLAG, ITEM, TIME, USER, existing, number, seconds
from recsieve.errors import ConfigError, DataError, did_you_mean

Unmeasured = Literal["leave-out", "false", "unknown"]
UNMEASURED = ("leave-out", "false", "unknown")


@dataclass(frozen=True)
class Adressa:
    """Clicks on news; one whose article was read for less than `below` seconds is a false positive.

    The paper's data has "the dwell time for each click", so by default clicks without one are left out. They can also
    be taken for false positives, or kept with an unknown flag.
    """

    source: Path
    below: float = 10.0
    unmeasured: Unmeasured = "leave-out"

    def __post_init__(self) -> None:
        if self.unmeasured not in UNMEASURED:
            raise ConfigError(f"unmeasured is '{self.unmeasured}': {did_you_mean(self.unmeasured, UNMEASURED)}")

    @property
    def rule(self) -> str:
        beside = {"leave-out": ", clicks without a dwell time left out", "false": " or not measured", "unknown": ""}
        return f"dwell time < {self.below:g} s{beside[self.unmeasured]}"

    def files(self) -> list[Path]:
        """The file, or all files in the folder, which have the days as their names."""
        if existing(self.source).is_file():
            return [self.source]
        files = sorted(path for path in self.source.rglob("*") if path.is_file() and not path.name.startswith("."))
        if not files:
            raise DataError(f"{self.source} has no files: give the folder with a file for each day.")
        return files

    def rows(self, block: Block) -> pl.DataFrame:
        events = json_fields(block, ("userId", "id", "activeTime", "time"))
        short = number("activeTime") < self.below
        clicks = events.select(
            pl.col("userId").alias(USER),
            pl.col("id").alias(ITEM),
            (short.fill_null(True) if self.unmeasured == "false" else short).alias(FLAG),
            seconds("time").alias(TIME),
        )
        return clicks.drop_nulls(FLAG) if self.unmeasured == "leave-out" else clicks
