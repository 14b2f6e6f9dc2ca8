"""The numbers of a comparison as rows, for a terminal and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recsieve.experiments.wording import percent

Row = Mapping[str, Any]
Table = tuple[list[str], list[list[Any]]]  # a header and rows

MORE = {"recall@20": "Recall@20", "recall@50": "Recall@50", "false_positives_recommended@20": "noise shown @20",
        "coverage@20": "coverage @20"}  # fmt: skip
PLAIN = "plain model"  # the role of models that are there to be held against
GROUPS = ("head items", "tail items", "low activity", "medium activity", "high activity")
BEATEN = {"better": "yes", "worse": "worse", "no difference found": "not shown"}


def summary_rows(result: Mapping[str, Any]) -> Table:
    """A row for each strategy, narrow enough for a terminal: the verdict, the change, and the metric."""
    metric, where = result["config"]["metric"], _where(result["rows"])
    header = [*where, "strategy", "verdict", "change", "95 % interval", metric]
    return header, [
        [*_start(row, where), *judged_cells(row), mean_and_spread(row["metrics"][metric])] for row in result["rows"]
    ]


def terminal_rows(result: Mapping[str, Any]) -> Table:
    """The summary in 80 columns: a plain model is its own strategy, and percent signs are in the header."""
    metric, rows = result["config"]["metric"], result["rows"]
    models = {row["model"] for row in rows if row["role"] != PLAIN}
    where = [*(["noise"] if "noise" in _where(rows) else []), *(["model"] if len(models) > 1 else [])]
    header = [*where, "strategy", "verdict", "change, %", "95 % interval", metric]
    return header, [
        [
            *(row[name] for name in where),
            row["model"] if row["role"] == PLAIN else row["strategy"],
            *(cell.replace("\u00a0%", "") for cell in judged_cells(row)),
            mean_and_spread(row["metrics"][metric]).replace("\u00a0", ""),
        ]
        for row in rows
    ]


def full_rows(result: Mapping[str, Any]) -> Table:
    """The summary with all other measures."""
    header, rows = summary_rows(result)
    known = [name for name in MORE if name in result["rows"][0]["metrics"]]
    header += [
        "beats popularity",
        "beats the best plain model",
        "p",
        *(MORE[name] for name in known),
        "epoch kept",
        "seconds",
    ]
    for row, cells in zip(result["rows"], rows, strict=True):
        judged = row.get("against_baseline")
        measures = [row["metrics"][name]["mean"] for name in known]
        p_value = None if judged is None else judged["adjusted_p"]
        cells += [beats(row, "against_popularity"), beats(row, "against_best_plain"), p_value, *measures]
        cells += [round(row["epoch_selected"]["mean"]), round(row["seconds"]["mean"])]
    return header, rows


def detection_rows(rows: Sequence[Row]) -> Table:
    """How well each score finds known noise, overall and by group, at the epoch closest to the selected one."""
    where = _where(rows)
    header = [*where, "strategy", "by", "ROC AUC", "average precision", "share selected", "precision", "recall",
              *(f"AUC, {name}" for name in GROUPS)]  # fmt: skip
    return header, [
        [*_start(row, where), "dropped or given less weight" if score == "weight" else score, *_found(groups)]
        for row in rows
        for score, groups in row["detection"].items()
        if score == "weight" or row["role"] == "baseline"
    ]


def mean_and_spread(value: Mapping[str, float]) -> str:
    """A mean over seeds and its standard deviation."""
    return f"{value['mean']:.4f}\u00a0±\u00a0{value['sd']:.4f}"


def _where(rows: Sequence[Row]) -> list[str]:
    """What tells rows apart beside the strategy."""
    return [name for name in ("noise", "model") if len({row[name] for row in rows}) > 1]


def _start(row: Row, where: Sequence[str]) -> list[str]:
    return [*(row[name] for name in where), row["strategy"]]


def judged_cells(row: Row) -> list[str]:
    """The verdict compared with plain training, the change and its interval."""
    if "against_baseline" not in row:
        best = "best " if row.get("best_plain") else ""
        return [f"({best}plain model)" if row["role"] == PLAIN else "(baseline)", "", ""]
    judged = row["against_baseline"]
    low, high = (percent(bound) for bound in judged["interval"])
    interval = low.removesuffix("\u00a0%") + f"\u00a0…\u00a0{high}"
    return [judged["verdict"].removesuffix(" found"), percent(judged["relative"]), interval]


def beats(row: Row, kind: str) -> str:
    """Whether a strategy is better than a control or a plain model, and by how much."""
    judged = row.get(kind)
    return "–" if judged is None else f"{BEATEN[judged['verdict']]} ({percent(judged['relative'])})"


def _found(groups: Mapping[str, Mapping[str, float]]) -> list[float | None]:
    everything = groups["all"]
    measures = [everything[name] for name in ("roc_auc", "average_precision", "selected", "precision", "recall")]
    return [*measures, *(groups.get(name, {}).get("roc_auc") for name in GROUPS)]
