"""Table 3 beside the published one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from research.paper.published import CUTOFFS, IMPROVEMENT, TABLE3
from research.paper.reports.report import (
    SELECTIONS,
    Report,
    Table,
    cell_name,
    metric_name,
    percent,
    plus_minus,
    selections_of,
)
from research.paper.reports.verdicts import both_selections, judged, told


def report(result: Mapping[str, Any]) -> Report:
    found = [
        sentence for entry in result["data_sets"] for sentence in improvement_sentences(entry, "over the paper's data")
    ]
    return Report(found, [*measured_tables(result), *published_tables()])


def measured_tables(result: Mapping[str, Any]) -> list[Table]:
    """The cells of each data set under each way to select."""
    return [measured_table(entry, by) for by in selections_of(result) for entry in result["data_sets"]]


def measured_table(entry: Mapping[str, Any], select_by: str) -> Table:
    """The cells of a data set, each with its improvement over CE and a verdict on it."""
    metrics, compared = entry["metrics"], entry["improvement"]
    gains = {(row["model"], row["method"]): row["ours"][select_by] for row in compared}
    verdicts = dict(zip(gains, map(told, judged(compared, select_by)), strict=True))
    rows = []
    for cell in entry["cells"]:
        values = [_value(cell, metric, select_by) for metric in metrics]
        gain = gains.get((cell["model"], cell["method"]))
        change = "" if gain is None else f"{percent(gain['mean'])} ± {gain['sd']:.2f}"
        epoch = f"{cell['chosen_epoch'][select_by]['mean']:.1f} of {cell['epochs']}"
        verdict = verdicts.get((cell["model"], cell["method"]), "")
        name, settings = cell_name(cell["model"], cell["method"]), hyperparameters(cell["hyperparameters"])
        rows.append([name, *values, change, verdict, epoch, cell.get("seeds", ""), settings])
    header = ("", *(metric_name(metric) for metric in metrics), "RI", "against CE", "epoch chosen", "seeds", "settings")
    return Table(f"{entry['data']['name']}, chosen by {SELECTIONS[select_by]}", header, rows, [entry["data"]["about"]])


def _value(cell: Mapping[str, Any], metric: str, select_by: str) -> str:
    beside = cell.get("published")
    return plus_minus(cell["ours"][select_by][metric]) + (f" ({beside[metric]:.4f})" if beside else "")


def hyperparameters(values: Mapping[str, Any]) -> str:
    """The settings of a cell, in the paper's symbols."""
    symbols = {"max_drop_rate": "ε_max", "ramp_steps": "ε_N", "beta": "β", "false_positive_weight": "weight"}
    return ", ".join(f"{symbols[name]} {value:,}" for name, value in values.items() if name in symbols)


def published_tables() -> list[Table]:
    """The paper's Table 3, a table for each of its data sets."""
    tables = []
    for data, models in TABLE3.items():
        header = ("", *(f"{metric}@{k}" for metric in "RN" for k in CUTOFFS[data]), "RI over all data")
        rows = [
            [cell_name(model, method), *(f"{value:.4f}" for value in values), _gain(model, method)]
            for model, methods in models.items()
            for method, values in methods.items()
        ]
        tables.append(Table(f"Published, {data}", header, rows))
    return tables


def _gain(model: str, method: str) -> str:
    return "" if method == "CE" else percent(IMPROVEMENT[model][method])


def improvement_sentences(entry: Mapping[str, Any], published_on: str) -> list[str]:
    """By how much each cell differs from CE under both selections, and what users and seeds can tell of it."""
    rows = entry["improvement"]
    verdicts = {by: judged(rows, by) for by in SELECTIONS}
    return [
        f"{entry['data']['name']}, {cell_name(row['model'], row['method'])}: RI over CE "
        f"{both_selections(row['ours'])}; {_verdicts([verdicts[by][place] for by in SELECTIONS])}; "
        f"published, {published_on}: {percent(row['published'])}."
        for place, row in enumerate(rows)
    ]


def _verdicts(found: list[dict[str, Any] | None]) -> str:
    both = list(dict.fromkeys(map(told, found)))
    return both[0] if len(both) == 1 else f"{both[0]} by the first, {both[1]} by the second"
