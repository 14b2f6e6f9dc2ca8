"""Table 3: models × strategies, with the settings behind the published cells or those that a sweep finds best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from recsieve.experiments.conclusions import spread
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.runs import (
    NDCG,
    SELECTIONS,
    VALIDATIONS,
    Options,
    Records,
    RunSpec,
    grid,
    spec,
)
from research.paper.verdicts import tested


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    """The runs of every cell; in a sweep those of the grids, and once these have ended those of the best settings."""
    if not options.sweep:
        return grid(data, options, published.MODELS, published.METHODS)
    models = options.models or published.MODELS
    tried = [
        run for model in models for method in published.METHODS for run in candidates(data, options, model, method)
    ]
    if not all(records.finished(run) for run in tried):
        return tried
    cells = product(models, published.METHODS)
    return tried + [run for model, method in cells for run in cell_runs(data, options, records, model, method)]


def candidates(data: DataSet, options: Options, model: str, method: str) -> list[RunSpec]:
    """The paper's search grid of a method, with one seed."""
    base = spec(data, options, model, method, seed=0)
    if method == "T-CE":
        pairs = product(published.DROP_RATES, published.RAMPS)
        return [
            base.with_hyperparameters(max_drop_rate=rate, ramp_steps=data.ramp(ramp, options.epochs))
            for rate, ramp in pairs
        ]
    return [base.with_hyperparameters(beta=beta) for beta in published.BETAS] if method == "R-CE" else [base]


def cell_runs(data: DataSet, options: Options, records: Records, model: str, method: str) -> list[RunSpec]:
    """The runs of a cell, one for each seed.

    The paper does not say by what its grids were searched. Here it is NDCG on validation, for the losses of different
    drop rates cannot be compared.
    """
    own = [spec(data, options, model, method, seed) for seed in range(options.seeds)]
    if not options.sweep:
        return own
    tried = candidates(data, options, model, method)
    best = max(tried, key=lambda run: records[run].frame(VALIDATIONS)[NDCG].to_numpy().max())
    return [run.with_hyperparameters(**dict(best.hyperparameters)) for run in own]


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """Every cell under each way to select, with the improvement over CE, beside what was published."""
    models = options.models or published.MODELS
    return {
        "metrics": metrics(data),
        "cells": [_cell(data, options, records, model, method) for model in models for method in published.METHODS],
        "improvement": [
            {"model": model, "method": method, **_improvement(data, options, records, model, method)}
            for model in models
            for method in published.METHODS[1:]
        ],
    }


def metrics(data: DataSet) -> list[str]:
    """Recall and NDCG at the two cutoffs of the data set."""
    return [f"{name}@{k}" for name in ("recall", "ndcg") for k in data.cutoffs]


def judged_by(data: DataSet) -> str:
    """The metric of verdicts: NDCG at the shorter of the two lists."""
    return f"ndcg@{data.cutoffs[0]}"


def _cell(data: DataSet, options: Options, records: Records, model: str, method: str) -> dict[str, Any]:
    runs = cell_runs(data, options, records, model, method)
    cell: dict[str, Any] = {"model": model, "method": method, **measured(data, records, runs)}
    if data.is_papers:
        cell["published"] = dict(zip(metrics(data), published.TABLE3[data.preset][model][method], strict=True))
    return cell


def measured(data: DataSet, records: Records, runs: Sequence[RunSpec]) -> dict[str, Any]:
    """What the runs of a cell gave under each way to select."""
    ended = [records[run] for run in runs]
    return {
        "epochs": runs[0].epochs,
        "seeds": len(runs),
        "hyperparameters": dict(runs[0].hyperparameters),
        "ours": {
            select_by: {metric: spread(run.test(select_by)[metric] for run in ended) for metric in metrics(data)}
            for select_by in SELECTIONS
        },
        "chosen_epoch": {
            select_by: spread(run.metrics["selected"][select_by] / run.metrics["steps_per_epoch"] for run in ended)
            for select_by in SELECTIONS
        },
        "seconds": spread(run.metrics["seconds"] for run in ended),
    }


def _improvement(data: DataSet, options: Options, records: Records, model: str, method: str) -> dict[str, Any]:
    plain, other = (cell_runs(data, options, records, model, name) for name in ("CE", method))
    return {
        "ours": improvement(data, records, plain, other),
        "tested": tested(records, plain, other, judged_by(data)),
        "published": published.IMPROVEMENT[model][method],
    }


def improvement(
    data: DataSet, records: Records, plain: Sequence[RunSpec], other: Sequence[RunSpec]
) -> dict[str, dict[str, float]]:
    """The mean relative change over the metrics, seed against seed, in percent, under each way to select."""

    def change(before: RunSpec, after: RunSpec, select_by: str) -> float:
        old, new = (records[run].test(select_by) for run in (before, after))
        return float(np.mean([100 * (new[metric] - old[metric]) / old[metric] for metric in metrics(data)]))

    return {
        select_by: spread(change(*pair, select_by) for pair in zip(plain, other, strict=True))
        for select_by in SELECTIONS
    }
