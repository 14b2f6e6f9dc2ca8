"""Looks at the columns of a log and proposes options for them, for a person to check."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from recsieve.data.labelling import is_zero_or_one, marked
from recsieve.data.reading.columns import guess_item, guess_time, guess_user, refuse_broken
from recsieve.data.reading.delimited import comma_numbers, typed
from recsieve.data.reading.file_format import AS_FOUND, Format
from recsieve.data.reading.tables import Source, open_table, readable
from recsieve.errors import DataError, RecsieveError

SAMPLE = 100_000  # rows that are looked at
_EXAMPLES = 3
_MOST_EVENTS = 30
_SHORT_SECONDS = 10  # of reading: what the paper takes for a click that was regretted

# Parts of names, in lower case.
_USERS = ("user", "customer", "cust", "visitor", "client", "member", "account", "reader", "player", "person", "session")
_ITEMS = (
    "item",
    "product",
    "movie",
    "book",
    "article",
    "news",
    "song",
    "track",
    "artist",
    "video",
    "game",
    "sku",
    "content",
)
_TIMES = ("time", "date", "_at", "when")
_RATINGS = ("rating", "stars", "score", "overall")
_DWELLS = ("dwell", "duration", "seconds", "watch", "listen", "played", "playtime", "active_time", "hours", "minutes")
_REGRETS = ("return", "refund", "regret", "skip", "dislike", "cancel", "bounce", "remove", "unlike", "thumbsdown")
_EVENTS = ("event", "action", "behavior", "behaviour", "interaction", "activity", "type")
# What an event has to be for an interaction that matters, the first kind that occurs.
_INTERACTIONS = (
    ("purchase", "buy", "bought", "order", "transaction", "checkout", "sale"),
    ("like", "fav", "bookmark", "subscribe", "follow", "rate", "review"),
    ("cart", "basket"),
    ("play", "listen", "watch", "read"),
)
# Seconds of a unit, by how a name ends or begins.
_UNITS = {"ms": 0.001, "msec": 0.001, "millis": 0.001, "milliseconds": 0.001, "s": 1, "sec": 1, "seconds": 1,
          "min": 60, "minutes": 60, "hours": 3600}  # fmt: skip
_LOOKS_LIKE_MILLISECONDS = 2_000  # a median of more seconds than that is no dwell time


@dataclass(frozen=True)
class Column:
    """A column of a log: its type, its number of distinct values, examples, and what it is used as."""

    name: str
    holds: str
    distinct: int | None
    examples: list[str]
    role: str = ""


@dataclass(frozen=True)
class Proposal:
    """The columns, proposed options of `read_interactions`, and reasons."""

    columns: list[Column]
    options: dict[str, str]
    reasons: list[str]


def propose(source: Source, form: Format = AS_FOUND, **given: str | None) -> Proposal:
    """Look at the first rows of a log, and propose the options that are not given."""
    sample = _sample(source, form, [name for name in map(given.get, ("user", "item", "time")) if name is not None])
    names = sample.columns
    options = {name: value for name, value in given.items() if value is not None}
    roles: dict[str, str] = {}
    for role, find in _ROLES.items():
        free = [name for name in names if name not in roles]
        found = options.get(role) or find(sample, free)
        if found is not None:
            options[role] = found
            roles[found] = role
    reasons = []
    for option, rules in (("positive", _positive_rules), ("false_positive", _noise_rules)):
        rest = sample.select(name for name in names if name not in roles)
        if option not in options and (rule := _useful(rest, rules(rest))) is not None:
            options[option], share = rule
            reasons.append(
                f"proposed --{option.replace('_', '-')}: {options[option]} ({100 * share:.0f} % of these rows)"
            )
    return Proposal([_described(sample[name], roles.get(name, "")) for name in names], options, reasons)


def _sample(source: Source, form: Format, asked: list[str]) -> pl.DataFrame:
    table = open_table(source, form, asked)
    try:
        with readable(table.name):
            rows = table.rows.head(SAMPLE).collect()
    except DataError:
        refuse_broken(table)
        raise
    return rows.with_columns(_as_numbers(column) for column in rows) if table.text_files else rows


def _as_numbers(column: pl.Series) -> pl.Series:
    column = typed(column) if column.dtype == pl.String else column
    numbers = comma_numbers(column)
    return column if numbers is None else numbers


def _user(sample: pl.DataFrame, free: list[str]) -> str | None:
    return guess_user(free) or _named(free, _USERS) or ("column_1" if "column_1" in free else None)


def _item(sample: pl.DataFrame, free: list[str]) -> str | None:
    return guess_item(free) or _named(free, _ITEMS)


def _time(sample: pl.DataFrame, free: list[str]) -> str | None:
    named = [name for name in free if _has(name, _TIMES) and not _has(name, _DWELLS)]
    return guess_time(free) or next((name for name in named if sample.schema[name] != pl.Boolean), None)


_ROLES: dict[str, Callable[[pl.DataFrame, list[str]], str | None]] = {"user": _user, "item": _item, "time": _time}


def _positive_rules(rest: pl.DataFrame) -> Iterator[str]:
    """Which events are interactions: the strongest kind that there is."""
    for name, events in _events(rest):
        for kind in _INTERACTIONS:
            # `remove_from_cart` is no interaction, though it speaks of the cart
            if found := [event for event in events if _has(event, kind) and not _has(event, _REGRETS)]:
                yield _among(name, found)
                break


def _noise_rules(rest: pl.DataFrame) -> Iterator[str]:
    """What may mark noise, the surest first: a return, an event of that kind, a rating, a dwell time."""
    for column in rest:
        if _has(column.name, _REGRETS) and (column.dtype == pl.Boolean or is_zero_or_one(column)):
            yield _quoted(column.name)
    for name, events in _events(rest):
        if found := [event for event in events if _has(event, _REGRETS)]:
            yield _among(name, found)
    for column in rest:
        if _has(column.name, _RATINGS) and column.dtype.is_numeric():
            yield f"{_quoted(column.name)} < {_middle(column):g}"
    for column in rest:
        if _has(column.name, _DWELLS) and column.dtype.is_numeric():
            yield f"{_quoted(column.name)} < {_short(column):g}"


def _useful(rest: pl.DataFrame, rules: Iterator[str]) -> tuple[str, float] | None:
    """The first rule that holds for some rows and not for all, and for what share."""
    for rule in rules:
        try:
            share = marked(rest, rule).mean()
        except RecsieveError:
            continue
        if isinstance(share, float) and 0 < share < 1:
            return rule, share
    return None


def _events(rest: pl.DataFrame) -> Iterator[tuple[str, list[str]]]:
    """The columns that name kinds of events, and these."""
    for column in rest:
        if _has(column.name, _EVENTS) and column.dtype == pl.String and column.n_unique() <= _MOST_EVENTS:
            yield column.name, sorted(column.drop_nulls().unique().to_list())


def _middle(column: pl.Series) -> float:
    """The middle of a scale, below which a rating is poor: 3 of 1 to 5, 5 of 1 to 10."""
    low, high = _range(column)
    middle = (low + high) / 2
    return middle if high - low < 4 else int(middle)


def _range(column: pl.Series) -> tuple[float, float]:
    low, high = column.min(), column.max()
    if isinstance(low, int | float) and isinstance(high, int | float) and math.isfinite(low + high):
        return float(low), float(high)
    return 0.0, 0.0


def _short(column: pl.Series) -> float:
    """What is short, in the unit that the name says; where it says none, as large as the numbers are."""
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).lower())
    seconds = next((_UNITS[word] for word in reversed(words) if word in _UNITS), None)
    if seconds is None:
        median = column.median()
        seconds = 0.001 if isinstance(median, float) and median > _LOOKS_LIKE_MILLISECONDS else 1
    # An hour of a game is short; ten seconds of an article are.
    return 1 if seconds >= 60 else _SHORT_SECONDS / seconds


def _named(free: list[str], parts: tuple[str, ...]) -> str | None:
    return next((name for name in free if _has(name, parts)), None)


def _has(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name.lower() for part in parts)


def _among(name: str, events: list[str]) -> str:
    quoted = ", ".join("'" + event.replace("'", "''") + "'" for event in events)
    return f"{_quoted(name)} in ({quoted})"


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else '"' + name.replace('"', '""') + '"'


def _described(column: pl.Series, role: str) -> Column:
    known = column.drop_nulls()
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return Column(column.name, "lists or objects", None, [], role)
    examples = _in_words(known.unique(maintain_order=True).head(_EXAMPLES))
    return Column(column.name, _holds(column.dtype), known.n_unique(), examples, role)


def _holds(dtype: Any) -> str:
    if dtype.is_integer():
        return "integers"
    if dtype.is_numeric():
        return "numbers"
    if dtype.is_temporal():
        return "times"
    return {pl.Boolean: "true or false", pl.Null: "nothing"}.get(dtype, "text")


def _in_words(values: pl.Series) -> list[str]:
    try:
        return values.cast(pl.String).to_list()
    except PolarsError:  # bytes and spans of time, which polars does not make text of
        return [str(value) for value in values.to_list()]
