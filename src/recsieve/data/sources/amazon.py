"""Amazon's reviews: JSON lines of any of the releases (2014, 2018, 2023), or their files of ratings alone.

Reviews have reviewerID, asin, overall, unixReviewTime (2014, 2018) or user_id, parent_asin, rating, timestamp (2023, in
milliseconds). Ratings are lines of user,item,rating,timestamp in 2014, of item,user,rating,timestamp in 2018, and in
2023 have a header.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recsieve.data.sources.blocks import Block, cells, json_fields, without_header
from recsieve.data.sources.source import ITEM, TIME, USER, Rated, existing
from recsieve.errors import DataError

_FIELDS = {
    USER: ("reviewerID", "user_id"),
    ITEM: ("parent_asin", "asin"),  # 2023 has both: variants of a product share their parent
    "rating": ("overall", "rating"),
    TIME: ("unixReviewTime", "timestamp"),
}
_ASIN_LENGTH = 10
_HEADER = b"user_id,"


class Amazon(Rated):
    """Purchases with ratings."""

    def files(self) -> list[Path]:
        if existing(self.source).is_dir():
            raise DataError(f"{self.source} is a folder: give one file, such as reviews_Books_5.json.gz.")
        return [self.source]

    def rows(self, block: Block) -> pl.DataFrame:
        return self.flagged(_from_json(block) if block.text[:100].lstrip()[:1] == b"{" else _from_cells(block))


def _from_json(block: Block) -> pl.DataFrame:
    names = [name for names in _FIELDS.values() for name in names]
    reviews = json_fields(block, names)
    return reviews.select(pl.coalesce(names).alias(role) for role, names in _FIELDS.items())


def _from_cells(block: Block) -> pl.DataFrame:
    rows = cells(without_header(block, _HEADER), ",", ("first", "second", "rating", TIME))
    user, item = ("second", "first") if _has_items_first(rows) else ("first", "second")
    return rows.rename({user: USER, item: ITEM})


def _has_items_first(rows: pl.DataFrame) -> bool:
    """Whether the items stand before the users: an ASIN has ten characters, and most ids of users have more."""
    first, second = (rows[name].str.len_chars().eq(_ASIN_LENGTH).mean() or 0 for name in ("first", "second"))
    return bool(first > second)  # type: ignore[operator]
