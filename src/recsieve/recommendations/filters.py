"""What may be in a list: allow and deny lists, what a user already has, and minimum popularity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.interactions import CSR
from recsieve.data.reading.columns import guess_item, guess_user
from recsieve.data.reading.id_index import IdIndex
from recsieve.data.reading.tables import LIST, open_table, readable
from recsieve.errors import ConfigError, DataError
from recsieve.evaluation.ranking import Mask

Lists = tuple[NDArray[np.int32], NDArray[np.float32]]  # items and scores
SHOWN = 3  # unknown ids that a message names


@dataclass(frozen=True)
class ItemLists:
    """Item ids for all users, or for each user; ids are text."""

    for_all: list[str] | None = None
    by_user: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> ItemLists:
        """From a list of ids, a mapping from user to ids, or a frame or file with a column of items and optionally
        users.
        """
        if isinstance(given, ItemLists):
            return given
        if isinstance(given, Mapping):
            return cls(by_user={str(user): texts(items) for user, items in given.items()})
        if isinstance(given, Path) or hasattr(given, "columns"):
            return cls._of_table(given)
        return cls(for_all=texts(given))

    @classmethod
    def _of_table(cls, source: Any) -> ItemLists:
        table = open_table(source, wanted=LIST)
        with readable(table.name, LIST):
            columns = table.rows.collect_schema().names()
            user, item = guess_user(columns), guess_item(columns)
            if item in (None, user):  # the only column may be that of users
                raise DataError(
                    f"{table.name} has no column that looks like the item ({', '.join(columns)}): name one 'item'."
                )
            wanted = {"user": user, "item": item} if user is not None else {"item": item}
            rows = table.rows.select(pl.col(name).cast(pl.String).alias(role) for role, name in wanted.items())
            frame = rows.drop_nulls().collect()
        if user is None:
            return cls(for_all=frame["item"].to_list())
        grouped = frame.group_by("user", maintain_order=True).agg("item")
        return cls(by_user=dict(zip(grouped["user"].to_list(), grouped["item"].to_list(), strict=True)))

    def rows(self, users: Iterable[str], items: IdIndex, unknown: dict[str, None]) -> CSR:
        """The known items of each user, by code; unknown ids are added to `unknown`."""
        asked = [self.by_user.get(user, []) for user in users]
        flat = [text for texts in asked for text in texts]
        codes = items.codes(flat)
        of_row = np.repeat(np.arange(len(asked), dtype=np.int32), [len(texts) for texts in asked])
        unknown.update(dict.fromkeys(flat[place] for place in np.flatnonzero(codes < 0)))
        return CSR.from_pairs(of_row[codes >= 0], codes[codes >= 0], len(asked), len(items))


@dataclass(frozen=True)
class Categories:
    """The category of each item; ids are text."""

    by_item: dict[str, str]

    @classmethod
    def of(cls, given: Any) -> Categories:
        """From a mapping from item to category, or a frame or file with both columns."""
        if isinstance(given, Categories):
            return given
        if isinstance(given, Mapping):
            return cls({str(item): str(category) for item, category in given.items()})
        table = open_table(given, wanted=LIST)
        with readable(table.name, LIST):
            columns = table.rows.collect_schema().names()
            item = guess_item(columns)
            others = [name for name in columns if name != item]
            category = next((name for name in others if name.lower() == "category"), others[0] if others else None)
            if item is None or category is None or (len(others) > 1 and category.lower() != "category"):
                raise DataError(
                    f"{table.name} has the columns {', '.join(columns)}, but it needs a column 'item' and a column "
                    "'category': rename them."
                )
            rows = table.rows.select(pl.col(item).cast(pl.String), pl.col(category).cast(pl.String)).drop_nulls()
            frame = rows.collect()
        return cls(dict(zip(frame[item].to_list(), frame[category].to_list(), strict=True)))

    def codes(self, items: IdIndex) -> NDArray[np.int32]:
        """A number for the category of each item, −1 if it has none."""
        numbers = {category: number for number, category in enumerate(dict.fromkeys(self.by_item.values()))}
        codes, known = np.full(len(items), -1, np.int32), items.codes(self.by_item)
        of = np.fromiter((numbers[category] for category in self.by_item.values()), np.int32, len(known))
        codes[known[known >= 0]] = of[known >= 0]
        return codes


@dataclass(frozen=True)
class Filters:
    """What is left out of lists; `allow` and `deny` are as for `ItemLists.of`.

    With an allow list per user, a user who is not in it gets nothing.
    """

    exclude_seen: bool = True
    allow: Any = None
    deny: Any = None
    min_popularity: int = 0
    categories: Any = None  # as `Categories.of` takes them
    per_category: int = 0  # items of one category in a list at most; 0 is no limit

    def __post_init__(self) -> None:
        if self.per_category < 0 or (self.per_category == 0) != (self.categories is None):
            raise ConfigError(
                f"per_category is {self.per_category}, and categories are {'not ' * (self.categories is None)}given: "
                "give both, with a limit of 1 or more, or neither."
            )
        if self.min_popularity < 0:
            raise ConfigError(
                f"min_popularity is {self.min_popularity}: give how many interactions an item must have, 0 or more."
            )

    def mask(
        self, users: Iterable[str], seen: CSR, items: IdIndex, popularity: np.ndarray, unknown: dict[str, None]
    ) -> Mask:
        """The items that must not be ranked; `seen` has a row per user, and user ids matter if the filters are
        `by_user`.
        """
        denied, allowed = seen if self.exclude_seen else seen.emptied(), None
        if not self.min_popularity and self.deny is None and self.allow is None:
            return Mask(denied)
        hidden = popularity < self.min_popularity
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

    def limited(self, rank: Callable[[NDArray[np.int64], int], Lists], n_lists: int, k: int, items: IdIndex) -> Lists:
        """The k best items and their scores, with at most the allowed number per category.

        `rank` returns the best items of some lists, as many as requested. As long as a list is not full and items are
        left, four times as many are requested.
        """
        every = np.arange(n_lists)
        if not self.per_category:
            return rank(every, k)
        groups = Categories.of(self.categories).codes(items)
        found = np.full((n_lists, k), -1, np.int32), np.full((n_lists, k), -np.inf, np.float32)
        rows, most = every, k
        while len(rows):
            most = min(4 * most, len(items))
            top, scores = rank(rows, most)
            short = np.array(
                [
                    _fill((found[0][row], found[1][row]), (best, of_best), groups, self.per_category)
                    for row, best, of_best in zip(rows, top, scores, strict=True)
                ]
            )
            rows = rows[short] if most < len(items) else rows[:0]
        return found

    def prepared(self) -> Filters:
        """The same filters with all files read, for repeated rankings."""
        return replace(
            self,
            allow=None if self.allow is None else ItemLists.of(self.allow),
            deny=None if self.deny is None else ItemLists.of(self.deny),
            categories=None if self.categories is None else Categories.of(self.categories),
        )

    @property
    def by_user(self) -> bool:
        """Whether the filters depend on the user, apart from the user's own items."""
        return any(given is not None and ItemLists.of(given).for_all is None for given in (self.allow, self.deny))


def _fill(into: Lists, ranked: Lists, groups: NDArray[np.int32], most: int) -> bool:
    """Put the best items into a list, no more than so many of a group; True if it is not full."""
    taken: Counter[int] = Counter()
    place = 0
    for item, score in zip(*ranked, strict=True):
        group = int(groups[item])
        if item < 0 or place == len(into[0]):
            break
        if group < 0 or taken[group] < most:
            into[0][place], into[1][place] = item, score
            taken[group] += 1
            place += 1
    return place < len(into[0])


def _known(ids: list[str], items: IdIndex, unknown: dict[str, None]) -> np.ndarray:
    codes = items.codes(ids)
    unknown.update(dict.fromkeys(ids[place] for place in np.flatnonzero(codes < 0)))
    return codes[codes >= 0]


def texts(ids: Any) -> list[str]:
    """Ids as text; a single text is one id, not its characters."""
    several = ids if isinstance(ids, Iterable) and not isinstance(ids, str | bytes) else [ids]
    return [str(one) for one in several]


def some_of(ids: Iterable[Any]) -> str:
    """The first few of some ids, for a message."""
    ids = list(ids)
    return ", ".join(repr(one) for one in ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")
