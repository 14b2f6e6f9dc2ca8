"""Results as small tables, for notebooks and rich."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text


class Shown(NamedTuple):
    """A title, and rows of text and numbers under a header."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Displayed(ABC):
    """Anything that notebooks and rich show as a table; ids and names in it are text, never markup."""

    @abstractmethod
    def shown(self) -> Shown:
        """The table to show."""

    def __repr__(self) -> str:
        title, header, rows = self.shown()
        table = [[str(name) for name in header], *([_text(cell) for cell in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        return "\n".join([title, *(line for line in lines if line)])

    def _repr_html_(self) -> str:
        title, header, rows = self.shown()
        head = "".join(f"<th>{escape(name)}</th>" for name in header)
        body = "".join(f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __rich__(self) -> Table:
        title, header, rows = self.shown()
        table = Table(title=Text(title))
        for name in header:
            table.add_column(Text(name))
        for row in rows:
            table.add_row(*(Text(_text(cell)) for cell in row))
        return table


def counted(n: int, noun: str) -> str:
    """ "1 user", "2,000 users"."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more there are: "a.csv, b.csv, 7 more"."""
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


def counted_of(n: int, of: int, noun: str) -> str:
    """ "1 of 1 user is", "1 of 3 users is", "2 of 3 users are"."""
    return f"{n:,} of {counted(of, noun)} {'is' if n == 1 else 'are'}"


def metric_rows(metrics: Mapping[str, float | None]) -> tuple[list[str], list[list[Any]]]:
    """A header and rows, with metrics by list length, from names such as "recall@20"."""
    names = list(dict.fromkeys(name.partition("@")[0] for name in metrics))
    lengths = sorted({int(name.partition("@")[2]) for name in metrics})
    rows = [[name.replace("_", " "), *(metrics.get(f"{name}@{k}") for k in lengths)] for name in names]
    return ["metric", *(f"@{k}" for k in lengths)], rows


def _text(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else "–" if cell is None else str(cell)
