"""Lines and colours that the paper's figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

WIDTH, HEIGHT = 300, 210
METHOD_COLOURS = alt.Scale(domain=["CE", "T-CE", "R-CE"], range=["#4c78a8", "#e45756", "#f2a93b"])
KIND_COLOURS = alt.Scale(
    domain=["true positives", "false positives", "training loss"], range=["#4c78a8", "#e45756", "#79706e"]
)


def line_chart(
    rows: Sequence[dict[str, Any]], *, title: str, x: str, y: str, kind: str = "kind", colours: alt.Scale | None = None
) -> alt.Chart:
    """Lines of `value` against `x`, coloured by their kind."""
    return (
        alt.Chart(alt.Data(values=list(rows)), title=title, width=WIDTH, height=HEIGHT)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=x),
            y=alt.Y("value:Q", title=y, scale=alt.Scale(zero=False)),
            color=colour(kind, colours),
            tooltip=[f"{kind}:N", alt.Tooltip("x:Q", title=x), alt.Tooltip("value:Q", format=".4f")],
        )
    )


def colour(kind: str = "kind", colours: alt.Scale | None = None) -> alt.Color:
    """A colour for each kind, explained below the chart."""
    legend = alt.Legend(orient="bottom", columns=3 if colours is METHOD_COLOURS else 2, labelLimit=260)
    return alt.Color(f"{kind}:N", title=None, sort=None, legend=legend, scale=colours or alt.Scale(scheme="tableau10"))


def long(rows: Sequence[dict[str, Any]], names: dict[str, str], x: str = "step") -> list[dict[str, Any]]:
    """A row for each named column, without what is not known."""
    return [
        {"x": row[x], "kind": name, "value": row[column]}
        for row in rows
        for column, name in names.items()
        if row.get(column) is not None
    ]
