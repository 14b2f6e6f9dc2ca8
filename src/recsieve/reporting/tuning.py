"""The page of `tune`, from its tuning.json and table of trials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from recsieve.experiments.wording import shown
from recsieve.reporting import colours
from recsieve.reporting.charts import fluid, write_chart
from recsieve.reporting.page import Section, write_page

TITLES = {"drop_positives": "maximum share of positives dropped", "ramp_epochs": "epochs until the maximum",
          "beta": "power of the weights", "learning_rate": "learning rate"}  # fmt: skip
OTHERS = ("strategy", "trial", "state", "score")  # columns of a trial that are no options


_STATES = alt.Legend(orient="bottom", symbolFillColor=colours.QUIET, symbolStrokeColor=colours.QUIET)  # light or dark
_SPARSE = alt.Axis(labelOverlap="greedy", labelSeparation=10)  # ticks of a logarithmic axis crowd


def write_tuning_page(folder: Path) -> Path:
    """Write report.html next to the results of tuning, and each of its charts as PNG and SVG."""
    result = json.loads((folder / "tuning.json").read_text(encoding="utf-8"))
    trials = pl.read_parquet(folder / "tables" / "trials.parquet", glob=False)
    config = result["config"]
    panels = option_panels(trials, config["select_by"])
    for name, chart in panels.items():
        write_chart(chart, folder / "charts" / f"{name}.png")
    header, rows = best_rows(result)
    sections = [
        Section("Advice", lead=result["advice"][0], points=result["advice"][1:]),
        Section("Best trial of each strategy", [f"{config['trials']} trials of each strategy."], header, rows),
        Section(
            "Every trial",
            ["An option matters if its points rise or fall together. Trials stopped early are shown at their best."],
            panels=[fluid(chart) for chart in panels.values()],
        ),
        Section("How this was run", points=[f"Command: {result['command']}"]),
    ]
    subtitle = f"{config['model']}; {config['select_by']} on validation; {result['date'][:10]}"
    write_page(folder / "report.html", "Which options suit this data?", subtitle, sections)
    return folder / "report.html"


def best_rows(result: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The best trial of each strategy."""
    metric = result["config"]["select_by"]
    header = ["strategy", f"validation {metric}", "options", "epoch", "trials", "stopped early", "importance"]
    return header, [
        [
            entry["title"],
            entry["score"],
            ", ".join(f"{name} {shown(value)}" for name, value in _searched(entry).items()) or "–",
            round(entry["epoch"]),
            entry["trials"],
            entry["pruned"],
            ", ".join(f"{name} {100 * share:.0f} %" for name, share in entry["importance"].items()) or "–",
        ]
        for entry in result["strategies"]
    ]


def _searched(entry: Mapping[str, Any]) -> dict[str, Any]:
    rate = {name: entry[name] for name in ("learning_rate",) if name in entry}
    return {**entry["options"], **entry["model_options"], **rate}


def option_panels(trials: pl.DataFrame, metric: str) -> dict[str, Any]:
    """The validation score of each trial against each option."""
    panels = {}
    strategies = colours.scale(colours.strategy_colours(trials["strategy"]))
    for option in (name for name in trials.columns if name not in OTHERS):
        title = TITLES.get(option, option)
        known = trials.filter(pl.col(option).is_not_null(), pl.col("score").is_not_null())
        values = known.select(*OTHERS, value=option).to_dicts()
        kind = "Q" if trials[option].dtype.is_numeric() else "N"
        scale = alt.Scale(type="log", nice=False, padding=12) if kind == "Q" else alt.Scale()
        panels[option.replace(" ", "-")] = (
            alt.Chart(alt.Data(values=values), title=title, width=420, height=240)
            .mark_point(filled=True, size=60)
            .encode(
                x=alt.X(f"value:{kind}", title=title, scale=scale, axis=_SPARSE),
                y=alt.Y("score:Q", title=f"validation {metric}", scale=alt.Scale(zero=False)),
                color=alt.Color("strategy:N", title=None, scale=strategies, legend=alt.Legend(orient="bottom")),
                shape=alt.Shape("state:N", title=None, legend=_STATES),
                tooltip=[
                    "strategy:N",
                    "trial:Q",
                    "state:N",
                    f"value:{kind}",
                    alt.Tooltip("score:Q", format=".4f"),
                ],
            )
        )
    return panels
