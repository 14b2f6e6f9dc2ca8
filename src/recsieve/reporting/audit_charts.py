"""The charts of an audit: where the noise is, whether probabilities are calibrated, and one interaction's evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import altair as alt
import polars as pl

from recsieve.reporting.colours import CLEAN, NOISE, QUIET

HEIGHT = 220
MOST_DOTS = 400  # items or users in a chart
BAR, POINT, PURPLE, GREY, BAND = CLEAN, NOISE, "#7b61a8", QUIET, "#b9c3ce"
LOSSES = {
    "middle": "typical",
    "held_out": "this one, held out",
    "training": "this one, in training",
    "low": "the middle 50 % of all",
}
TITLES = {"popularity": "users who have the item", "activity": "items that the user has", "time": "time"}
UNITS = {1: (3e8, 1e10), 1e3: (3e11, 1e13), 1e6: (3e14, 1e16), 1e9: (3e17, 1e19)}  # parts of a second since 1970


def place_charts(where: Mapping[str, Sequence[Mapping[str, Any]]], score: str) -> list[Any]:
    """The mean score, and the noise among labels, by popularity, by activity and over time."""
    return [_groups(groups, TITLES[place], score, dated=place == "time") for place, groups in where.items()]


def _groups(groups: Sequence[Mapping[str, Any]], title: str, score: str, *, dated: bool) -> Any:
    names = _moments(groups) if dated else map(_span, groups)
    values = [{**group, "group": name} for group, name in zip(groups, names, strict=True)]
    tooltip = [
        alt.Tooltip("group:N", title=title), alt.Tooltip("interactions:Q", format=","),
        alt.Tooltip("mean_score:Q", format=".3f", title=f"mean {score}"),
    ]  # fmt: skip
    axis = alt.Axis(labelAngle=-45, labelOverlap=True)
    group = alt.X("group:N", sort=None, title=title, axis=axis)
    mean = alt.Y("mean_score:Q", title=f"mean {score}")
    bars = alt.Chart(alt.Data(values=values)).mark_bar(color=BAR, opacity=0.8).encode(x=group, y=mean, tooltip=tooltip)
    return alt.layer(bars, *_labels(values, group)).properties(title=f"By {title}", height=HEIGHT)


def _labels(values: Sequence[Mapping[str, Any]], group: alt.X) -> list[Any]:
    """The share of noise among the labels of each group, where there are any."""
    known = [{**value, "noise": value["regretted"] / value["labelled"]} for value in values if value["labelled"]]
    if not known:
        return []
    noise = alt.Tooltip("noise:Q", format=".3f", title="noise among labels")
    points = alt.Chart(alt.Data(values=known)).mark_point(filled=True, size=60, color=POINT, opacity=1)
    return [points.encode(x=group, y="noise:Q", tooltip=["group:N", alt.Tooltip("labelled:Q", format=","), noise])]


def _span(group: Mapping[str, Any]) -> str:
    """What a group of interactions ranges over."""
    return f"{group['low']:,}" if group["low"] == group["high"] else f"{group['low']:,}–{group['high']:,}"


def _moments(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """When each group begins, as briefly as tells them apart: bars of one name would be put on top of each other."""
    for format in ("%Y-%m-%d", "%Y-%m-%d %H:%M"):
        names = [moment(group["low"], format) for group in groups]
        if len(set(names)) == len(names):
            return names
    return [f"{group['low']:,}" for group in groups]


def moment(value: int, format: str = "%Y-%m-%d") -> str:
    """A time as a date if it counts from 1970 in a usual unit, else as a number."""
    parts = next((parts for parts, (low, high) in UNITS.items() if low <= value < high), None)
    return f"{value:,}" if parts is None else datetime.fromtimestamp(value / parts, UTC).strftime(format)


def group_chart(group: pl.DataFrame, name: str, score: str) -> Any:
    """Items or users by their number of interactions and mean score."""
    top = group.filter(pl.col("interactions") > 0).sort("interactions", descending=True).head(MOST_DOTS)
    values = top.select(pl.col(name).cast(pl.String), "interactions", pl.col("mean_score").round(4)).to_dicts()
    return (
        alt.Chart(alt.Data(values=values), title=f"{name.capitalize()}s", height=HEIGHT)
        .mark_circle(color=BAR, size=40, opacity=0.6)
        .encode(
            x=alt.X(
                "interactions:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(tickCount=5, labelOverlap=True)
            ),
            y=alt.Y("mean_score:Q", title=f"mean {score}", scale=alt.Scale(zero=False)),
            tooltip=[f"{name}:N", "interactions:Q", alt.Tooltip("mean_score:Q", title=f"mean {score}")],
        )
    )


def reliability_chart(curve: Sequence[Mapping[str, float]]) -> Any:
    """The observed share of noise by predicted probability."""
    top = max(max(entry["predicted"], entry["observed"]) for entry in curve)
    ends = alt.Data(values=[{"at": 0}, {"at": top}])
    line = alt.Chart(ends).mark_line(color=GREY, strokeDash=[4, 4]).encode(x="at:Q", y="at:Q")
    points = (
        alt.Chart(alt.Data(values=list(curve)))
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=60, color=BAR), color=BAR)
        .encode(
            x=alt.X("predicted:Q", title="predicted probability"),
            y=alt.Y("observed:Q", title="observed share of noise"),
            tooltip=[alt.Tooltip(f"{name}:Q", format=".3f") for name in ("predicted", "observed")] + ["n:Q"],
        )
    )
    return alt.layer(line, points).properties(title="Are the probabilities calibrated?", height=HEIGHT)


def dialog_charts() -> dict[str, Any]:
    """Charts of one interaction; the page fills in the values when it is opened."""
    return {"losses": _losses().to_dict(), "profile": _profile().to_dict()}


def _losses() -> Any:
    """One interaction's losses over the epochs beside typical ones."""
    epoch = alt.X("epoch:Q", title="epoch", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="d"))
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=300, symbolOpacity=1)
    scale = alt.Scale(domain=list(LOSSES.values()), range=[GREY, POINT, PURPLE, BAND])
    colour = alt.Color("kind:N", title=None, scale=scale, legend=legend)
    base = alt.Chart(alt.NamedData(name="values"), width="container", height=180).encode(x=epoch, color=colour)
    layers = [
        base.transform_calculate(kind=f"'{kind}'").mark_line(point=True).encode(y=alt.Y(f"{field}:Q", title="loss"))
        for field, kind in LOSSES.items()
        if field != "low"
    ]
    middle_half = base.transform_calculate(kind=f"'{LOSSES['low']}'").mark_area(opacity=0.3)
    return alt.layer(middle_half.encode(y=alt.Y("low:Q", title="loss"), y2="high:Q"), *layers)


def _profile() -> Any:
    """The scores of all interactions of a user; the bar with the one that is looked at stands out."""
    return (
        alt.Chart(alt.NamedData(name="values"), width="container", height=140)
        .mark_bar()
        .encode(
            x=alt.X("bin:O", title="score", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("interactions:Q", title="interactions of this user", axis=alt.Axis(tickMinStep=1)),
            color=alt.condition("datum.here", alt.value(POINT), alt.value(BAR)),
        )
    )
