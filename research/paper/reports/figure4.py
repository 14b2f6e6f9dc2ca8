"""Figure 4: the part of the loss that T-CE keeps, at several iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt

from research.paper.reports.report import Figure, Report, model_name

ABOUT = (
    "The cross-entropy of an observed interaction by its predicted probability. The shaded part is the loss that "
    "counts; losses above the dashed threshold τ(T) are truncated to 0. T-CE fixes how many interactions are dropped, "
    "and the threshold follows from that; it is shown as the mean over ten batches of each seed."
)


def report(result: Mapping[str, Any]) -> Report:
    pairs = [(entry, model) for entry in result["data_sets"] for model in entry["models"] if model["moments"]]
    charts = {f"{entry['data']['name']}-{model['model']}": _chart(entry, model) for entry, model in pairs}
    return Report(
        [_sentence(entry, model) for entry, model in pairs],
        [Figure("Effective loss", charts, [ABOUT])] if charts else [],
    )


def _chart(entry: Mapping[str, Any], model: Mapping[str, Any]) -> alt.HConcatChart:
    most = max(4.0, 1.15 * max(moment["threshold"] for moment in model["moments"]))
    panels = [_panel(moment, most) for moment in model["moments"]]
    return alt.hconcat(*panels, spacing=8).properties(
        title=f"{entry['data']['name']}, {model_name(model['model'])}+T-CE"
    )


def _panel(moment: Mapping[str, Any], most: float) -> Any:
    threshold = moment["threshold"]
    points = [{"predicted": p / 200, "loss": -math.log(p / 200)} for p in range(1, 201)]
    curve = alt.Chart(alt.Data(values=[point for point in points if point["loss"] <= most]))
    x = alt.X("predicted:Q", title="predicted ŷ", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("loss:Q", title="cross-entropy", scale=alt.Scale(domain=[0, most]))
    kept = curve.transform_filter(f"datum.loss <= {threshold}").mark_area(opacity=0.3, color="#4c78a8").encode(x=x, y=y)
    line = curve.mark_line(color="#4c78a8").encode(x=x, y=y)
    limit = alt.Chart(alt.Data(values=[{"loss": threshold}]))
    rule = limit.mark_rule(strokeDash=[5, 4], color="#e45756").encode(y="loss:Q")
    text = limit.mark_text(
        align="right", dx=72, dy=-6, color="#e45756", text=f"τ = {threshold:.2f}", fontSize=12
    ).encode(y="loss:Q")
    title = [f"iteration {moment['step']:,.0f}", f"drop rate {moment['drop_rate']:.3f}"]
    return alt.layer(kept, line, rule, text).properties(width=150, height=190, title=alt.Title(title, fontSize=11))


def _sentence(entry: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    first, last = model["moments"][0], model["moments"][-1]
    return (
        f"{entry['data']['name']}, {model_name(model['model'])}: the threshold goes from {first['threshold']:.2f} at "
        f"iteration {first['step']:,.0f} (drop rate {first['drop_rate']:.3f}) to {last['threshold']:.2f} at iteration "
        f"{last['step']:,.0f} (drop rate {last['drop_rate']:.3f})."
    )
