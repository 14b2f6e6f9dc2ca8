"""A table or query of a SQLite or DuckDB file: opened read-only, one SELECT, no access outside the file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from recsieve.errors import ConfigError, DataError

_SQLITE, _DUCKDB = "sqlite", "duckdb"
_HEAD = 16  # bytes that tell either
_TABLES = {
    _SQLITE: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite@_%' ESCAPE '@'",
    _DUCKDB: "SELECT table_name AS name FROM information_schema.tables",
}
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# `lock_configuration` keeps a query from taking any of the others back.
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",  # or a query could name a variable of this program
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "lock_configuration": "true",
}


def database_kind(path: Path) -> str | None:
    """Which database a file is, by its first bytes; None: it is none."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"SQLite format 3\x00"):
        return _SQLITE
    return _DUCKDB if head[8:12] == b"DUCK" else None


def read_database(path: Path, kind: str, query: str | None) -> pl.DataFrame:
    """The rows of a query, or of the only table."""
    if query is None:
        query = f'SELECT * FROM "{_only_table(path, kind)}"'
    return _run(path, kind, checked_query(query, kind))


def checked_query(query: str, kind: str) -> str:
    """The query, rendered from its syntax tree, if it is one SELECT and nothing else."""
    try:
        statements = sqlglot.parse(query, dialect=kind)
    except (SqlglotError, RecursionError) as error:
        raise ConfigError(f"the query '{query}' is not SQL for {kind}: give one SELECT.") from error
    found = [statement for statement in statements if statement is not None]
    if len(found) != 1 or not isinstance(found[0], exp.Query) or found[0].find(exp.Into, exp.Command, exp.DML, exp.DDL):
        raise ConfigError(f"the query '{query}' is not a single SELECT: give one, and nothing else.")
    return found[0].sql(dialect=kind, comments=False)


def _only_table(path: Path, kind: str) -> str:
    names = _run(path, kind, _TABLES[kind])["name"].sort().to_list()
    if len(names) != 1:
        raise DataError(
            f"{path} has {len(names)} tables ({', '.join(names) or 'none'}): give a query, "
            f'e.g. "SELECT * FROM {names[0] if names else "events"}".'
        )
    return str(names[0]).replace('"', '""')


def _run(path: Path, kind: str, query: str) -> pl.DataFrame:
    return _run_in_sqlite(path, query) if kind == _SQLITE else _run_in_duckdb(path, query)


def _run_in_sqlite(path: Path, query: str) -> pl.DataFrame:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")  # views of the file call no function with side effects
            connection.set_authorizer(_allow_reading)
            return pl.read_database(query, connection, infer_schema_length=None)
    except sqlite3.Error as error:
        raise _failed(path, query, error) from error


def _allow_reading(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _run_in_duckdb(path: Path, query: str) -> pl.DataFrame:
    try:
        import duckdb
    except ImportError:
        raise DataError(f"{path} is a DuckDB file, which needs duckdb: pip install 'recsieve[duckdb]'.") from None
    try:
        with closing(duckdb.connect(path, read_only=True, config=_CLOSED)) as connection:
            rows: pl.DataFrame = connection.sql(query).pl()
            return rows
    except duckdb.Error as error:
        raise _failed(path, query, error) from error


def _failed(path: Path, query: str, error: Exception) -> DataError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return DataError(f"{path} cannot run '{query}' ({reason}): give a SELECT over its tables.")
