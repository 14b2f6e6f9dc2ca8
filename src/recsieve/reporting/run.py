"""One run on a page."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from recsieve.reporting.charts import loss_chart
from recsieve.reporting.choice import HEADER, choice_lines, choice_rows
from recsieve.reporting.page import Section, write_page


def write_run_page(folder: Path) -> Path:
    """Write report.html into a run folder, from its metrics and its history."""
    results = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    history = pl.read_parquet(folder / "history.parquet")
    test = results["test"]
    names = list(dict.fromkeys(name.partition("@")[0] for name in test))
    lengths = sorted({int(name.partition("@")[2]) for name in test})
    rows = [[name.replace("_", " "), *(test.get(f"{name}@{k}") for k in lengths)] for name in names]
    about = [f"Full ranking for {results['test_users']:,} users, over all items they had not seen."]
    kept = [f"The weights kept are those after epoch {results['selected']['epoch']:.0f}."]
    sections = [Section("Test", about, ("metric", *(f"@{k}" for k in lengths)), rows)]
    if len(history):  # a closed form has none
        chart = loss_chart({"cross-entropy": history}).to_dict()
        sections.append(Section("The course of the training", kept, chart=chart))
    if choice := results.get("choice"):
        sections.insert(1, Section("The choice", choice_lines(choice), HEADER, choice_rows(choice)))
    write_page(folder / "report.html", folder.name, "one training run", sections)
    return folder / "report.html"
