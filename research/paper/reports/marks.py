"""Lines and colours that the paper's figures share."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import altair as alt

from recsieve.reporting.colours import KINDS, OTHERS, scale, strategy_colours

WIDTH, HEIGHT = 300, 210
METHOD_COLOURS = scale(strategy_colours(["CE", "T-CE", "R-CE"]))
LOSS_COLOURS = KINDS
LEAST_RANGE = 0.05  # of an axis: what differs by less is alike, and is drawn so


def line_chart(
    rows: Sequence[dict[str, Any]], *, title: str, x: str, y: str, colours: Mapping[str, str] | None = None
) -> alt.Chart:
    """Lines of `value` against `x`, coloured by their kind."""
    return (
        alt.Chart(alt.Data(values=list(rows)), title=title, width=WIDTH, height=HEIGHT)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=x),
            y=alt.Y("value:Q", title=y, scale=_scale([row["value"] for row in rows])),
            color=colour("kind", None if colours is None else _chosen(colours, {row["kind"] for row in rows})),
            tooltip=["kind:N", alt.Tooltip("x:Q", title=x), alt.Tooltip("value:Q", format=".4f")],
        )
    )


def _scale(values: Sequence[float]) -> alt.Scale:
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high - low >= LEAST_RANGE:
        return alt.Scale(zero=False)
    middle = (low + high) / 2
    return alt.Scale(domain=[middle - LEAST_RANGE / 2, middle + LEAST_RANGE / 2])


def _chosen(colours: Mapping[str, str], kinds: Container[str]) -> alt.Scale:
    """The colours of those kinds that are drawn, so that the legend names no other."""
    drawn = {kind: shade for kind, shade in colours.items() if kind in kinds}
    return alt.Scale(domain=list(drawn), range=list(drawn.values()))


def colour(kind: str = "kind", colours: alt.Scale | None = None) -> alt.Color:
    """A colour for each kind, explained below the chart."""
    legend = alt.Legend(orient="bottom", columns=3 if colours is METHOD_COLOURS else 2, labelLimit=260)
    return alt.Color(f"{kind}:N", title=None, sort=None, legend=legend, scale=colours or alt.Scale(range=list(OTHERS)))


def long(rows: Sequence[dict[str, Any]], names: dict[str, str], x: str = "step") -> list[dict[str, Any]]:
    """A row for each named column, without what is not known."""
    return [
        {"x": row[x], "kind": name, "value": row[column]}
        for row in rows
        for column, name in names.items()
        if row.get(column) is not None
    ]
