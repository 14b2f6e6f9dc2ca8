"""What more time buys `auto`: a section of the page on it, and a chart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from research.docs.findings import table

Run = Mapping[str, Any]

KEPT = 4 / 3  # of the budget: what still counts as kept


def read_budgets(path: Path) -> list[dict[str, Any]]:
    """The runs of a result, the shortest first."""
    return json.loads(path.read_text(encoding="utf-8"))["runs"]


def budget_parts(runs: Sequence[Run]) -> list[str]:
    """The section."""
    late = [_time(run["budget"]) for run in runs if run["taken"] > KEPT * run["budget"]]
    kept = f"It took more than a third over {' and '.join(late)}" if late else "No run took a third over its time"
    return [
        "## What time buys",
        "ml-1m with 5 % labels and seed 0, all models, two cores with nothing else to do. Seconds are by the clock, "
        "from the first fit to the last refit (the choice, then the chosen on training and validation, then on the "
        f"whole log). {kept}. Not all of a budget need be used: no model is begun that would probably not be "
        "fitted in time, and some is kept back for offsets, blends and refits.",
        "These are second runs. The first took 24 s of 10 s and 36 s of 1 min, and both chose `ease` (0.3314 on the "
        "test). After that, estimates of time were set by fits on this same data and machine, looking for noise got a "
        "limit, and the plan another order. So this says little about how well time is kept on other data, and the "
        "gain from 10 s to 1 min is of a plan that was changed after its first test score was seen.",
        "![The test score by the time allowed](images/budget.svg)",
        table(
            ["budget", "seconds taken", "models fitted", "chosen", "NDCG@20 on the test"],
            [_row(run) for run in runs],
        ),
        "\n".join(f"- `{run['command']}`, {run['date'][:10]}" for run in runs),
    ]


def _row(run: Run) -> list[str]:
    numbers = [f"{run['taken']:.0f}", str(run["tried"]), run["chosen"]]
    return [_time(run["budget"]), *numbers, f"{run['level']:.4f}"]


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def budget_chart(runs: Sequence[Run]) -> alt.LayerChart:
    """The test score over the time taken, which is told by its budget."""
    points = [{"taken": run["taken"], "level": run["level"], "budget": _time(run["budget"])} for run in runs]
    base = alt.Chart(alt.Data(values=points), width=460, height=240).encode(
        x=alt.X("taken:Q", title="seconds taken", scale=alt.Scale(type="log", padding=30)),
        y=alt.Y("level:Q", title="NDCG@20 on the test", scale=alt.Scale(zero=False, padding=20)),
    )
    return base.mark_line(point=True) + base.mark_text(dy=-12).encode(text="budget:N")
