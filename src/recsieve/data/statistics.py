"""Statistics of interactions, as in the paper's Table 2, and a fingerprint of the data."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.filtering import pair_keys
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.data.sharing import column_in_order


def describe(data: Interactions) -> dict[str, int | float | None]:
    """Count users, items, interactions and false positives; only users and items that occur are counted."""
    per_user = data.user_counts()[data.user_counts() > 0]
    per_item = data.item_counts()[data.item_counts() > 0]
    pairs = pl.Series(pair_keys(data)).n_unique()
    cells = len(per_user) * len(per_item)
    return {
        "users": len(per_user),
        "items": len(per_item),
        "interactions": len(data),
        **_noise(data),
        "density": pairs / cells if cells else None,
        **_spread("user", per_user),
        **_spread("item", per_item),
    }


def fingerprint(data: Interactions) -> str:
    """The SHA-256 of all columns and ids in order: equal data have equal fingerprints, on any number of ranks."""
    digest = hashlib.sha256()
    for name in ("users", "items", "false_positive", "weight", "time"):
        column = getattr(data, name)
        if column is not None:
            digest.update(f"{name} {column.dtype.str} {data.all_reduce_length()} ".encode())
            for some in column_in_order(data, name):
                digest.update(np.ascontiguousarray(some).data)
    for name in ("user_ids", "item_ids"):
        ids = getattr(data, name)
        digest.update(f"{name} {ids.dtype} {len(ids)} ".encode())
        if ids.dtype == pl.String:
            digest.update(ids.str.len_bytes().to_numpy().tobytes())  # so that "a", "bc" differs from "ab", "c"
            digest.update("".join(ids).encode())
        else:
            digest.update(ids.to_numpy().tobytes())
    return digest.hexdigest()


def _noise(data: Interactions) -> dict[str, int | float | None]:
    """How many interactions are known to be false positives, and what share of those of which it is known."""
    if not data.has_flags:
        return {"labelled": 0, "false_positives": None, "false_positive_share": None}
    labelled = int(np.count_nonzero(data.false_positive != UNLABELLED))
    noise = int(data.is_false_positive.sum())
    return {"labelled": labelled, "false_positives": noise, "false_positive_share": noise / labelled}


def _spread(of: str, counts: NDArray[np.int64]) -> dict[str, int | float | None]:
    return {
        f"mean_interactions_per_{of}": float(counts.mean()) if len(counts) else None,
        f"median_interactions_per_{of}": float(np.median(counts)) if len(counts) else None,
    }
