"""Figure 5: the loss and the weights of R-CE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from research.paper.reports.marks import HEIGHT, WIDTH
from research.paper.reports.report import Figure, Report

ABOUT = "For an observed interaction: ŷ^β·CE and ŷ^β. β = 0 is plain cross-entropy. For a negative, replace ŷ by 1 − ŷ."


def report(result: Mapping[str, Any]) -> Report:
    charts = {
        "loss": _chart(result["curves"], "loss", "R-CE loss"),
        "weight": _chart(result["curves"], "weight", "weight ω"),
    }
    return Report([], [Figure("Loss and weight", charts, [ABOUT])])


def _chart(curves: list[dict[str, Any]], column: str, title: str) -> alt.Chart:
    rows = [{"ŷ": row["predicted"], "β": f"β = {row['beta']:g}", "value": row[column]} for row in curves]
    return (
        alt.Chart(alt.Data(values=rows), title=title, width=WIDTH, height=HEIGHT)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("ŷ:Q", title="predicted ŷ"),
            y=alt.Y("value:Q", title=title),
            color=alt.Color("β:N", title=None, sort=None, scale=alt.Scale(scheme="viridis"), legend=alt.Legend()),
        )
    )
