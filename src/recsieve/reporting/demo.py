"""The demo's runs, compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.reporting.charts import loss_chart, loss_panels, write_chart
from recsieve.reporting.choice import choice_lines
from recsieve.reporting.page import Section, write_page

METRICS = {
    "recall@20": "Recall@20",
    "ndcg@20": "NDCG@20",
    "ndcg@50": "NDCG@50",
    "false_positives_recommended@20": "false positives recommended @20",
}
NOISE = (
    "False positives recommended @20 is the share of a user's held-out regretted items that are in the top 20; lower "
    "is better."
)


def comparison_rows(runs: dict[str, Path]) -> tuple[Sequence[str], list[list[Any]]]:
    """A row of test metrics for each run."""
    rows: list[list[Any]] = []
    for name, folder in runs.items():
        results = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        values = [results["test"].get(metric) for metric in METRICS]
        rows.append([name, *values])
    return ("run", *METRICS.values()), rows


def choice_of(folder: Path) -> list[str]:
    """What `auto` chose and why, in sentences."""
    return choice_lines(json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["choice"])


def best_of(rows: Sequence[Sequence[Any]]) -> str:
    """The best run, in a sentence."""
    name, recall, *_ = max(rows, key=lambda row: row[1])
    return f"{name} is best here: {100 * recall:.1f} % of the items that users went on to like are in their top 20."


def write_demo_page(path: Path, runs: dict[str, Path]) -> Path:
    """Write the comparison and the training curves on one page."""
    header, rows = comparison_rows(runs)
    histories = {name: pl.read_parquet(folder / "history.parquet", glob=False) for name, folder in runs.items()}
    histories = {name: history for name, history in histories.items() if "true_positive_loss" in history.columns}
    about_noise = [
        NOISE,
        "auto knows for 5 % of the clicks whether they were regretted, and chooses on validation data.",
        "The shop is simulated and there is one run of each, so this is not evidence. T-CE gains nearly as much in "
        "this shop without any noise, so better lists do not show that noise was found. Use `recsieve compare`, "
        "which has the necessary controls, to see whether denoising helps on your data.",
    ]
    write_chart(loss_chart(histories), path.with_name("losses.png"))
    about_losses = [
        "The loss of true and false positives (orange) during training. The strategies use the gap between the two, "
        "without being told which is which."
    ]
    sections = [
        Section("Which recommends best?", about_noise, header, rows, lead=best_of(rows)),
        Section("What did auto choose?", choice_of(runs["auto"])),
        Section("Are false positives harder to fit?", about_losses, panels=loss_panels(histories)),
    ]
    write_page(path, "recsieve demo", "a simulated shop, tested on true positives", sections)
    return path
