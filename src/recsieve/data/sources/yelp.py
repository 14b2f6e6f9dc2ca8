"""Yelp's open dataset: JSON lines of reviews, and of businesses with their categories.

Categories are one text ("Bars, Nightlife"), in older releases a list; both name what is above them too, so that a
taqueria is also in Restaurants.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from recsieve.data.sources.blocks import Block, json_fields, read_blocks
from recsieve.data.sources.source import FLAG, ITEM, TIME, USER, existing, number
from recsieve.errors import DataError

CATERING = ("Restaurants", "Bars")  # "the catering industry (e.g., restaurants and bars)", the paper, section 5


@dataclass(frozen=True)
class Yelp:
    """Visits with ratings, of businesses in one of the categories; one rated below `below` is a false positive."""

    source: Path
    below: float = 3.0
    categories: tuple[str, ...] = CATERING

    @property
    def rule(self) -> str:
        return f"stars < {self.below:g}, businesses in {' or '.join(self.categories)}"

    def files(self) -> list[Path]:
        return [self._file("review")]

    def rows(self, block: Block) -> pl.DataFrame:
        reviews = json_fields(block, ("user_id", "business_id", "stars", "date"))
        date = pl.col("date").str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        clock = pl.col("date").str.slice(11, 8).str.to_time("%H:%M:%S", strict=False)  # older releases have none
        return (
            reviews.filter(pl.col("business_id").is_in(self._businesses.implode()))
            .select(
                pl.col("user_id").alias(USER),
                pl.col("business_id").alias(ITEM),
                (number("stars") < self.below).alias(FLAG),
                (date.dt.epoch("s") + clock.cast(pl.Int64).fill_null(0) // 1_000_000_000).alias(TIME),
            )
            .drop_nulls(FLAG)
        )

    @cached_property
    def _businesses(self) -> pl.Series:
        """The ids of the businesses in the categories."""
        path = self._file("business")
        kept = [self._of_categories(block) for block in read_blocks(path)]
        ids = pl.concat(kept) if kept else pl.Series("business_id", [], dtype=pl.String)
        if ids.is_empty():
            raise DataError(f"{path} has no business in {' or '.join(self.categories)}: give other categories.")
        return ids

    def _of_categories(self, block: Block) -> pl.Series:
        businesses = json_fields(block, ("business_id", "categories"))
        given = pl.col("categories").str.replace_all(r'[\[\]"]', "").str.split(",")
        wanted = [name.lower() for name in self.categories]
        belongs = given.list.eval(pl.element().str.strip_chars().str.to_lowercase().is_in(wanted)).list.any()
        return businesses.filter(belongs)["business_id"].drop_nulls()

    def _file(self, kind: str) -> Path:
        """The file of reviews or of businesses in the folder, whatever the release calls it."""
        folder = existing(self.source)
        named = [path for path in sorted(folder.glob("*")) if kind in path.name.lower() and path.is_file()]
        found = [path for path in named if path.name.lower().endswith((".json", ".json.gz"))]
        if len(found) != 1:
            which = ", ".join(path.name for path in found) or "none"
            raise DataError(
                f"{folder} should hold one file of {kind} records such as yelp_academic_dataset_{kind}.json, but there "
                f"is {which}: give the unpacked folder of the dataset."
            )
        return found[0]
