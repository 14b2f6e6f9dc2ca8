"""Table 4 beside the published one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from research.paper.published import CUTOFFS, TABLE4, TABLE4_DATA
from research.paper.reports.report import Report, Table, cell_name
from research.paper.reports.table3 import improvement_sentences, measured_tables

ABOUT = (
    "NMTR and NR are re-implementations, because the paper does not give their settings. NMTR predicts the click and, "
    "from its logit, satisfaction, with shared embeddings and the mean of both losses. NR trains on known false "
    "positives as negatives, with a weight relative to a true positive. Both see more information than the others. But "
    "it is mostly about which items are regretted, which the clean test does not measure. And a regretted interaction "
    "still shows what a user is interested in, which these models unlearn."
)


TOLD = ("NMTR", "NR")


def report(result: Mapping[str, Any]) -> Report:
    return Report(
        [
            sentence
            for entry in result["data_sets"]
            for row, sentence in zip(
                entry["improvement"], improvement_sentences(entry, f"on {TABLE4_DATA}"), strict=True
            )
            if row["method"].startswith(TOLD)  # the others are in Table 3
        ],
        [*measured_tables(result), _published()],
    )


def _published() -> Table:
    header = ("", *(f"{metric}@{k}" for metric in "RN" for k in CUTOFFS[TABLE4_DATA]))
    rows = [[cell_name("gmf", method), *(f"{value:.4f}" for value in values)] for method, values in TABLE4.items()]
    return Table(f"Published, {TABLE4_DATA}", header, rows, [ABOUT])
