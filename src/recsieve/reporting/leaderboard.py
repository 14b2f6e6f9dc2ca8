"""The leaderboard as a page with filters and charts, from the result files of its cells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from recsieve.errors import DataError
from recsieve.reporting.charts import fluid
from recsieve.reporting.colours import CLEAN, QUIET, STRATEGIES, VERDICTS, scale
from recsieve.reporting.comparison_charts import effect_layers
from recsieve.reporting.comparison_tables import beats, judged_cells
from recsieve.reporting.page import Section, write_page

Result = Mapping[str, Any]
Row = Mapping[str, Any]

LEVELS = {"ease": "EASE", "ials": "iALS", "popularity": "popularity"}
PLAIN, BEST = "this model, plain", "this model, best strategy"
LEVEL_COLOURS = {
    PLAIN: QUIET, BEST: STRATEGIES["T-CE"], "EASE": STRATEGIES["R-CE"], "iALS": STRATEGIES["auto"],
    "popularity": STRATEGIES["least popular drop"],
}  # fmt: skip
HEADER = ("data", "model", "noise", "strategy", "verdict", "change", "95 % interval", "score", "beats popularity",
          "beats the best plain model", "time of an epoch", "epochs")  # fmt: skip
MADE = ("cell", "users", "items", "training interactions", "trials", "seeds", "most epochs", "date", "command")


def read_cells(folder: Path) -> list[dict[str, Any]]:
    """The results of `recsieve leaderboard` in a folder, by the name of their files."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    cells = [result for result in found if isinstance(result, dict) and "cell" in result]
    if not cells:
        raise DataError(f"{folder} holds no result of a leaderboard: give the --results of `recsieve leaderboard`.")
    return cells


def write_leaderboard_page(cells: Sequence[Result], path: Path) -> Path:
    """Write all cells as one page."""
    entries = [entry for result in cells for entry in _entries(result)]
    metric = cells[0]["config"]["metric"]
    data = {
        "entries": entries,
        "levels": [level for result in cells for level in _levels(result)],
        "filters": {name: list(dict.fromkeys(_filtered(entries, name))) for name in ("data", "model", "strategy")},
        "noise": list(dict.fromkeys(entry["noise"] for entry in entries)),
        "charts": _charts(metric),
    }
    sections = [
        Section(
            "All numbers",
            [
                f"The score is {metric}, the mean over seeds on clean test data. A strategy beats popularity if it is "
                "better than dropping the interactions with the least popular items. The best plain model is the one "
                "with the best validation score without denoising. The time of an epoch is a multiple of plain "
                "training, in CPU time with validation. Click a column to sort."
            ],
            HEADER,
            [row for result in cells for row in _table_rows(result)],
        ),
        Section("How this was run", header=MADE, rows=[_provenance(result) for result in cells]),
    ]
    title = "Which denoising strategies work?"
    write_page(path, title, _subtitle(cells, entries), sections, template="leaderboard.html", data=data)
    return path


def _subtitle(cells: Sequence[Result], entries: Sequence[Row]) -> str:
    counts = {
        "strategy": len(set(_filtered(entries, "strategy"))),
        "model": len({result["cell"]["model"] for result in cells}),
        "data set": len({result["cell"]["data"] for result in cells}),
    }
    plural = {"strategy": "strategies"}
    told = [f"{n} {name if n == 1 else plural.get(name, f'{name}s')}" for name, n in counts.items()]
    return f"recsieve leaderboard: {', '.join(told)}; last result {max(result['date'][:10] for result in cells)}"


def _filtered(entries: Sequence[Row], name: str) -> list[str]:
    """What there is to filter by; controls are no strategies."""
    return [entry[name] for entry in entries if name != "strategy" or entry["role"] == "strategy"]


def _judged_rows(result: Result) -> list[Row]:
    return [row for row in result["rows"] if "against_baseline" in row]


def _entries(result: Result) -> list[dict[str, Any]]:
    """What the charts and the sentences need of each strategy and control of a cell."""
    metric, baseline = result["config"]["metric"], _baseline(result)
    return [
        {
            **_where(result),
            "strategy": row["strategy"],
            "role": row["role"],
            "change": 100 * judged["relative"],
            "low": 100 * judged["interval"][0],
            "high": 100 * judged["interval"][1],
            "smallest": 100 * judged["smallest_detectable"],
            "verdict": judged["verdict"],
            "beats": row.get("against_popularity", {}).get("verdict") == "better",
            "score": row["metrics"][metric]["mean"],
            "cost": _cost(row, baseline),
        }
        for row in _judged_rows(result)
        for judged in [row["against_baseline"]]
    ]


def _where(result: Result) -> dict[str, str]:
    cell = result["cell"]
    natural = _baseline(result)["noise"] == "natural"
    return {
        "data": cell["data"],
        "model": cell["model"],
        "cell": f"{cell['data']}, {cell['model']}",
        "noise": "natural" if natural else "injected",
    }


def _baseline(result: Result) -> Row:
    return next(row for row in result["rows"] if row["role"] == "baseline")


def _levels(result: Result) -> list[dict[str, Any]]:
    """The scores of the model with and without its best strategy, and of strong plain models."""
    metric, rows = result["config"]["metric"], result["rows"]

    def score(row: Row) -> float:
        return float(row["metrics"][metric]["mean"])

    own = score(_baseline(result))
    found = {
        LEVELS[row["model"]]: score(row) for row in rows if row["role"] == "plain model" and row["model"] in LEVELS
    }
    best = max((row for row in rows if row["role"] == "strategy"), key=score, default=None)
    own_name = LEVELS.get(_baseline(result)["model"])
    found |= {PLAIN: own} | ({} if best is None else {BEST: score(best)}) | ({own_name: own} if own_name else {})
    return [
        {**_where(result), "what": what, "score": found[what], "strategy": best["strategy"] if best else ""}
        for what in LEVEL_COLOURS
        if what in found
    ]


def _cost(row: Row, baseline: Row) -> float | None:
    own, plain = (one["cpu_seconds_per_epoch"]["mean"] for one in (row, baseline))
    return own / plain if own and plain else None


def _table_rows(result: Result) -> list[list[Any]]:
    where, metric = _where(result), result["config"]["metric"]
    noise = _baseline(result)["noise"]
    return [
        [
            where["data"], where["model"], noise, row["strategy"], *judged_cells(row), row["metrics"][metric]["mean"],
            beats(row, "against_popularity"), beats(row, "against_best_plain"),
            "–" if cost is None else f"{cost:.1f} ×", round(row["epoch_selected"]["mean"]),
        ]
        for row in _judged_rows(result)
        for cost in [_cost(row, _baseline(result))]
    ]  # fmt: skip


def _provenance(result: Result) -> list[Any]:
    config, facts = result["config"], next(iter(result["data"].values()))
    size = [facts["users"], facts["items"], facts["interactions"]]
    made = [result["trials"], config["seeds"], config["epochs"]]
    return [_where(result)["cell"], *size, *made, result["date"][:10], result["command"]]


def _charts(metric: str) -> dict[str, Any]:
    """Vega-Lite without values and height: the page adds what its filters let through."""
    charts = {
        "overview": _overview(metric),
        "effects": effect_layers(_values(), metric, "name"),
        "levels": _level_chart(metric),
        "cost": _cost_chart(),
    }
    return {name: fluid(chart) for name, chart in charts.items()}


def _values() -> alt.NamedData:
    return alt.NamedData("values")


def _name() -> alt.Y:
    return alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=170))


def _overview(metric: str) -> Any:
    """A point for each cell."""
    points = (
        alt.Chart(_values())
        .mark_point(filled=True, size=80, opacity=0.75)
        .encode(
            x=alt.X("change:Q", title=f"change of {metric}, %"),
            y=_name(),
            color=alt.Color("verdict:N", title=None, scale=scale(VERDICTS), legend=alt.Legend(orient="bottom")),
            tooltip=["strategy:N", "cell:N", "noise:N", "verdict:N", alt.Tooltip("change:Q", format="+.1f")],
        )
    )
    return alt.layer(_rule(0), points).properties(title="Gain over plain training")


def _rule(place: float) -> Any:
    return alt.Chart(alt.Data(values=[{"x": place}])).mark_rule(strokeDash=[4, 4], color=QUIET).encode(x="x:Q")


def _level_chart(metric: str) -> Any:
    shapes = alt.Scale(domain=list(LEVEL_COLOURS), range=["circle", "circle", "square", "diamond", "triangle-up"])
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=240)
    return (
        alt.Chart(_values())
        .mark_point(filled=True, size=90, opacity=0.9)
        .encode(
            x=alt.X("score:Q", title=metric, scale=alt.Scale(zero=False)),
            y=_name(),
            color=alt.Color("what:N", title=None, scale=scale(LEVEL_COLOURS), legend=legend),
            shape=alt.Shape("what:N", title=None, scale=shapes, legend=legend),
            tooltip=["cell:N", "what:N", alt.Tooltip("score:Q", format=".4f")],
        )
    )


def _cost_chart() -> Any:
    points = (
        alt.Chart(_values())
        .mark_point(filled=True, size=80, opacity=0.75, color=CLEAN)
        .encode(
            x=alt.X("cost:Q", title="× plain training"),
            y=_name(),
            tooltip=["strategy:N", "cell:N", alt.Tooltip("cost:Q", format=".2f")],
        )
    )
    return alt.layer(_rule(1), points).properties(title="Cost in time")
