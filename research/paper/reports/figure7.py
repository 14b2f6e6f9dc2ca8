"""Figure 7: the loss of false positives against the training loss, by strategy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from research.paper.reports.marks import LOSS_COLOURS, line_chart, long
from research.paper.reports.report import Figure, Report, cell_name

LOSSES = {
    "true_positive_loss": "true positives",
    "false_positive_loss": "false positives",
    "loss": "training loss",
}
ABOUT = (
    "The cross-entropy of false positives before weighting, and the loss that was minimised (weighted, positives and "
    "negatives together). The paper draws these two. We add the true positives: a strategy that only affects false "
    "positives would not change their loss."
)


def report(result: Mapping[str, Any]) -> Report:
    figures, found = [], []
    for entry in result["data_sets"]:
        data = entry["data"]["name"]
        charts = {
            f"{data}-{panel['model']}-{panel['method']}": line_chart(
                long(panel["curve"], LOSSES), title=f"{data}, {cell_name(panel['model'], panel['method'])}",
                x="iteration", y="cross-entropy", colours=LOSS_COLOURS,
            )
            for panel in entry["panels"]
        }  # fmt: skip
        figures.append(Figure(data, charts, [ABOUT]))
        found += [_sentence(data, panel) for panel in entry["panels"]]
    return Report(found, figures)


def _sentence(data: str, panel: Mapping[str, Any]) -> str:
    known = [row for row in panel["curve"] if row["false_positive_loss"] is not None]
    lowest, last = min(row["false_positive_loss"] for row in known), known[-1]
    course = "and then rises to" if last["false_positive_loss"] > 1.1 * lowest else "and ends at"
    return (
        f"{data}, {cell_name(panel['model'], panel['method'])}: the loss of false positives falls to {lowest:.3f} "
        f"{course} {last['false_positive_loss']:.3f}, where that of true positives is {last['true_positive_loss']:.3f} "
        f"and the training loss {last['loss']:.3f}."
    )
