"""Profiles and lists as data frames with the user's own ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from recsieve.errors import DataError
from recsieve.recommendations.filters import ItemLists, texts
from recsieve.recommendations.ranker import Ranked


def as_profiles(given: Any) -> dict[str, list[str]]:
    """User to items, from lists of items (users are numbered), a mapping, or a frame or file with both columns.

    A file or frame with only items is one profile.
    """
    if isinstance(given, str | bytes) or (not isinstance(given, Iterable | ItemLists) and not hasattr(given, "suffix")):
        raise DataError(f"profiles are given as {given!r}: give a list of lists of items, or user and items.")
    if isinstance(given, list | tuple):
        alone = next((profile for profile in given if isinstance(profile, str | bytes | int | float)), None)
        if alone is not None:
            raise DataError(f"a profile is given as {alone!r}: give each as a list of items.")
        return {str(number): texts(items) for number, items in enumerate(given)}
    lists = ItemLists.of(given)
    if not lists.for_all and not lists.by_user and not isinstance(given, Mapping):
        raise DataError("there are no items in the profiles: give one row per item, with a column 'item'.")
    return {"0": lists.for_all} if lists.for_all is not None else lists.by_user


def as_frame(lists: Ranked, user_ids: pl.Series, item_ids: pl.Series) -> pl.DataFrame:
    """Lists as rows, without empty positions: user, item, rank, score, popular, and reasons if there are any."""
    n, k = lists.items.shape
    frame = pl.DataFrame(
        {
            "user": _names(lists, user_ids).gather(np.repeat(np.arange(n), k)),
            "item": item_ids.gather(np.maximum(lists.items, 0).ravel()),
            "rank": np.tile(np.arange(1, k + 1, dtype=np.int32), n),
            "score": pl.Series(lists.scores.ravel(), dtype=pl.Float32).fill_nan(None),
            "popular": np.repeat(lists.popular, k),
        }
    ).filter(pl.Series(lists.items.ravel() >= 0))
    if lists.reasons is None:
        return frame
    reasons = [
        [{"item": item_ids[item], "adds": adds} for item, adds in of_item] for row in lists.reasons for of_item in row
    ]
    kind = pl.List(pl.Struct({"item": item_ids.dtype, "adds": pl.Float32}))
    return frame.with_columns(reasons=pl.Series(reasons, dtype=kind))


def _names(lists: Ranked, user_ids: pl.Series) -> pl.Series:
    """Users as they were given; as numbers where those of the data are numbers, and all of these can be."""
    if isinstance(lists.users, np.ndarray):
        return user_ids.gather(lists.users)
    given = pl.Series("user", lists.users, dtype=pl.String)
    own = given.cast(user_ids.dtype, strict=False)
    return given if own.null_count() else own


def in_words(reasons: list[dict[str, Any]]) -> str:
    """Reasons as text, the most important first, all with three digits."""
    return ", ".join(f"{reason['item']} ({format(reason['adds'], '+#.3g').rstrip('.')})" for reason in reasons)
