"""Figure 8: metrics against each of the three hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from recsieve.reporting.colours import scale, strategy_colours
from research.paper.reports.marks import HEIGHT, colour
from research.paper.reports.report import Figure, Report, metric_name, model_name, percent

ABOUT = (
    "One hyperparameter varies and the others keep their presets. Bars are the standard deviation over the seeds, the "
    "dashed line is CE. Epochs are selected by {by}. The values of ε_N are the paper's; on other data they stand for "
    "the same share of the training."
)


def report(result: Mapping[str, Any]) -> Report:
    select_by = result["options"]["select_by"]
    charts, found = {}, []
    for entry in result["data_sets"]:
        metric = entry["metrics"][2]
        rows = [row for row in entry["rows"] if row["select_by"] == select_by]
        for model in dict.fromkeys(row["model"] for row in rows):
            plain = next(p for p in entry["plain"] if p["model"] == model and p["select_by"] == select_by)[metric]
            of_model = [row for row in rows if row["model"] == model]
            for number, hyperparameter in enumerate(dict.fromkeys(row["hyperparameter"] for row in of_model)):
                points = [row for row in of_model if row["hyperparameter"] == hyperparameter]
                title = f"{entry['data']['name']}, {model_name(model)}+{points[0]['method']}"
                charts[f"{entry['data']['name']}-{model}-{number + 1}"] = _chart(
                    points, plain, hyperparameter, metric, title
                )
                found.append(_sentence(title, points, plain, metric))
    return Report(found, [Figure("Sensitivity", charts, [ABOUT.format(by=select_by)])])


def _chart(
    rows: Sequence[Mapping[str, Any]], plain: Mapping[str, float], hyperparameter: str, metric: str, title: str
) -> Any:
    values = [
        {
            "at": f"{row['value']:g}",
            "value": row[metric]["mean"],
            "low": row[metric]["mean"] - row[metric]["sd"],
            "high": row[metric]["mean"] + row[metric]["sd"],
            "kind": row["method"],
        }
        for row in rows
    ]
    chart = alt.Chart(alt.Data(values=values))
    x = alt.X("at:N", sort=None, title=hyperparameter, axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title=metric_name(metric), scale=alt.Scale(zero=False))
    shades = colour(colours=scale(strategy_colours(["CE", rows[0]["method"]])))
    lines = chart.mark_line(point=True, strokeWidth=2).encode(x=x, y=y, color=shades)
    bars = chart.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("low:Q", title=metric_name(metric)), y2="high:Q")
    base = alt.Chart(alt.Data(values=[{"value": plain["mean"], "kind": "CE"}]))
    rule = base.mark_rule(strokeDash=[5, 4]).encode(y="value:Q", color=shades)
    return alt.layer(bars, lines, rule).properties(width=260, height=HEIGHT, title=title)


def _sentence(title: str, rows: Sequence[Mapping[str, Any]], plain: Mapping[str, float], metric: str) -> str:
    best = max(rows, key=lambda row: row[metric]["mean"])
    worst = min(rows, key=lambda row: row[metric]["mean"])
    told = [f"{row['value']:g} ({percent(100 * (row[metric]['mean'] / plain['mean'] - 1))})" for row in (best, worst)]
    name = rows[0]["hyperparameter"]
    return f"{title}: {metric_name(metric)} compared with CE is best at {name} = {told[0]} and worst at {told[1]}."
