"""Merging repeated pairs of user and item into one interaction, with one label and one weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.communicator import Communicator
from recsieve.data.filtering import pair_keys
from recsieve.data.interactions import CLEAN, COLUMNS, NOISY, UNLABELLED, Interactions
from recsieve.errors import ConfigError, did_you_mean

# What makes a pair noise, in words. Rows without a label say nothing, unless there are no others.
REPEATS = {
    "all": "a pair is noise if all of its labelled rows are",
    "any": "a pair is noise if any of its rows is",
    "last": "a pair has the label of its last labelled row",
    "majority": "a pair is noise if most of its labelled rows are",
    "sum": "a pair is noise if all of its labelled rows are, and its weights are summed",
}


@dataclass(frozen=True)
class Merging:
    """What merging did: how many rows were merged into others, and how many were marked as noise before and after."""

    repeats: str = "all"
    rows: int = 0
    noisy_rows: int = 0
    noisy_pairs: int = 0

    def __add__(self, other: Merging) -> Merging:
        counts = zip(self._counts, other._counts, strict=True)
        return Merging(other.repeats, *(here + there for here, there in counts))

    def of_all(self, group: Communicator) -> Merging:
        """The sum over all ranks."""
        return Merging(self.repeats, *group.sum(np.array(self._counts)).tolist())

    def lines(self) -> list[str]:
        """What happened to the labels, if there was noise to merge."""
        if not self.rows or not self.noisy_rows:
            return []
        how = f"{REPEATS[self.repeats]} (repeats: {self.repeats})"
        if self.noisy_pairs:
            return [f"{self.noisy_rows:,} rows marked as noise became {self.noisy_pairs:,} noisy pairs: {how}."]
        return [
            f"none of the {self.noisy_rows:,} rows marked as noise is left after merging repeats, so nothing is known "
            f"to be noise: {how}; give repeats any or last if one such row is enough."
        ]

    @property
    def _counts(self) -> tuple[int, int, int]:
        return self.rows, self.noisy_rows, self.noisy_pairs


def check_repeats(repeats: str | None) -> None:
    """Refuse an unknown way to merge; None is the default for the rule."""
    if repeats is not None and repeats not in REPEATS:
        known = did_you_mean(repeats, REPEATS)
        raise ConfigError(f"repeats is '{repeats}', but it says how to merge repeated pairs: {known}")


def merge_and_count(data: Interactions, repeats: str = "all") -> tuple[Interactions, Merging]:
    """Merge repeats, and count the effect on rows and labels."""
    merged = merge_repeats(data, repeats)
    noisy = (int(some.is_false_positive.sum()) for some in (data, merged))
    return merged, Merging(repeats, len(data) - len(merged), *noisy)


def merge_repeats(data: Interactions, repeats: str = "all") -> Interactions:
    """Merge repeated pairs into one, at the position of the first row and with the latest time.

    `repeats` is one of REPEATS. Weights are summed, except that "last" takes that of the last row; with "sum", a row
    without a weight counts 1. The last row is the latest, and among equally late ones the last in the log.
    """
    check_repeats(repeats)
    if repeats == "sum" and data.weight is None:
        data = replace(data, weight=np.ones(len(data), np.float32))
    repeated = _repeated(data)
    if not repeated.any():
        return data
    rows = np.flatnonzero(repeated)
    some = data.take(rows)
    frame = _columns(some).with_columns(pair=pair_keys(some), row=rows)
    if repeats == "last" and data.time is not None:
        frame = frame.sort("time", maintain_order=True)
    merged = frame.group_by("pair").agg(**_merged_columns(data, repeats), row=pl.col("row").min())
    first = merged["row"].to_numpy()
    kept = ~repeated
    kept[first] = True
    place = np.cumsum(kept, dtype=np.int32)[first] - 1
    columns = {name: getattr(data, name)[kept] for name in merged.drop("pair", "row").columns}
    for name, column in columns.items():
        column[place] = merged[name].to_numpy()
    return replace(data, **columns)


def _repeated(data: Interactions) -> NDArray[np.bool_]:
    """Which interactions have a pair that occurs more than once."""
    in_order = pair_keys(data)
    in_order.sort()
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    del in_order
    if len(twice) == 0:
        return np.zeros(len(data), bool)
    return pl.Series(pair_keys(data)).is_in(pl.Series(twice).implode()).to_numpy().copy()


def _columns(data: Interactions) -> pl.DataFrame:
    return pl.DataFrame({name: column for name in COLUMNS if (column := getattr(data, name)) is not None})


def _merged_columns(data: Interactions, repeats: str) -> dict[str, pl.Expr]:
    weight = pl.col("weight")
    merged = {
        "users": pl.col("users").first(),
        "items": pl.col("items").first(),
        "false_positive": _merged_label(repeats),
        "weight": weight.last() if repeats == "last" else weight.sum(),
        "time": pl.col("time").max(),
        "rows": pl.col("rows").min(),
    }
    return {name: expression for name, expression in merged.items() if getattr(data, name) is not None}


def _merged_label(repeats: str) -> pl.Expr:
    label = pl.col("false_positive")
    clean, noisy = label == CLEAN, label == NOISY
    if repeats == "last":
        merged = label.filter(label != UNLABELLED).last().fill_null(UNLABELLED)
    else:
        is_noisy = {"any": noisy.any(), "majority": noisy.sum() > clean.sum()}.get(repeats, noisy.any() & ~clean.any())
        merged = pl.when(is_noisy).then(NOISY).when(clean.any()).then(CLEAN).otherwise(UNLABELLED)
    return merged.cast(pl.Int8)
