"""Figure 6: user groups by sparsity, users as bars and metrics as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from research.paper.reports.marks import HEIGHT, METHOD_COLOURS, WIDTH, colour
from research.paper.reports.report import SELECTIONS, Figure, Report, cell_name, metric_name, model_name, percent

ABOUT = (
    "Test users in four groups by their number of training interactions, least active users on the left. Each group "
    "has the same total number of interactions. Bars: users. Lines: the metric, mean over the seeds, selected by {by}."
)


FEWEST = 100  # users of a group: the mean over fewer says little


def report(result: Mapping[str, Any]) -> Report:
    select_by = result["options"]["select_by"]
    charts, found = {}, []
    for entry in result["data_sets"]:
        rows = [row for row in entry["groups"] if row["select_by"] == select_by]
        for model in dict.fromkeys(row["model"] for row in rows):
            of_model = [row for row in rows if row["model"] == model]
            for metric in (entry["metrics"][0], entry["metrics"][2]):
                name = f"{entry['data']['name']}-{model}-{metric}"
                charts[name] = _chart(of_model, metric, f"{entry['data']['name']}, {model_name(model)}")
            found += [
                sentence
                for by in SELECTIONS
                for sentence in _sentences(
                    entry["data"]["name"], _of(entry, model, by), entry["metrics"][2], SELECTIONS[by]
                )
            ]
    return Report(found, [Figure("Groups of users", charts, [ABOUT.format(by=select_by)])])


def _of(entry: Mapping[str, Any], model: str, select_by: str) -> list[Mapping[str, Any]]:
    return [row for row in entry["groups"] if (row["model"], row["select_by"]) == (model, select_by)]


def _chart(rows: Sequence[Mapping[str, Any]], metric: str, title: str) -> Any:
    values = [
        {
            "group": f"≤ {row['most_interactions']:,}",
            "users": row["users"],
            "method": row["method"],
            "value": row[metric]["mean"],
        }
        for row in rows
    ]
    x = alt.X("group:N", sort=None, title="interactions of a user", axis=alt.Axis(labelAngle=0))
    bars = (
        alt.Chart(alt.Data(values=[value for value in values if value["method"] == rows[0]["method"]]))
        .mark_bar(color="#bab0ac", opacity=0.6)
        .encode(x=x, y=alt.Y("users:Q", title="users"))
    )
    y = alt.Y("value:Q", title=metric_name(metric), scale=alt.Scale(zero=False), axis=alt.Axis(orient="right"))
    lines = (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=True, strokeWidth=2)
        .encode(x=x, y=y, color=colour("method", METHOD_COLOURS))
    )
    return alt.layer(bars, lines).resolve_scale(y="independent").properties(width=WIDTH, height=HEIGHT, title=title)


def _sentences(data: str, rows: Sequence[Mapping[str, Any]], metric: str, selection: str) -> list[str]:
    plain = {row["group"]: row[metric]["mean"] for row in rows if row["method"] == "CE"}
    sentences = []
    for method in dict.fromkeys(row["method"] for row in rows if row["method"] != "CE"):
        told = ", ".join(
            f"– ({row['users']} users, too few)"
            if row["users"] < FEWEST
            else f"{percent(100 * (row[metric]['mean'] / plain[row['group']] - 1))} ({row['users']:,} users)"
            for row in rows
            if row["method"] == method
        )
        name = cell_name(rows[0]["model"], method)
        sentences.append(
            f"{data}, {name}, selected by {selection}: {metric_name(metric)} compared with CE, from the least active "
            f"group on: {told}."
        )
    return sentences
