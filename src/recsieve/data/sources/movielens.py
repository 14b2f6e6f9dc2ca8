"""MovieLens: ratings.dat with "::" (1M, 10M), u.data with tabs (100K), or ratings.csv with a header (20M and later)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recsieve.data.sources.blocks import Block, cells, without_header
from recsieve.data.sources.source import ITEM, TIME, USER, Rated, existing
from recsieve.errors import DataError

NAMES = ("ratings.dat", "u.data", "ratings.csv")
_CELLS = (USER, ITEM, "rating", TIME)
_HEADER = b"userId,"


class MovieLens(Rated):
    """Movies seen, with ratings."""

    def files(self) -> list[Path]:
        if existing(self.source).is_file():
            return [self.source]
        found = [self.source / name for name in NAMES if (self.source / name).is_file()]
        if len(found) != 1:
            raise DataError(f"{self.source} should hold one of {', '.join(NAMES)}: give the path of the file.")
        return found

    def rows(self, block: Block) -> pl.DataFrame:
        return self.flagged(_cells_of(block))


def _cells_of(block: Block) -> pl.DataFrame:
    first_line = block.text.partition(b"\n")[0]
    if b"::" in first_line:  # polars cuts at one character: every other cell is what stands between two of them
        between = [f"between {number}" for number in range(1, 4)]
        names = [name for pair in zip(_CELLS, [*between, ""], strict=True) for name in pair][:-1]
        return cells(block, ":", names).select(_CELLS)
    if b"\t" in first_line:
        return cells(block, "\t", _CELLS)
    return cells(without_header(block, _HEADER), ",", _CELLS)
