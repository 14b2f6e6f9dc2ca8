"""What may be in a list: allow and deny lists, what somebody has already, and what is popular enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recsieve.data.interactions import CSR
from recsieve.data.reading.columns import guess_item, guess_user
from recsieve.data.reading.id_index import IdIndex
from recsieve.data.reading.tables import open_table, readable
from recsieve.errors import ConfigError, DataError
from recsieve.evaluation.ranking import Mask

SHOWN = 3  # unknown ids that a message names


@dataclass(frozen=True)
class ItemLists:
    """Item ids for all, or for each user; ids are text."""

    for_all: list[str] | None = None
    by_user: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> ItemLists:
        """From a list of ids, a mapping from user to ids, or a frame or file with a column of items, and of users."""
        if isinstance(given, ItemLists):
            return given
        if isinstance(given, Mapping):
            return cls(by_user={str(user): texts(items) for user, items in given.items()})
        if isinstance(given, Path) or hasattr(given, "columns"):
            return cls._of_table(given)
        return cls(for_all=texts(given))

    @classmethod
    def _of_table(cls, source: Any) -> ItemLists:
        table = open_table(source)
        with readable(table.name):
            columns = table.rows.collect_schema().names()
            user, item = guess_user(columns), guess_item(columns)
            if item is None:
                raise DataError(
                    f"{table.name} has no column that looks like the item ({', '.join(columns)}): call one 'item'."
                )
            wanted = {"user": user, "item": item} if user is not None else {"item": item}
            rows = table.rows.select(pl.col(name).cast(pl.String).alias(role) for role, name in wanted.items())
            frame = rows.drop_nulls().collect()
        if user is None:
            return cls(for_all=frame["item"].to_list())
        grouped = frame.group_by("user", maintain_order=True).agg("item")
        return cls(by_user=dict(zip(grouped["user"].to_list(), grouped["item"].to_list(), strict=True)))

    def rows(self, users: Iterable[str], items: IdIndex, unknown: dict[str, None]) -> CSR:
        """The known items of each user, by code; ids that are not known are put into `unknown`."""
        asked = [self.by_user.get(user, []) for user in users]
        flat = [text for texts in asked for text in texts]
        codes = items.codes(flat)
        of_row = np.repeat(np.arange(len(asked), dtype=np.int32), [len(texts) for texts in asked])
        unknown.update(dict.fromkeys(flat[place] for place in np.flatnonzero(codes < 0)))
        return CSR.from_pairs(of_row[codes >= 0], codes[codes >= 0], len(asked), len(items))


@dataclass(frozen=True)
class Filters:
    """What is left out of lists; `allow` and `deny` are as `ItemLists.of` takes them.

    With an allow list for each user, one who has none in it gets nothing.
    """

    exclude_seen: bool = True
    allow: Any = None
    deny: Any = None
    min_popularity: int = 0

    def __post_init__(self) -> None:
        if self.min_popularity < 0:
            raise ConfigError(
                f"min_popularity is {self.min_popularity}: give how many interactions an item must have, 0 or more."
            )

    def mask(
        self, users: Iterable[str], seen: CSR, items: IdIndex, popularity: np.ndarray, unknown: dict[str, None]
    ) -> Mask:
        """What must not be ranked; `seen` has a row a user, and ids of users matter if the filters are `by_user`."""
        hidden = popularity < self.min_popularity
        denied, allowed = seen if self.exclude_seen else seen.emptied(), None
        if self.deny is not None:
            deny = ItemLists.of(self.deny)
            if deny.for_all is None:
                denied = denied.union(deny.rows(users, items, unknown))
            else:
                hidden[_known(deny.for_all, items, unknown)] = True
        if self.allow is not None:
            allow = ItemLists.of(self.allow)
            if allow.for_all is None:
                allowed = allow.rows(users, items, unknown)
            else:
                shown = np.zeros(len(items), bool)
                shown[_known(allow.for_all, items, unknown)] = True
                hidden |= ~shown
        return Mask(denied, np.flatnonzero(hidden).astype(np.int32), allowed)

    @property
    def by_user(self) -> bool:
        """Whether it matters who a list is for, beside what they have."""
        return any(given is not None and ItemLists.of(given).for_all is None for given in (self.allow, self.deny))


def _known(ids: list[str], items: IdIndex, unknown: dict[str, None]) -> np.ndarray:
    codes = items.codes(ids)
    unknown.update(dict.fromkeys(ids[place] for place in np.flatnonzero(codes < 0)))
    return codes[codes >= 0]


def texts(ids: Any) -> list[str]:
    """Ids as they were given, as text; one that stands alone is one id, not its characters."""
    several = ids if isinstance(ids, Iterable) and not isinstance(ids, str | bytes) else [ids]
    return [str(one) for one in several]


def some_of(ids: Iterable[Any]) -> str:
    """The first few of some ids, for a message."""
    ids = list(ids)
    return ", ".join(repr(one) for one in ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")
