"""The rows of a log as they stand in it, all columns, for interactions that were read from it."""

from __future__ import annotations

import polars as pl

from recsieve.data.interactions import Interactions
from recsieve.data.reading.columns import ITEM, USER, Names, find_columns
from recsieve.data.reading.delimited import typed
from recsieve.data.reading.file_format import AS_FOUND, Format
from recsieve.data.reading.ids import as_ids
from recsieve.data.reading.tables import Source, open_table, readable


def log_rows(source: Source, kept: Interactions, names: Names, form: Format = AS_FOUND) -> pl.DataFrame:
    """The rows whose pair of user and item is among some interactions, in the order and with the columns of the log."""
    table = open_table(source, form, names.asked)
    with readable(table.name):
        schema = table.rows.collect_schema()
    meaning = find_columns(schema.names(), names, table.name)
    ids = {USER: kept.user_ids.gather(kept.users), ITEM: kept.item_ids.gather(kept.items)}
    pairs = pl.LazyFrame({role: column.cast(pl.String) for role, column in ids.items()})
    keys = {role: _as_text(meaning[role], schema, ids[role].dtype).alias(role) for role in ids}
    with readable(table.name):
        rows = table.rows.with_columns(*keys.values()).join(pairs, on=list(keys), how="semi", maintain_order="left")
        frame = rows.drop(*keys).collect()
    if not table.text_files:
        return frame
    own = {meaning[role]: as_ids(frame[meaning[role]], f"the {role[1:]}", from_text=True) for role in keys}
    return frame.with_columns(
        own[column.name] if column.name in own else typed(column) for column in frame if column.dtype == pl.String
    )


def _as_text(name: str, schema: pl.Schema, id_type: pl.DataType) -> pl.Expr:
    """A column of ids as their text is in the table of ids: a whole number has no point and no blanks around it."""
    column = pl.col(name)
    if schema[name].is_float():
        column = column.cast(pl.Int64)
    text = column.cast(pl.String)
    return text.str.strip_chars() if id_type == pl.Int64 else text
