"""Tables of SQLite and DuckDB: one SELECT, nothing written, nothing outside the file."""

import sqlite3
from contextlib import closing

import duckdb
import pytest

from recsieve.data.reading.databases import checked_query
from recsieve.data.reading.formats import read_interactions
from recsieve.errors import ConfigError, DataError

ROWS = [("ann", 30, 5), ("bob", 10, 1)]


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    """A file with a table of events and one of notes."""
    path = tmp_path / f"shop.{request.param}"
    connect = sqlite3.connect if request.param == "sqlite" else duckdb.connect
    with closing(connect(str(path))) as connection:
        connection.execute("CREATE TABLE events (customer VARCHAR, product INTEGER, rating INTEGER)")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", ROWS)
        connection.execute("CREATE TABLE notes (text VARCHAR)")
        connection.commit()
    return path


def read(path, query):
    return read_interactions(path, query=query).to_frame().rows()


def test_a_query_gives_the_rows(database):
    query = "WITH good AS (SELECT * FROM events WHERE rating > 1) SELECT customer, product FROM good"
    assert read(database, query) == [("ann", 30)]


def test_without_a_query_several_tables_are_named(database):
    with pytest.raises(DataError, match=r"2 tables \(events, notes\): give a query"):
        read_interactions(database)


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM events",
        "DROP TABLE events",
        "SELECT * FROM events; DROP TABLE events",
        "INSERT INTO events VALUES ('x', 1, 1)",
        "ATTACH 'other.db' AS other",
        "PRAGMA writable_schema = 1",
        "WITH gone AS (DELETE FROM events RETURNING *) SELECT * FROM gone",
        "COPY events TO 'out.csv'",
        "",
        "SELECT (((",
    ],
)
def test_whatever_is_not_one_select_is_refused_and_nothing_is_changed(database, query, tmp_path):
    before, files = database.read_bytes(), sorted(tmp_path.iterdir())
    with pytest.raises(ConfigError, match="one"):
        read(database, query)
    assert database.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("query", ["SELECT * FROM nothing", "SELECT load_extension('x') AS user, 1 AS item"])
def test_a_query_that_the_file_cannot_answer_is_told_in_one_line(database, query):
    with pytest.raises(DataError, match="cannot run") as error:
        read(database, query)
    assert "\n" not in str(error.value)


def test_duckdb_reads_no_other_file_and_no_variable_of_the_program(tmp_path):
    duckdb.connect(tmp_path / "shop.duckdb").close()
    (tmp_path / "secret.csv").write_text("user,item\n1,2\n")
    for query in (f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')", f"SELECT * FROM '{tmp_path / 'secret.csv'}'"):
        with pytest.raises(DataError, match="cannot run"):
            read(tmp_path / "shop.duckdb", query)
    with pytest.raises(DataError, match="cannot run"):
        read(tmp_path / "shop.duckdb", "SELECT * FROM ROWS")


def test_sqlite_itself_would_refuse_to_write_or_to_attach(tmp_path, monkeypatch):
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE events (user, item)")
    monkeypatch.setattr("recsieve.data.reading.databases.checked_query", lambda query, kind: query)
    for query in (
        "INSERT INTO events VALUES (1, 2)",
        f"ATTACH '{tmp_path / 'other.db'}' AS other",
        "PRAGMA user_version",
    ):
        with pytest.raises(DataError, match=r"cannot run|cannot be read"):
            read(path, query)
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_query_for_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "log.csv").write_text("user,item\n1,2\n")
    with pytest.raises(ConfigError, match=r"which .* is not: leave it out"):
        read(tmp_path / "log.csv", "SELECT 1")


def test_what_runs_is_rendered_from_what_was_checked():
    assert checked_query("select 1 -- and more\n;", "sqlite") == "SELECT 1"


def test_without_duckdb_its_files_are_refused_with_what_to_install(tmp_path, monkeypatch):
    duckdb.connect(tmp_path / "shop.duckdb").close()
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(DataError, match=r"recsieve\[duckdb\]"):
        read_interactions(tmp_path / "shop.duckdb")
