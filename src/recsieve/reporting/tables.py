"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from recsieve.display import metric_rows


def show(table: Table) -> None:
    """Put a table on standard output."""
    Console().print(table)


def metrics_table(metrics: Mapping[str, float | None], title: str) -> Table:
    """Metrics as rows and list lengths as columns, from names such as "recall@20"."""
    header, rows = metric_rows(metrics)
    table = Table(*header, title=title)
    for name, *values in rows:
        table.add_row(name, *map(number, values))
    return table


def rows_table(header: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> Table:
    """Rows of text and numbers, numbers to the right."""
    table = Table(title=title)
    for place, name in enumerate(header):
        table.add_column(name, justify="right" if rows and numeric(rows[-1][place]) else "left")
    for row in rows:
        table.add_row(*(value if isinstance(value, str) else number(value) for value in row))
    return table


def numeric(cell: Any) -> bool:
    """Whether a cell is a number, or text that begins like one, so that it stands to the right."""
    return not isinstance(cell, str) or cell.startswith(tuple("0123456789+−"))


def number(value: float | None) -> str:
    """Four digits for a measure, thousands apart for a count, a dash for what is undefined."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
