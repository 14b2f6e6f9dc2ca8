"""The original rows of a log, with all columns, for interactions that were read from it."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.interactions import Interactions
from recsieve.data.reading.columns import ITEM, USER, Names, find_columns
from recsieve.data.reading.delimited import typed
from recsieve.data.reading.file_format import AS_FOUND, Format
from recsieve.data.reading.ids import as_ids
from recsieve.data.reading.tables import Source, Table, open_table, readable
from recsieve.errors import DataError, did_you_mean


def log_rows(source: Source, kept: Interactions, names: Names, form: Format = AS_FOUND) -> pl.DataFrame:
    """The rows whose pair of user and item is among some interactions, in the order and with the columns of the log."""
    table, meaning, pairs, keys = _keyed(source, kept, names, form)
    with readable(table.name):
        rows = table.rows.with_columns(*keys.values()).join(pairs, on=list(keys), how="semi", maintain_order="left")
        frame = rows.drop(*keys).collect()
    if not table.text_files:
        return frame
    own = {meaning[role]: as_ids(frame[meaning[role]], f"the {role[1:]}", from_text=True) for role in keys}
    return frame.with_columns(
        own[column.name] if column.name in own else typed(column) for column in frame if column.dtype == pl.String
    )


def log_column(
    source: Source, data: Interactions, names: Names, column: str, form: Format = AS_FOUND
) -> NDArray[np.float64]:
    """The numbers of another column for interactions read from the log; the mean over repeated pairs."""
    table, _, pairs, keys = _keyed(source, data, names, form)
    with readable(table.name):
        columns = table.rows.collect_schema().names()
        if column not in columns:
            raise DataError(f"{table.name} has no column '{column}': {did_you_mean(column, columns)}")
        number = pl.col(column).cast(pl.Float64, strict=False).alias("number")
        means = table.rows.select(*keys.values(), number).group_by(*keys).agg(pl.col("number").mean())
        found = pairs.join(means, on=list(keys), how="left", maintain_order="left").collect()["number"]
    return found.fill_null(float("nan")).to_numpy()


def _keyed(
    source: Source, data: Interactions, names: Names, form: Format
) -> tuple[Table, dict[str, str], pl.LazyFrame, dict[str, pl.Expr]]:
    """The log, what its columns mean, the pairs of some interactions, and the same as expressions of the log."""
    table = open_table(source, form, names.asked)
    with readable(table.name):
        schema = table.rows.collect_schema()
    meaning = find_columns(schema.names(), names, table.name)
    ids = {USER: data.user_ids.gather(data.users), ITEM: data.item_ids.gather(data.items)}
    pairs = pl.LazyFrame({role: column.cast(pl.String) for role, column in ids.items()})
    keys = {role: _as_text(meaning[role], schema, ids[role].dtype).alias(role) for role in ids}
    return table, meaning, pairs, keys


def _as_text(name: str, schema: pl.Schema, id_type: pl.DataType) -> pl.Expr:
    """A column of ids as their text is in the table of ids: a whole number has no point and no blanks around it."""
    column = pl.col(name)
    if schema[name].is_float():
        column = column.cast(pl.Int64)
    text = column.cast(pl.String)
    return text.str.strip_chars() if id_type == pl.Int64 else text
