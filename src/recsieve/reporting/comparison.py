"""The page of a comparison, from its comparison.json and tables alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recsieve.reporting.page import Section, write_page


def write_comparison_page(folder: Path) -> Path:
    """Write report.html beside a comparison's results."""
    result = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    header, rows = summary_rows(result)
    sections = [Section("What can be told apart", result["conclusions"]), Section("All numbers", (), header, rows)]
    write_page(folder / "report.html", "Does denoising help here?", result["date"], sections)
    return folder / "report.html"


def summary_rows(result: Mapping[str, Any]) -> tuple[Sequence[str], list[list[Any]]]:
    """A row for each strategy: the metric, the difference to plain CE, and the verdict."""
    metric = result["config"]["metric"]
    several_noises = len({row["noise"] for row in result["rows"]}) > 1
    header = [*(["noise"] if several_noises else []), "model", "strategy", metric, "±", "change", "95 % interval",
              "p (Holm)", "verdict"]  # fmt: skip
    rows = []
    for row in result["rows"]:
        value, judged = row["metrics"][metric], row.get("against_baseline")
        start = [*([row["noise"]] if several_noises else []), row["model"], row["strategy"]]
        rows.append([*start, value["mean"], value["sd"], *(_judged(judged) if judged else ["", "", None, "baseline"])])
    return header, rows


def _judged(judged: Mapping[str, Any]) -> list[Any]:
    low, high = judged["interval"]
    return [percent(judged["relative"]), f"{percent(low)} … {percent(high)}", judged["adjusted_p"], judged["verdict"]]


def percent(share: float) -> str:
    """A share as signed percent, with a true minus."""
    return f"{100 * share:+.1f} %".replace("-", "−")
