"""Table 2 beside the published one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from research.paper.published import TABLE2
from research.paper.reports.report import Report, Table

COUNTS = ("users", "items", "interactions", "false_positives")
HEADER = ("data", "#User", "#Item", "#Interaction", "#FP interaction")


def report(result: Mapping[str, Any]) -> Report:
    ours = [_row(entry) for entry in result["data_sets"]]
    theirs = [[name, *(f"{counts[count]:,}" for count in COUNTS)] for name, counts in TABLE2.items()]
    about = "Users and items are from the catalogue; interactions and false positives are from the training data."
    return Report([], [Table("Data", HEADER, ours, [about]), Table("Published", HEADER, theirs)])


def _row(entry: Mapping[str, Any]) -> list[str]:
    data = entry["data"]
    counts = data["catalogue"] | {count: data[count] for count in ("interactions", "false_positives")}
    beside = entry.get("published", {})
    told = [f"{counts[count] or 0:,}" + (f" ({beside[count]:,})" if beside else "") for count in COUNTS]
    return [data["name"], *told]
