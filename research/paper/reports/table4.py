"""Table 4 beside the published one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from research.paper.published import CUTOFFS, TABLE4, TABLE4_DATA
from research.paper.reports.report import SELECTIONS, Report, Table, cell_name
from research.paper.reports.table3 import improvement_sentences, measured_table

ABOUT = (
    "NMTR and NR are re-implementations: the paper gives neither their settings nor those of their tuning. NMTR "
    "predicts the click and from its logit the satisfaction, over shared vectors, with both losses counting half. NR "
    "learns known false positives as negatives; its weight is what such a one counts beside a true positive. Both see "
    "more than the others do. But which items are regretted, what they are told most about, the clean test does not "
    "ask; and a regretted interaction still tells what somebody is interested in, which they unlearn."
)


TOLD = ("NMTR", "NR")


def report(result: Mapping[str, Any]) -> Report:
    first = result["options"]["select_by"]
    ordered = sorted(SELECTIONS, key=lambda select_by: select_by != first)
    return Report(
        [
            sentence
            for entry in result["data_sets"]
            for row, sentence in zip(
                entry["improvement"], improvement_sentences(entry, f"on {TABLE4_DATA}"), strict=True
            )
            if row["method"].startswith(TOLD)  # the others are in Table 3
        ],
        [*(measured_table(entry, select_by) for select_by in ordered for entry in result["data_sets"]), _published()],
    )


def _published() -> Table:
    header = ("", *(f"{metric}@{k}" for metric in "RN" for k in CUTOFFS[TABLE4_DATA]))
    rows = [[cell_name("gmf", method), *(f"{value:.4f}" for value in values)] for method, values in TABLE4.items()]
    return Table(f"Published, {TABLE4_DATA}", header, rows, [ABOUT])
