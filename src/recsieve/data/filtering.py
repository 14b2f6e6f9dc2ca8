"""Filtering: the k-core removes rare users and items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.interactions import Interactions
from recsieve.errors import ConfigError, DataError


def pair_keys(data: Interactions) -> NDArray[np.int64]:
    """One number for each interaction's pair of user and item."""
    keys = data.users.astype(np.int64)
    keys *= data.n_items
    keys += data.items
    return keys


def k_core(data: Interactions, k: int) -> Interactions:
    """Keep the users and items with at least k interactions among themselves, and only their ids (0 keeps all)."""
    if k < 0:
        raise ConfigError(
            f"k_core is {k}, but it is the minimum number of interactions of a user or item: give 0 or more."
        )
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
        raise DataError(f"no users and items with {k} interactions are left: give a k_core smaller than {k}.")
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
