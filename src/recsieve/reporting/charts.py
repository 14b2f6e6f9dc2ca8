"""Charts for pages and for files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import altair as alt
import polars as pl

from recsieve.files import replacing
from recsieve.reporting import colours
from recsieve.reporting.colours import scale

KINDS = {"true_positive_loss": "true positives", "false_positive_loss": "false positives", "loss": "training loss"}

POINTS = 100  # of a line


def loss_chart(histories: dict[str, pl.DataFrame]) -> alt.HConcatChart:
    """The losses of true and false positives during each training, side by side (the paper's Figures 3 and 7)."""
    panels = [loss_lines(history).properties(title=name, width=230) for name, history in histories.items()]
    return alt.hconcat(*panels).resolve_scale(y="shared")


def loss_panels(histories: dict[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """The same for a page, which stacks them if there is no room."""
    known = [history[kind] for history in histories.values() for kind in KINDS if kind in history.columns]
    values = pl.concat(known).drop_nans().to_numpy()
    shared = alt.Y("value:Q", title="loss", scale=alt.Scale(domain=[float(values.min()), float(values.max())]))
    return [fluid(loss_lines(history).encode(y=shared).properties(title=name)) for name, history in histories.items()]


def loss_lines(history: pl.DataFrame) -> alt.Chart:
    """The losses of true and false positives during one training; false positives have the warning colour."""
    known = [kind for kind in KINDS if kind in history.columns]
    long = history.select("step", *known).unpivot(index="step", variable_name="kind", value_name="value")
    long = long.with_columns(pl.col("kind").replace(KINDS)).filter(pl.col("value").is_not_nan())
    width = max(1, history.height // POINTS)  # means of several batches: single ones are too noisy to read
    bins = pl.col("step").rank("dense") // width
    long = long.group_by("kind", bins.over("kind").alias("bin"), maintain_order=True).agg(
        pl.col("step", "value").mean()
    )
    drawn = {name: colour for name, colour in colours.KINDS.items() if name in long["kind"]}
    return (
        alt.Chart(alt.Data(values=long.to_dicts()), height=220)
        .mark_line()
        .encode(
            x=alt.X("step:Q", title="training step", axis=alt.Axis(labelOverlap="greedy", labelSeparation=12)),
            y=alt.Y("value:Q", title="loss", scale=alt.Scale(zero=False)),
            color=alt.Color("kind:N", title=None, scale=scale(drawn), legend=alt.Legend(orient="bottom")),
        )
    )


def fluid(chart: Any) -> dict[str, Any]:
    """A chart as wide as its place on a page."""
    return chart.properties(width="container").to_dict()


def write_chart(
    chart: alt.TopLevelMixin, path: Path, *, formats: Sequence[Literal["png", "svg"]] = ("png", "svg")
) -> None:
    """Write a chart as `path` with the extension of each format."""
    # An SVG is shown in the reader's font: where that is wider than the one measured here, labels need room to titles
    # and to the edge.
    chart = chart.configure_axis(titlePadding=12).properties(padding={"left": 24, "top": 5, "right": 5, "bottom": 5})
    for format in formats:
        with replacing(path.with_suffix(f".{format}")) as temporary:
            chart.save(str(temporary), format=format, scale_factor=2)
