"""Table 1 beside the published one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from research.paper.published import TABLE1
from research.paper.reports.report import (
    NAMES,
    SELECTIONS,
    Report,
    Table,
    model_name,
    percent,
    plus_minus,
    selections_of,
)
from research.paper.reports.verdicts import judged, told

METRICS = ("recall@20", "ndcg@20")
ROWS = {"clean": "clean training", "CE": "normal training"}


def report(result: Mapping[str, Any]) -> Report:
    found = [sentence for entry in result["data_sets"] for sentence in _sentences(entry)]
    tables = [
        Table(f"Chosen by {SELECTIONS[by]}", ("data", "training", "Recall@20", "NDCG@20"), _rows(result, by))
        for by in selections_of(result)
    ]
    return Report(found, [*tables, _published()])


def _rows(result: Mapping[str, Any], select_by: str) -> list[list[str]]:
    rows = []
    for entry in result["data_sets"]:
        for model in entry["models"]:
            name = f"{entry['data']['name']}, {model_name(model['model'])}, {model['epochs']} epochs"
            ours = model["ours"][select_by]
            rows += [[name, title, *(plus_minus(ours[method][m]) for m in METRICS)] for method, title in ROWS.items()]
            rows.append([name, "#Drop", *(percent(ours["drop"][m], sign=False) for m in METRICS)])
    return rows


def _published() -> Table:
    rows = []
    for name, cells in TABLE1.items():
        rows += [[name, title, *(f"{value:.4f}" for value in cells[method])] for method, title in ROWS.items()]
        pairs = zip(cells["clean"], cells["CE"], strict=True)
        rows.append([name, "#Drop", *(percent(100 * (clean - normal) / clean, sign=False) for clean, normal in pairs)])
    return Table("Published, NeuMF", ("data", "training", "Recall@20", "NDCG@20"), rows)


def _sentences(entry: Mapping[str, Any]) -> list[str]:
    verdicts = {by: judged(entry["models"], by) for by in SELECTIONS}
    return [
        f"{entry['data']['name']}, {NAMES[model['model']]}, {steps_told(model)}: clean training changes NDCG@20 by "
        + " and ".join(
            f"{percent(clean_change(model, by))} by {title} ({told(verdicts[by][place])})"
            for by, title in SELECTIONS.items()
        )
        + "; the paper reports a loss of 3.9 and 8.8\u00a0% for normal training of NeuMF."
        for place, model in enumerate(entry["models"])
    ]


def steps_told(model: Mapping[str, Any]) -> str:
    """How long clean training was."""
    return "equal steps" if "steps" in model else "equal epochs, so clean training has fewer steps"


def clean_change(model: Mapping[str, Any], select_by: str) -> float:
    """By how many percent clean training changes NDCG@20 of normal training."""
    ours = model["ours"][select_by]
    return float(100 * (ours["clean"]["ndcg@20"]["mean"] / ours["CE"]["ndcg@20"]["mean"] - 1))
