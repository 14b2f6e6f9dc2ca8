"""Which interactions stay: repeated pairs become one, and the rare users and items of a k-core go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.interactions import COLUMNS, TRUE, Interactions
from recsieve.errors import ConfigError, DataError


def pair_keys(data: Interactions) -> NDArray[np.int64]:
    """One number for each interaction's pair of user and item."""
    keys = data.users.astype(np.int64)
    keys *= data.n_items
    keys += data.items
    return keys


def merge_repeats(data: Interactions) -> Interactions:
    """Make repeated pairs one, in the place where the pair first occurs.

    It is a false positive only if none of its repeats was satisfying: one TRUE makes it TRUE, else one FALSE makes it
    FALSE, else it stays UNKNOWN. Weights add up, and the time is the latest.
    """
    repeated = _repeated(data)
    if not repeated.any():
        return data
    rows = np.flatnonzero(repeated)
    some = data.take(rows)
    by_pair = _columns(some).with_columns(pair=pair_keys(some), row=rows).group_by("pair")
    merged = by_pair.agg(**_merged_columns(data), row=pl.col("row").min())
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


def k_core(data: Interactions, k: int) -> Interactions:
    """Keep the users and items with at least k interactions among themselves; only their ids remain (0 keeps all)."""
    if k < 0:
        raise ConfigError(f"k_core is {k}, but it is the fewest interactions to keep a user or item: give 0 or more.")
    if k == 0:
        return data
    kept = np.arange(len(data))
    while True:
        users, items = data.users[kept], data.items[kept]
        popularity = data.group.sum(np.bincount(items, minlength=data.n_items))
        enough = (np.bincount(users, minlength=data.n_users)[users] >= k) & (popularity[items] >= k)
        if data.group.all(bool(enough.all())):
            break
        kept = kept[enough]
    if data.group.total(len(kept)) == 0:
        raise DataError(f"no user and item have {k} interactions among themselves: give a k_core smaller than {k}.")
    return _without_unused_ids(data.take(kept))


def _without_unused_ids(data: Interactions) -> Interactions:
    """Number users and items anew so that each of them occurs."""
    codes, tables = {}, {}
    for name, counts, ids in (
        ("users", data.user_counts(), data.user_ids),
        ("items", data.item_counts(), data.item_ids),
    ):
        occurs = data.group.sum(counts) > 0
        codes[name] = (np.cumsum(occurs, dtype=np.int32) - 1)[getattr(data, name)]
        tables[name] = ids.filter(pl.Series(occurs))
    return replace(data, **codes, user_ids=tables["users"], item_ids=tables["items"])


def _columns(data: Interactions) -> pl.DataFrame:
    return pl.DataFrame({name: column for name in COLUMNS if (column := getattr(data, name)) is not None})


def _merged_columns(data: Interactions) -> dict[str, pl.Expr]:
    flag = pl.col("false_positive")
    merged = {
        "users": pl.col("users").first(),
        "items": pl.col("items").first(),
        "false_positive": pl.when((flag == TRUE).any()).then(pl.lit(TRUE, pl.Int8)).otherwise(flag.max()),
        "weight": pl.col("weight").sum(),
        "time": pl.col("time").max(),
        "rows": pl.col("rows").min(),
    }
    return {name: expression for name, expression in merged.items() if getattr(data, name) is not None}
