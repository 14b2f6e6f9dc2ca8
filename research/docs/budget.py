"""What more time buys `auto`: a section of the page on it, and a chart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from research.docs.markdown import table

Run = Mapping[str, Any]

KEPT = 4 / 3  # of the budget: what still counts as kept


def read_budgets(path: Path) -> list[dict[str, Any]]:
    """The runs of a result, the shortest first."""
    return json.loads(path.read_text(encoding="utf-8"))["runs"]


def budget_parts(runs: Sequence[Run]) -> list[str]:
    """The section."""
    late = [_time(run["budget"]) for run in runs if run["taken"] > KEPT * run["budget"]]
    kept = (
        f"The budget was exceeded by more than a third for {' and '.join(late)}"
        if late
        else "No run exceeded its budget by more than a third"
    )
    return [
        "## What a larger budget gives",
        "ml-1m with 5 % labels and seed 0, all models, on two idle cores. Seconds are wall-clock time from the first "
        "fit to the last refit (the choice, the refit on training and validation data, and the refit on the whole "
        f"log). {kept}. A run may use less than its budget: `auto` does not start a model that would probably not "
        "finish in time, and reserves some time for offsets, blends and refits.",
        "These are second runs. The first runs took 24 s with a budget of 10 s, and 36 s with one of 1 min, and both "
        "chose `ease` (0.3314 on the test). After that, we calibrated the time estimates with fits on this same data "
        "and machine, limited the time for noise estimation, and changed the order of the plan. So these runs say "
        "little about how well budgets are kept on other data, and the gain from 10 s to 1 min comes from a plan that "
        "was changed after its first test score was known.",
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
