"""Table 4: GMF with the paper's strategies beside two that are told what was regretted, NMTR and NR."""

from __future__ import annotations

from typing import Any

from recsieve.errors import ConfigError
from research.paper import published
from research.paper.methods import Hyperparameters
from research.paper.runs import RunSpec, Study
from research.paper.table3 import improvement, measured, metrics

MODEL = "gmf"
# The paper does not say how much a false positive weighs in NR: as much as a true one, and a tenth.
ROWS: dict[str, tuple[str, Hyperparameters]] = {
    **{method: (method, {}) for method in ("CE", "T-CE", "R-CE", "NMTR", "NR")},
    "NR, a tenth": ("NR", {"false_positive_weight": 0.1}),
}


def runs(study: Study) -> list[RunSpec]:
    """The runs of every row, seed by seed."""
    options, data = study.options, study.data
    if options.models not in ((), (MODEL,)):
        raise ConfigError(
            f"Table 4 is about {MODEL} alone, but the models are {', '.join(options.models)}: leave them out."
        )
    if not data.split.train.has_flags:
        raise ConfigError(f"{data.name} does not say what was regretted, which NMTR and NR learn from: give a rule.")
    return [run for of_seed in zip(*_rows(study).values(), strict=True) for run in of_seed]


def _rows(study: Study) -> dict[str, list[RunSpec]]:
    """The runs of each row, one for each seed."""
    return {
        row: [run.with_hyperparameters(**hyperparameters) for run in study.seeds(MODEL, method)]
        for row, (method, hyperparameters) in ROWS.items()
    }


def collect(study: Study) -> dict[str, Any]:
    """Every row under each way to select, with the improvement over CE, beside what was published."""
    rows = _rows(study)
    return {
        "metrics": metrics(study.data),
        "cells": [_cell(study, row, runs) for row, runs in rows.items()],
        "improvement": [
            {
                "model": MODEL,
                "method": row,
                **improvement(study, rows["CE"], runs),
                "published": published.improvement(published.TABLE4, ROWS[row][0]),
            }
            for row, runs in rows.items()
            if row != "CE"
        ],
    }


def _cell(study: Study, row: str, runs: list[RunSpec]) -> dict[str, Any]:
    cell = {"model": MODEL, "method": row, **measured(study, runs)}
    if study.data.is_papers and study.data.preset == published.TABLE4_DATA:
        cell["published"] = dict(zip(metrics(study.data), published.TABLE4[ROWS[row][0]], strict=True))
    return cell
