"""Table 4: GMF with the paper's strategies beside two that are told what was regretted, NMTR and NR."""

from __future__ import annotations

from typing import Any

from recsieve.errors import ConfigError
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.methods import Hyperparameters
from research.paper.runs import Options, Records, RunSpec, spec
from research.paper.table3 import improvement, judged_by, measured, metrics
from research.paper.verdicts import tested

MODEL = "gmf"
# The paper does not say how much a false positive weighs in NR: as much as a true one, and a tenth.
ROWS: dict[str, tuple[str, Hyperparameters]] = {
    **{method: (method, {}) for method in ("CE", "T-CE", "R-CE", "NMTR", "NR")},
    "NR, a tenth": ("NR", {"false_positive_weight": 0.1}),
}


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    """The runs of every row, seed by seed."""
    if options.models not in ((), (MODEL,)):
        raise ConfigError(
            f"Table 4 is about {MODEL} alone, but the models are {', '.join(options.models)}: leave them out."
        )
    if not data.split.train.has_flags:
        raise ConfigError(f"{data.name} does not say what was regretted, which NMTR and NR learn from: give a rule.")
    return [_run(data, options, row, seed) for seed in range(options.seeds) for row in ROWS]


def _run(data: DataSet, options: Options, row: str, seed: int) -> RunSpec:
    method, hyperparameters = ROWS[row]
    return spec(data, options, MODEL, method, seed).with_hyperparameters(**hyperparameters)


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """Every row under each way to select, with the improvement over CE, beside what was published."""
    seeds = {row: [_run(data, options, row, seed) for seed in range(options.seeds)] for row in ROWS}
    return {
        "metrics": metrics(data),
        "cells": [_cell(data, records, row, seeds[row]) for row in ROWS],
        "improvement": [
            {
                "model": MODEL,
                "method": row,
                "ours": improvement(data, records, seeds["CE"], seeds[row]),
                "tested": tested(records, seeds["CE"], seeds[row], judged_by(data)),
                "published": published.improvement(published.TABLE4, ROWS[row][0]),
            }
            for row in ROWS
            if row != "CE"
        ],
    }


def _cell(data: DataSet, records: Records, row: str, runs: list[RunSpec]) -> dict[str, Any]:
    cell = {"model": MODEL, "method": row, **measured(data, records, runs)}
    if data.is_papers and data.preset == published.TABLE4_DATA:
        cell["published"] = dict(zip(metrics(data), published.TABLE4[ROWS[row][0]], strict=True))
    return cell
