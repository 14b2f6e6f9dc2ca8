"""Adds new interactions to those of a run: ids keep their codes, new ids follow, forgotten users are removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.filtering import pair_keys
from recsieve.data.interactions import Interactions, concatenated
from recsieve.data.loading import load_split
from recsieve.data.reading.columns import guess_user
from recsieve.data.reading.id_index import IdIndex
from recsieve.data.reading.ids import codes_in
from recsieve.data.reading.tables import LIST, Source, open_table, readable
from recsieve.data.splitting import RATIOS, Split, split_interactions
from recsieve.errors import ConfigError, DataError


@dataclass(frozen=True)
class Grown:
    """The split of a run with new interactions, and how its codes correspond to those of the run."""

    split: Split
    added: Split  # what is new of it
    users: NDArray[np.int64]  # the code before of each user, −1 where there is none
    items: NDArray[np.int64]
    stayed: NDArray[np.bool_]  # which users of before are still there
    known: int  # new rows whose pair the run has already, and which are left out
    unknown: int  # ids to forget that the run does not know


def new_parts(
    data: Split | Interactions | Source, before: Split, names: Mapping[str, Any], how: str, seed: int
) -> Split:
    """New interactions, split into the parts that the run has; nothing is held out for a part that is empty there."""
    shares = [share if len(part) else 0.0 for share, part in zip(RATIOS, before.parts[:3], strict=True)]
    ratios = (1 - sum(shares[1:]), *shares[1:])
    if isinstance(data, Split):
        return data
    if isinstance(data, Interactions):
        return split_interactions(data, how, ratios, seed)
    return load_split(data, split=how, ratios=ratios, seed=seed, **names)


def forgotten_ids(given: Any) -> list[str]:
    """User ids as text, from some ids, or a frame or file with a column of users."""
    if given is None:
        return []
    if isinstance(given, Path) or hasattr(given, "columns"):
        wanted = replace(LIST, path="the path of a file with a column of users")
        table = open_table(given, wanted=wanted)
        with readable(table.name, wanted):
            columns = table.rows.collect_schema().names()
            user = guess_user(columns) or (columns[0] if len(columns) == 1 else None)
            if user is None:
                raise DataError(
                    f"{table.name} has no column that looks like the user ({', '.join(columns)}): name one 'user'."
                )
            return table.rows.select(pl.col(user).cast(pl.String)).drop_nulls().collect().to_series().to_list()
    return [str(one) for one in ([given] if isinstance(given, str | int) or not isinstance(given, Iterable) else given)]


def grow(before: Split, new: Split | None, forget: Iterable[str] = ()) -> Grown:
    """Add new interactions to those of a run, and remove the users to forget from both."""
    forget = set(forget)
    if new is None and not forget:
        raise ConfigError("there is nothing to refresh with: give new data, or users to forget.")
    codes = IdIndex(before.train.user_ids).codes(forget)
    stayed = np.ones(before.train.n_users, bool)
    stayed[codes[codes >= 0]] = False
    kept = [_without(part, stayed) for part in before.parts]
    if not sum(map(len, kept)):
        raise DataError("all users of the run would be removed, and nobody would be left: train again.")
    added = [part.take(slice(0)) for part in kept] if new is None else _without_ids(new, forget)
    user_ids, users = _extended(kept[0].user_ids, "users", added)
    item_ids, items = _extended(kept[0].item_ids, "items", added)
    kept = [replace(part, user_ids=user_ids, item_ids=item_ids) for part in kept]
    coded = [
        replace(part, users=of, items=what, user_ids=user_ids, item_ids=item_ids)
        for part, of, what in zip(added, users, items, strict=True)
    ]
    fresh, known = _unmet(coded, kept)
    return Grown(
        _split([concatenated(both) for both in zip(kept, fresh, strict=True)]),
        _split(fresh),
        _codes_before(np.flatnonzero(stayed), len(user_ids)),
        _codes_before(np.arange(before.train.n_items), len(item_ids)),
        stayed, known, int((codes < 0).sum()),
    )  # fmt: skip


def _split(parts: list[Interactions]) -> Split:
    train, validation, test, noise = parts
    return Split(train, validation, test, noise)


def _without(part: Interactions, stayed: NDArray[np.bool_]) -> Interactions:
    """The interactions of users who stay, whose codes close the gaps."""
    codes = (np.cumsum(stayed) - 1).astype(np.int32)
    rows = part.take(stayed[part.users])
    return replace(rows, users=codes[rows.users], user_ids=part.user_ids.filter(pl.Series(stayed)))


def _without_ids(new: Split, forget: set[str]) -> list[Interactions]:
    codes = IdIndex(new.train.user_ids).codes(forget)
    return [part.take(~pl.Series(part.users).is_in(codes).to_numpy()) for part in new.parts]


def _extended(table: pl.Series, column: str, parts: list[Interactions]) -> tuple[pl.Series, list[NDArray[np.int32]]]:
    """A table of ids with those behind it that occur in the parts and are new, and the codes of each part's rows."""
    theirs: pl.Series = getattr(parts[0], "user_ids" if column == "users" else "item_ids")
    if theirs.dtype != table.dtype:  # numbers on one side alone are text
        theirs, table = theirs.cast(pl.String), table.cast(pl.String)
    occur = np.unique(np.concatenate([getattr(part, column) for part in parts]))
    ids = theirs.gather(occur)
    extended = pl.concat([table, ids.filter(~ids.is_in(table.implode()))])
    code_of = np.full(len(theirs), -1, np.int32)
    code_of[occur] = codes_in(extended, ids)
    return extended, [code_of[getattr(part, column)] for part in parts]


def _unmet(parts: list[Interactions], kept: list[Interactions]) -> tuple[list[Interactions], int]:
    """The interactions whose pair is in no part of the run, nor in an earlier part of these; and how many are not."""
    met = pl.Series(np.concatenate([pair_keys(part) for part in kept]))
    fresh = []
    for part in parts:
        keys = pl.Series(pair_keys(part))
        fresh.append(part.take(~keys.is_in(met.implode()).to_numpy()))
        met = pl.concat([met, keys])
    return fresh, sum(map(len, parts)) - sum(map(len, fresh))


def _codes_before(codes: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    before = np.full(n, -1, np.int64)
    before[: len(codes)] = codes
    return before
