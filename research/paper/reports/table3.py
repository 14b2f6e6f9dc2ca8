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
)


def report(result: Mapping[str, Any]) -> Report:
    first = result["options"]["select_by"]
    ordered = sorted(SELECTIONS, key=lambda select_by: select_by != first)
    ours = [measured_table(entry, select_by) for select_by in ordered for entry in result["data_sets"]]
    return Report(
        [
            improvement_sentence(entry, row, first, "over the paper's data")
            for entry in result["data_sets"]
            for row in entry["improvement"]
        ],
        [*ours, *published_tables()],
    )


def measured_table(entry: Mapping[str, Any], select_by: str) -> Table:
    """The cells of a data set, each with its improvement over CE."""
    metrics = entry["metrics"]
    gains = {(row["model"], row["method"]): row["ours"][select_by] for row in entry["improvement"]}
    rows = []
    for cell in entry["cells"]:
        values = [_value(cell, metric, select_by) for metric in metrics]
        gain = gains.get((cell["model"], cell["method"]))
        told = "" if gain is None else f"{percent(gain['mean'])} ± {gain['sd']:.2f}"
        epoch = f"{cell['chosen_epoch'][select_by]['mean']:.1f} of {cell['epochs']}"
        rows.append(
            [cell_name(cell["model"], cell["method"]), *values, told, epoch, hyperparameters(cell["hyperparameters"])]
        )
    header = ("", *(metric_name(metric) for metric in metrics), "RI", "epoch chosen", "settings")
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


def improvement_sentence(entry: Mapping[str, Any], row: Mapping[str, Any], select_by: str, published_on: str) -> str:
    """By how much a cell differs from CE, and whether the seeds can tell."""
    gain = row["ours"][select_by]
    told = (
        "which one seed cannot tell from chance"
        if not gain["sd"]
        else "no difference that two standard deviations over the seeds would tell"
        if abs(gain["mean"]) <= 2 * gain["sd"]
        else ("better" if gain["mean"] > 0 else "worse")
    )
    return (
        f"{entry['data']['name']}, {cell_name(row['model'], row['method'])}: {percent(gain['mean'])} ± "
        f"{gain['sd']:.2f} over CE, {told}; published, {published_on}: {percent(row['published'])}."
    )
