"""Which column is the user, the item, the time and the weight, and their values before coding."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace

import polars as pl

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.reading.dates import parsed_dates
from recsieve.data.reading.delimited import typed, with_decimal_points
from recsieve.data.reading.file_format import AS_FOUND, Format
from recsieve.data.reading.ids import as_ids, refuse_missing, text_numbered
from recsieve.data.reading.tables import Source, Table, open_table, readable
from recsieve.data.rules import columns_of
from recsieve.errors import ConfigError, DataError, did_you_mean

logger = logging.getLogger(__name__)

# How the columns with a known meaning are called here, so that they cannot be taken for a column of the user.
USER, ITEM, TIME, WEIGHT, ROW = ":user", ":item", ":time", ":weight", ":row"
_CUT_SHORT, _EMPTY = ":cut short", ":empty"
# A column that says it already, as `Interactions.to_frame` writes it: it is believed where no rule is given.
OWN_FLAG = "false_positive"

# Names to guess from, the likeliest first, without capitals, blanks and underscores.
_USER_NAMES = (
    "user userid uid userindex customer customerid visitor visitorid client clientid member memberid account accountid "
    "reader readerid listener listenerid player playerid reviewer reviewerid person personid session sessionid column1"
)
_ITEM_NAMES = (
    "item itemid iid itemindex product productid movie movieid book bookid article articleid news newsid song songid "
    "track trackid artist artistid video videoid game gameid business businessid asin sku content contentid column2"
)
_TIME_NAMES = "timestamp time date datetime"


@dataclass(frozen=True)
class Names:
    """The columns that the caller named (None: guess), and the rules over columns.

    `positive` says which rows are interactions, `false_positive` which of them are noise; `weight` is a column or an
    expression over columns.
    """

    user: str | None = None
    item: str | None = None
    false_positive: str | None = None
    time: str | None = None
    weight: str | None = None
    positive: str | None = None

    @property
    def asked(self) -> list[str]:
        return [name for name in (self.user, self.item, self.time, self.weight) if name is not None]

    def weight_rule(self, columns: list[str]) -> str | None:
        """The weight, if it is an expression and not a column."""
        if self.weight is None or self.weight in columns:
            return None
        try:
            return self.weight if columns_of(self.weight) != [self.weight] else None
        except ConfigError:  # taken for the name of a column that is not there
            return None


@dataclass(frozen=True)
class SourceRows:
    """One source with its columns under our names, and the columns that the rule for false positives needs."""

    frame: pl.DataFrame
    source_columns: list[str]
    is_authors: bool = False
    is_clean: bool = False


def read_rows(
    source: Source, names: Names, form: Format = AS_FOUND, group: Communicator = SINGLE_PROCESS
) -> SourceRows:
    """Read the needed columns of a source, each in its final type; in a group, the rows of this rank's users."""
    table = open_table(source, form, names.asked)
    with readable(table.name):
        schema = table.rows.collect_schema()
    columns = schema.names()
    meaning = find_columns(columns, names, table.name)
    signals = [name for name in _signals(names, table, columns) if name in columns]
    wanted = {role: pl.col(name) for role, name in meaning.items()}
    for role in (USER, ITEM):
        if schema[meaning[role]] == pl.String and not table.text_files:
            # Numbered while it is read: a log of text may be larger than memory, and its distinct ids seldom are.
            wanted[role] = wanted[role].cast(text_numbered())
    expressions = [*(column.alias(role) for role, column in wanted.items()), *map(pl.col, signals)]
    whole = table.rows
    if not table.text_files:  # text has to be seen as a whole to know what its columns hold
        table = replace(table, rows=_of_own_users(table.rows, meaning[USER], group))
        expressions += [pl.col(ROW)] if group.size > 1 else []
    frame = _collect(table, expressions)
    if group.total(frame.height) == 0:
        raise DataError(
            f"{table.name} has no interactions: give at least one row (and --no-header, in Python "
            "header=False, if the first row is not a header)."
        )
    frame = _in_final_types(frame, meaning, names, table, group)
    if table.text_files:
        whole = frame.lazy()
        frame = _of_own_users(whole, USER, group).collect()
    if group.size > 1:
        _refuse_lost_rows(frame, whole, table.name, group)
    return SourceRows(frame, columns, table.is_authors, table.is_clean)


def _of_own_users(rows: pl.LazyFrame, user: str, group: Communicator) -> pl.LazyFrame:
    """The rows of the users that are this rank's, and where each stands among all."""
    if group.size == 1:
        return rows
    return rows.with_row_index(ROW).filter(pl.col(user).hash() % group.size == group.rank)


def _refuse_lost_rows(own: pl.DataFrame, whole: pl.LazyFrame, name: str, group: Communicator) -> None:
    """Raise an error if not every row is on one rank, as when hosts have versions of polars that hash differently."""
    with readable(name):
        n_rows = whole.select(pl.len()).collect().item()
    shared_out = group.total(own.height)
    if shared_out != n_rows:
        raise DataError(
            f"{name} has {n_rows:,} rows as rank {group.rank} sees it, but {shared_out:,} were shared out to the ranks"
            ": give every host the same files and the same version of polars."
        )


def find_columns(columns: list[str], names: Names, where: str) -> dict[str, str]:
    """Which column of the source belongs to each of our names."""
    found = {
        USER: names.user or _guess(columns, _USER_NAMES),
        ITEM: names.item or _guess(columns, _ITEM_NAMES),
        TIME: names.time or guess_time(columns),
        WEIGHT: None if names.weight_rule(columns) else names.weight,
    }
    for role in (USER, ITEM):
        if found[role] is None:
            name = role[1:]
            raise DataError(
                f"{where} has no column that looks like the {name}: give --{name}, in Python {name}=, one of "
                f"{', '.join(columns)} (or --no-header, header=False, if these are not column names)."
            )
    meaning = {role: name for role, name in found.items() if name is not None}
    for role, name in meaning.items():
        if name not in columns:
            raise DataError(f"{where} has no column '{name}' for the {role[1:]}: {did_you_mean(name, columns)}")
    if meaning[USER] == meaning[ITEM]:
        raise DataError(f"'{meaning[USER]}' cannot be both the user and the item: give two different columns.")
    return meaning


def guess_time(columns: list[str]) -> str | None:
    """The column with a usual name for times, if there is one."""
    return _guess(columns, _TIME_NAMES)


def guess_user(columns: list[str]) -> str | None:
    """The column with a usual name for users, if there is one."""
    return _guess(columns, _USER_NAMES.removesuffix("column1"))


def guess_item(columns: list[str]) -> str | None:
    """The column with a usual name for items, or the only column."""
    return _guess(columns, _ITEM_NAMES) or (columns[0] if len(columns) == 1 else None)


def _guess(columns: list[str], known: str) -> str | None:
    bare = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in reversed(columns)}
    return next((bare[name] for name in known.split() if name in bare), None)


def _signals(names: Names, table: Table, columns: list[str]) -> list[str]:
    """The columns that rules ask about; without one for false positives, the column that tells them."""
    rules = (names.false_positive, names.positive, names.weight_rule(columns))
    told = [] if names.false_positive is not None else ["rating"] if table.is_authors else [OWN_FLAG]
    return list(dict.fromkeys([*told, *(name for rule in rules if rule is not None for name in columns_of(rule))]))


def _collect(table: Table, wanted: list[pl.Expr]) -> pl.DataFrame:
    """Read the wanted columns; the error for a ragged text file names the line."""
    if not table.text_files:
        with readable(table.name):
            return table.rows.select(wanted).collect()
    try:
        with readable(table.name):
            # polars fills a line that is too short with nulls, so that they show in the last column.
            # It refuses one that is too long only where every column is looked at, and `coalesce` does so at once:
            # an expression for each column takes minutes to plan where there are thousands.
            empty = pl.coalesce(pl.all()).is_null().alias(_EMPTY)
            frame = table.rows.select(*wanted, pl.last().is_null().alias(_CUT_SHORT), empty).collect()
    except DataError:
        refuse_broken(table)
        raise
    if frame[_EMPTY].any():
        frame = frame.filter(~pl.col(_EMPTY))
        _tell_empty(table)
    if frame[_CUT_SHORT].any():
        refuse_ragged(table)
    return frame.drop(_CUT_SHORT, _EMPTY)


def _tell_empty(table: Table) -> None:
    """Say how many rows were left out; blank lines are none."""
    with readable(table.name):
        count = sum(file.count_empty() for file in table.text_files)
    if count:
        logger.warning("%s rows of %s contain only separators and were left out", f"{count:,}", table.name)


def refuse_ragged(table: Table) -> None:
    """Raise an error that names the first line of a text file with a wrong number of cells, if there is one."""
    for file in table.text_files:
        with readable(table.name):
            file.refuse_ragged()


def refuse_broken(table: Table) -> None:
    """Raise an error that names the line of a text file for which it cannot be read, if that can be found."""
    refuse_ragged(table)
    for file in table.text_files:
        with readable(table.name):
            file.refuse_open_quote()


def _in_final_types(
    frame: pl.DataFrame, meaning: dict[str, str], names: Names, table: Table, group: Communicator
) -> pl.DataFrame:
    """Ids as Int64 or String, time as Int64, weight as Float32, and cells of text as what they hold."""
    from_text = bool(table.text_files)
    where = {role: f"the {role[1:]} (column '{name}' of {table.name})" for role, name in meaning.items()}
    ids = [as_ids(frame[role], where[role], from_text) for role in (USER, ITEM)]
    if from_text:
        texts = [column for column in frame.drop(USER, ITEM) if column.dtype == pl.String]
        frame = frame.with_columns(with_decimal_points(typed(column)) for column in texts)
    frame = frame.with_columns(ids)
    if WEIGHT in meaning:
        frame = frame.with_columns(as_weight(frame[WEIGHT], where[WEIGHT]))
    if TIME not in meaning:
        return frame
    try:
        return frame.with_columns(_as_time(frame[TIME], where[TIME], group))
    except DataError as error:
        if names.time is not None:
            raise
        logger.warning("times are ignored: %s", error)
        return frame.drop(TIME)


def as_weight(column: pl.Series, what: str) -> pl.Series:
    """Numbers as weights, if they are valid; `what` names the column in errors."""
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise DataError(f"{what} holds {column.dtype}: give numbers from 0.")
    refuse_missing(column, what)
    weight = column.cast(pl.Float32)
    broken = column.filter(~weight.is_finite() | (weight < 0))
    if len(broken):
        raise DataError(f"{what} holds {broken[0]} ({len(broken):,} such rows): give finite numbers from 0.")
    return weight


def _as_time(column: pl.Series, what: str, group: Communicator) -> pl.Series:
    """Times as whole numbers: microseconds for dates, rounded for numbers."""
    refuse_missing(column, what)
    if column.dtype == pl.String:
        column = typed(column)  # seconds may be written as text too
    if column.dtype == pl.String:
        column = parsed_dates(column, what, group)
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if column.dtype == pl.Datetime:
        return column.dt.cast_time_unit("us").to_physical()
    if not column.dtype.is_numeric():
        raise DataError(f"{what} holds {column.dtype}: give numbers, dates or timestamps.")
    rounded = column.round() if column.dtype.is_float() else column
    try:
        return rounded.cast(pl.Int64)
    except pl.exceptions.InvalidOperationError as error:
        raise DataError(f"{what} holds a number that is not a time (not finite or too large): give seconds.") from error
