"""Results as tables and sentences for a terminal."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from recsieve.display import metric_rows

PIPE = 160  # columns without a terminal: files and CI logs have room, and wrapped cells are hard to search

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def output() -> Console:
    """Standard output, as wide as the terminal, or as COLUMNS says."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=PIPE)


def show(table: Table) -> None:
    """Print a table to standard output."""
    output().print(table)


def say(*lines: str, bullet: bool = False) -> None:
    """Print sentences to standard output: wrapped between words in a terminal, one line each on a pipe."""
    console = output()
    first, next_ones = ("- ", "  ") if bullet else ("", "")
    for line in lines:
        line = wrapped(line, console.width, first, next_ones) if console.is_terminal else first + line
        console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def wrapped(sentence: str, width: int, first: str = "", next_ones: str = "") -> str:
    """A sentence in lines that end between words; a long word is not broken."""
    together = re.sub(r"(?<=\d) (?=%)|(?<=±) (?=\d)", "\u00a0", sentence)  # a number and what belongs to it
    return textwrap.fill(
        together, width, initial_indent=first, subsequent_indent=next_ones, break_long_words=False,
        break_on_hyphens=False,
    ).replace("\u00a0", " ")  # fmt: skip


def say_command(words: Sequence[str]) -> None:
    """Print a command to standard output; in a narrow terminal, on several lines joined by backslashes."""
    console = output()
    lines = ["  "]
    for word in words:
        if console.is_terminal and len(lines[-1]) + len(word) > console.width - 3 and lines[-1].strip():
            lines[-1] += "\\"
            lines.append("    ")
        lines[-1] += f"{word} "
    for line in lines:
        console.print(line.rstrip(), markup=False, highlight=False, emoji=False, soft_wrap=True)


def metrics_table(metrics: Mapping[str, float | None], title: str) -> Table:
    """Metrics as rows and list lengths as columns, from names such as "recall@20"."""
    header, rows = metric_rows(metrics)
    table = Table(*header, title=Text(title))
    for name, *values in rows:
        table.add_row(name, *map(number, values))
    return table


def rows_table(header: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> Table:
    """Rows of text and numbers, with numbers aligned right; ids and names in it are text, never markup."""
    table = Table(title=None if title is None else Text(title))
    for place, name in enumerate(header):
        right = bool(rows) and numeric(rows[-1][place])
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")  # a long id is not cut off
    for row in rows:
        table.add_row(*(_cell(value if isinstance(value, str) else number(value)) for value in row))
    return table


def _cell(text: str) -> Text:
    """Text in which what would command a terminal is written out."""
    return Text(_CONTROL.sub(lambda one: one[0].encode("unicode_escape").decode(), text))


def numeric(cell: Any) -> bool:
    """Whether a cell is aligned right: a number, or text that starts like one, but no list or blend."""
    return not isinstance(cell, str) or (
        cell.startswith(tuple("0123456789+−")) and ", " not in cell and " · " not in cell
    )


def number(value: float | None) -> str:
    """Four decimals for a measure, separated thousands for a count, a dash if undefined."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
