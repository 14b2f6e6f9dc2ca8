"""The list of the most suspicious interactions on the page of an audit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

BINS = 10  # of the scores of a user's profile
TYPICAL = 5  # items that fit a profile best
EXPORTED = (
    "user", "item", "rank", "noise_score", "popularity_adjusted", "probability", "labelled_noise", "reason",
    "popularity", "activity", "profile_fit", "unfitting_in_profile", "mean_loss", "unpopular", "unfitting",
    "unexpected", "item_labelled", "item_regretted", "user_labelled", "user_regretted",
)  # fmt: skip


def list_data(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The first rows of the table with their evidence, and the choices of the filters."""
    rows = _rows(folder)
    kinds = [[kind(reason) for reason in row["reason"].split("; ")] for row in rows]
    names = sorted({name for row in kinds for name in row})
    entries = [{**row, "kinds": [names.index(name) for name in found]} for row, found in zip(rows, kinds, strict=True)]
    return {
        "columns": list(EXPORTED),
        "entries": entries,
        "kinds": [{"name": name, "n": sum(name in row for row in kinds)} for name in names],
        "total": summary["interactions"],
        "probable": summary["method"] != "no labels",
        "labels": any(row["labelled_noise"] is not None for row in rows),
        "typical": summary["typical_losses"],
    }


def kind(reason: str) -> str:
    """A reason without its numbers, so that interactions with the same reason are one kind."""
    return re.sub(r"\d+", "…", reason)


def _rows(folder: Path) -> list[dict[str, Any]]:
    table = pl.scan_parquet(folder / "audit.parquet", glob=False)
    shown = pl.read_parquet(folder / "shown.parquet", glob=False)
    first = table.select("row", *EXPORTED).head(len(shown)).collect().join(shown, on="row", maintain_order="left")
    for name in ("user", "item"):
        means = pl.read_parquet(folder / f"{name}s.parquet", glob=False).select(name, **{f"{name}_mean": "mean_score"})
        first = first.join(means, on=name, how="left", maintain_order="left")
    first = first.join(_profiles(table, first["user"]), on="user", how="left", maintain_order="left")
    numbers, ids = pl.selectors.float(), pl.col("user", "item").cast(pl.String)
    return first.drop("row").with_columns(ids, numbers.fill_nan(None).round_sig_figs(4), *_rounded()).to_dicts()


def _rounded() -> list[pl.Expr]:
    return [pl.col(name).list.eval(pl.element().round_sig_figs(4)) for name in ("held_out_losses", "training_losses")]


def _profiles(table: pl.LazyFrame, users: pl.Series) -> pl.DataFrame:
    """Of each user: how many interactions have a score in each bin, and the items that fit the others best."""
    of_bin = (pl.col("noise_score") * BINS).floor().clip(0, BINS - 1)
    best = pl.col("item").cast(pl.String).sort_by("profile_fit", descending=True).head(TYPICAL)
    wanted = table.join(pl.LazyFrame({"user": users.unique()}), on="user", how="semi")
    counts = pl.concat_list((of_bin == number).sum() for number in range(BINS))
    return wanted.group_by("user").agg(best=best, counts=counts).collect()
