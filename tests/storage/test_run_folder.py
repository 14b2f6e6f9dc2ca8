"""A run folder from an untrusted source: what indexes memory is checked, and whatever a library raises is one line."""

import polars as pl
import pytest

from recsieve.errors import RunError
from recsieve.storage.damage import reading
from recsieve.storage.run_folder import RunFolder


@pytest.fixture
def folder(split, tmp_path):
    run = RunFolder(tmp_path)
    run.write_split(split)
    return run


@pytest.mark.parametrize(
    ("column", "value"), [("user", -1), ("item", 25), ("false_positive", 100), ("weight", float("nan")), ("user", None)]
)
def test_numbers_that_point_outside_are_refused(folder, column, value):
    rows = pl.read_parquet(folder.interactions)
    first = pl.int_range(pl.len()) == 0
    changed = pl.when(first).then(value).otherwise(pl.col(column)).cast(rows.schema[column]).alias(column)
    rows.with_columns(changed).write_parquet(folder.interactions)
    with pytest.raises(RunError, match=f"{column} holds what it cannot|weight holds"):
        folder.read_split()


def test_other_types_are_refused(folder):
    rows = pl.read_parquet(folder.interactions)
    rows.with_columns(pl.col("user").cast(pl.Float64)).write_parquet(folder.interactions)
    with pytest.raises(RunError, match="user holds what it cannot"):
        folder.read_split()


@pytest.mark.parametrize(
    "error", [ValueError("a\nb"), RecursionError(), AssertionError(), pl.exceptions.PanicException("p")]
)
def test_whatever_a_library_raises_is_one_line(tmp_path, error):
    with pytest.raises(RunError, match="is damaged or not of recsieve") as told, reading(tmp_path):
        raise error
    assert "\n" not in str(told.value)


def test_what_is_missing_is_named_and_memory_that_runs_out_is_no_damage(tmp_path):
    with pytest.raises(RunError, match=r"has no nothing\.json"), reading(tmp_path):
        (tmp_path / "nothing.json").read_text()
    with pytest.raises(MemoryError), reading(tmp_path):
        raise MemoryError
