"""One run on a page."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from recsieve.display import metric_rows
from recsieve.reporting.charts import loss_chart
from recsieve.reporting.choice import HEADER, choice_lines, choice_rows
from recsieve.reporting.page import Section, write_page


def write_run_page(folder: Path) -> Path:
    """Write report.html into a run folder, from its metrics and its history."""
    results = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    history = pl.read_parquet(folder / "history.parquet", glob=False)
    choice = results.get("choice")
    about = [f"Full ranking for {results['test_users']:,} users, over all items they had not seen."]
    sections = [Section("Test", about, *metric_rows(results["test"]))]
    if choice is not None:
        sections.append(Section("The choice", choice_lines(choice), HEADER, choice_rows(choice)))
    if "positive_loss" in history.columns:  # what is not trained by gradients has no such course
        kept = [f"The weights kept are those after epoch {results['selected']['epoch']:.0f}."]
        sections.append(Section("The course of the training", kept, chart=loss_chart({"loss": history}).to_dict()))
    write_page(folder / "report.html", folder.name, "one training run", sections)
    return folder / "report.html"
