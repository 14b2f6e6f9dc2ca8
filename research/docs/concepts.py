"""The pictures of the pages on concepts.

python -m research.docs.concepts findings/audit docs/images/concepts
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import altair as alt

from recsieve.reporting.charts import write_chart
from recsieve.reporting.colours import CLEAN, NOISE, scale, strategy_colours

LOSSES = [step / 50 for step in range(251)]  # 0 to 5
CUT, BETA = 2.5, 0.2
RATE, RAMP, STEPS = 0.2, 30_000, 60_000  # the paper's for T-CE


def noise_chart(results: Path) -> Any:
    """How much of six public data sets was regretted."""
    shares = [
        {"data": path.stem, "noise": 100 * json.loads(path.read_text())["facts"]["false_positive_share"]}
        for path in sorted(results.glob("*.json"))
    ]
    base = alt.Chart(alt.Data(values=shares), width=420, height=180).encode(
        x=alt.X("noise:Q", title="known false positives, % of the log", scale=alt.Scale(domainMax=70)),
        y=alt.Y("data:N", title=None, sort="-x"),
    )
    return alt.layer(
        base.mark_bar(color=NOISE), base.mark_text(align="left", dx=4).encode(text=alt.Text("noise:Q", format=".1f"))
    )


def weight_chart() -> Any:
    """What a positive weighs in the loss by its own loss: CE, T-CE and R-CE."""
    weights = {
        "CE": lambda loss: 1.0,
        "T-CE": lambda loss: float(loss < CUT),
        "R-CE": lambda loss: 2.718281828 ** (-BETA * loss),
    }
    values = [
        {"loss": loss, "weight": weigh(loss), "strategy": name} for name, weigh in weights.items() for loss in LOSSES
    ]
    return (
        alt.Chart(alt.Data(values=values), width=420, height=220)
        .mark_line(interpolate="step-after", strokeWidth=3)
        .encode(
            x=alt.X("loss:Q", title="loss of an observed interaction"),
            y=alt.Y("weight:Q", title="its weight"),
            color=alt.Color("strategy:N", title=None, sort=None, scale=scale(strategy_colours(weights))),
        )
    )


def ramp_chart() -> Any:
    """The share that T-CE drops, growing over the first steps."""
    values = [{"step": step, "rate": 100 * RATE * min(1, step / RAMP)} for step in range(0, STEPS + 1, 500)]
    return (
        alt.Chart(alt.Data(values=values), width=420, height=180)
        .mark_area(color=CLEAN, opacity=0.6, line={"color": CLEAN})
        .encode(
            x=alt.X("step:Q", title="training step"),
            y=alt.Y("rate:Q", title="dropped, % of a batch", scale=alt.Scale(domainMax=30)),
        )
    )


def main(results: str, folder: str) -> None:
    """Write every picture as SVG."""
    charts = {"noise": noise_chart(Path(results)), "weights": weight_chart(), "ramp": ramp_chart()}
    for name, chart in charts.items():
        write_chart(chart, Path(folder) / f"{name}.svg", formats=("svg",))


if __name__ == "__main__":
    main(*sys.argv[1:])
