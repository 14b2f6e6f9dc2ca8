"""Opens files, folders of parts and data frames as lazy tables."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import narwhals as nw
import polars as pl

from recsieve.data.reading.authors import CLEAN, is_authors_file, name_columns, scan_clean
from recsieve.data.reading.databases import database_kind, read_database
from recsieve.data.reading.delimited import TextFile
from recsieve.data.reading.file_format import AS_FOUND, Format
from recsieve.data.reading.size import require_memory
from recsieve.errors import ConfigError, DataError

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoFrame

# A path, several paths that are parts of one table, or a data frame.
Source: TypeAlias = "str | Path | Sequence[str | Path] | pl.DataFrame | pl.LazyFrame | pd.DataFrame | IntoFrame"
PARQUET = (".parquet", ".pq")
DELIMITED = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson", ".json")  # Spark calls them by the last
DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb")
COMPRESSION = (".gz", ".zst")


@dataclass(frozen=True)
class Wanted:
    """What a source should be, and what helps if its text is not in UTF-8, as errors say it."""

    path: str
    not_utf8: str


LOG = Wanted(
    "the path of the interactions",
    "name its encoding with --encoding (in Python encoding=), e.g. latin-1, or write it in UTF-8",
)
LIST = Wanted("the path of a file with a column of items", "write it in UTF-8")  # it is read without options


@dataclass(frozen=True)
class Table:
    """The rows of one source, before the meaning of its columns is known."""

    rows: pl.LazyFrame
    name: str  # what an error calls it
    text_files: tuple[TextFile, ...] = ()  # where the cells come from text: their types are still to be found
    is_authors: bool = False
    is_clean: bool = False  # every pair is a true positive


def open_table(source: Source, form: Format = AS_FOUND, asked: Collection[str] = (), wanted: Wanted = LOG) -> Table:
    """Open a file, a folder of parts or a data frame; `asked` are the column names that the caller gave."""
    if form.query is not None and not isinstance(source, str | Path):
        raise ConfigError("a query needs a SQLite or DuckDB file, which this is not: leave it out.")
    if isinstance(source, pl.LazyFrame | pl.DataFrame):
        return Table(source.lazy(), "the data frame")
    if type(source).__module__.partition(".")[0] == "pandas":
        return Table(_from_pandas(source).lazy(), "the data frame")
    if not isinstance(source, str | Path | list | tuple) and (frame := _from_any(source)) is not None:
        return Table(frame.lazy(), "the data frame")
    if isinstance(source, str | Path):
        return _open_paths([Path(source)], str(source), form, asked, wanted)
    if isinstance(source, list | tuple) and source and all(isinstance(path, str | Path) for path in source):
        name = str(source[0]) if len(source) == 1 else f"{source[0]} and {len(source) - 1} more"
        return _open_paths([Path(path) for path in source], name, form, asked, wanted)
    raise DataError(
        f"interactions were given as a {type(source).__name__}: give the path of a file or folder, or a data frame."
    )


@contextmanager
def readable(name: str, wanted: Wanted = LOG) -> Iterator[None]:
    """Turn errors of reading into one line that names the source."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        advice = "give a CSV or TSV file in UTF-8, or a Parquet file"
        if "utf" in reason.lower():
            advice = wanted.not_utf8
        raise DataError(f"{name} cannot be read ({reason}): {advice}.") from error


def is_data_file(path: Path) -> bool:
    """Whether the name of a file is that of a supported format."""
    name = _plain_name(path)
    return name.endswith((*PARQUET, *DELIMITED, *JSON_LINES, *DATABASES, ".inter")) or is_authors_file(name)


def _plain_name(path: Path) -> str:
    """The name of a file in lower case, without the ending that says it is compressed."""
    name = path.name.lower()
    return path.with_name(name).stem if name.endswith(COMPRESSION) else name


def _open_paths(paths: list[Path], name: str, form: Format, asked: Collection[str], wanted: Wanted) -> Table:
    with readable(name, wanted):
        for path in paths:
            if not path.exists():
                raise DataError(f"there is no file or folder '{path}': give {wanted.path}.")
        if len(paths) == 1 and paths[0].is_file():
            _require_memory(paths, name)
            return _open_file(paths[0], form, asked)
        files = [file for path in paths for file in (_files_in(path) if path.is_dir() else [path])]
        parts = _of_one_kind(files, name)
        _require_memory(parts, name)
        return _open_parts(parts, name, form, asked)


def _require_memory(files: list[Path], name: str) -> None:
    filled = [file for file in files if file.stat().st_size]
    tables = [file for file in filled if _is_parquet(file)]
    require_memory([file for file in filled if file not in tables], tables, name)


def _open_file(path: Path, form: Format, asked: Collection[str]) -> Table:
    name = _plain_name(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: give a file with at least one row.")
    if (kind := database_kind(path)) is not None:
        return Table(read_database(path, kind, form.query).lazy(), str(path))
    if form.query is not None:
        raise ConfigError(f"a query needs a SQLite or DuckDB file, which {path} is not: leave it out.")
    if _is_parquet(path):
        return Table(pl.scan_parquet(path, glob=False), str(path))
    if name.endswith(JSON_LINES):
        return Table(_scan_json_lines(path), str(path))
    if name.endswith(CLEAN):
        return Table(scan_clean(path), str(path), is_authors=True, is_clean=True)
    return _open_text(path, name, form, asked)


def _open_text(path: Path, name: str, form: Format, asked: Collection[str]) -> Table:
    if is_authors_file(name):
        file = TextFile.look_at(path, replace(form, header=False))
        return Table(name_columns(file.scan(), path), str(path), (file,), is_authors=True)
    if name.endswith(".inter"):
        file = TextFile.look_at(path, replace(form, header=True))
        return Table(_with_recbole_types(file.scan()), str(path), (file,))
    file = TextFile.look_at(path, form, asked)
    return Table(file.scan(), str(path), (file,))


def _files_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith((".", "_"))]


def _of_one_kind(files: list[Path], name: str) -> list[Path]:
    """The Parquet files, the CSV files or the JSON lines among some, or the only .inter file."""
    endings = (PARQUET, DELIMITED, JSON_LINES, ".inter")
    kinds = [[file for file in files if _plain_name(file).endswith(kind)] for kind in endings]
    found = [kind for kind in kinds if kind]
    if not found:
        raise DataError(f"{name} holds no .parquet, .csv, .tsv, .jsonl or .inter file: give the path of one file.")
    if len(found) > 1 or len(kinds[-1]) > 1:
        several = ", ".join(kind[0].name for kind in found) if len(found) > 1 else ", ".join(f.name for f in kinds[-1])
        raise DataError(f"{name} holds different kinds of files ({several}): give the path of one of them.")
    return found[0]


def _open_parts(files: list[Path], name: str, form: Format, asked: Collection[str]) -> Table:
    parts = [_open_file(file, form, asked) for file in files if file.stat().st_size]
    if not parts:
        raise DataError(f"all files in {name} are empty: give files with one interaction per line.")
    # A line of JSON leaves out what it does not have, and so may a whole part.
    lines_of_json = _plain_name(files[0]).endswith(JSON_LINES)
    rows = pl.concat([part.rows for part in parts], how="diagonal_relaxed" if lines_of_json else "vertical_relaxed")
    return Table(rows, name, tuple(file for part in parts for file in part.text_files))


def _with_recbole_types(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Take the types out of a header such as `user_id:token`, `rating:float`, and apply them."""
    return rows.select(
        pl.col(name).cast(pl.Float64 if name.endswith(":float") else pl.String).alias(name.partition(":")[0])
        for name in rows.collect_schema().names()
    )


def _scan_json_lines(path: Path) -> pl.LazyFrame:
    """Open lines of JSON objects; all of them tell the types, for a key may be in a few only."""
    return pl.scan_ndjson(glob.escape(str(path)), infer_schema_length=None)  # a name may have brackets


def _is_parquet(path: Path) -> bool:
    """Whether the name of a file or how it starts says so."""
    with path.open("rb") as file:
        return _plain_name(path).endswith(PARQUET) or file.read(4) == b"PAR1"


def _from_any(frame: Any) -> pl.DataFrame | None:
    """A data frame of any library that narwhals knows: Arrow, DuckDB, Modin and others."""
    known = nw.from_native(frame, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        known = known.collect("polars")
    return known.to_polars() if isinstance(known, nw.DataFrame) else None


def _from_pandas(frame: object) -> pl.DataFrame:
    try:
        return pl.DataFrame(cast("pd.DataFrame", frame))
    except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the pandas frame cannot be read ({reason}): give each column one type.") from error
