"""Table 3: models × strategies, with the settings behind the published cells or those that a sweep finds best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from recsieve.experiments.conclusions import spread
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.runs import NDCG, SELECTIONS, VALIDATIONS, RunSpec, Study
from research.paper.verdicts import tested


def runs(study: Study) -> list[RunSpec]:
    """The runs of every cell; in a sweep those of the grids, and once these have ended those of the best settings."""
    if not study.options.sweep:
        return study.grid(published.MODELS, published.METHODS)
    cells = list(product(study.models(published.MODELS), published.METHODS))
    tried = [run for cell in cells for run in candidates(study, *cell)]
    if not all(study.finished(run) for run in tried):
        return tried
    return tried + [run for cell in cells for run in cell_runs(study, *cell)]


def candidates(study: Study, model: str, method: str) -> list[RunSpec]:
    """The paper's search grid of a method, with one seed."""
    base = study.seeds(model, method)[0]
    if method == "T-CE":
        pairs = product(published.DROP_RATES, published.RAMPS)
        return [
            base.with_hyperparameters(max_drop_rate=rate, ramp_steps=study.data.ramp(ramp, study.options.epochs))
            for rate, ramp in pairs
        ]
    return [base.with_hyperparameters(beta=beta) for beta in published.BETAS] if method == "R-CE" else [base]


def cell_runs(study: Study, model: str, method: str) -> list[RunSpec]:
    """The runs of a cell, one for each seed.

    The paper does not say by what its grids were searched. Here it is NDCG on validation, for the losses of different
    drop rates cannot be compared.
    """
    own = study.seeds(model, method)
    if not study.options.sweep:
        return own
    tried = candidates(study, model, method)
    best = max(tried, key=lambda run: study[run].frame(VALIDATIONS)[NDCG].to_numpy().max())
    return [run.with_hyperparameters(**dict(best.hyperparameters)) for run in own]


def collect(study: Study) -> dict[str, Any]:
    """Every cell under each way to select, with the improvement over CE, beside what was published."""
    models = study.models(published.MODELS)
    return {
        "metrics": metrics(study.data),
        "cells": [_cell(study, model, method) for model in models for method in published.METHODS],
        "improvement": [
            {
                "model": model,
                "method": method,
                **improvement(study, *(cell_runs(study, model, name) for name in ("CE", method))),
                "published": published.IMPROVEMENT[model][method],
            }
            for model in models
            for method in published.METHODS[1:]
        ],
    }


def metrics(data: DataSet) -> list[str]:
    """Recall and NDCG at the two cutoffs of the data set."""
    return [f"{name}@{k}" for name in ("recall", "ndcg") for k in data.cutoffs]


def _cell(study: Study, model: str, method: str) -> dict[str, Any]:
    data = study.data
    cell: dict[str, Any] = {"model": model, "method": method, **measured(study, cell_runs(study, model, method))}
    if data.is_papers:
        cell["published"] = dict(zip(metrics(data), published.TABLE3[data.preset][model][method], strict=True))
    return cell


def measured(study: Study, runs: Sequence[RunSpec]) -> dict[str, Any]:
    """What the runs of a cell gave under each way to select."""
    found = [study[run].metrics for run in runs]
    return {
        "epochs": runs[0].epochs,
        "seeds": len(runs),
        "hyperparameters": dict(runs[0].hyperparameters),
        "ours": {select_by: means_on_test(study, runs, select_by) for select_by in SELECTIONS},
        "chosen_epoch": {
            select_by: spread(of_run["selected"][select_by] / of_run["steps_per_epoch"] for of_run in found)
            for select_by in SELECTIONS
        },
        "seconds": spread(of_run["seconds"] for of_run in found),
    }


def means_on_test(study: Study, runs: Sequence[RunSpec], select_by: str) -> dict[str, dict[str, float]]:
    """The metrics of some runs on the test."""
    return {metric: spread(study[run].test(select_by)[metric] for run in runs) for metric in metrics(study.data)}


def improvement(study: Study, plain: Sequence[RunSpec], other: Sequence[RunSpec]) -> dict[str, Any]:
    """The mean relative change over the metrics, seed against seed, in percent, under each way to select, and a test of
    the change of NDCG at the shorter of the two lists."""

    def change(before: RunSpec, after: RunSpec, select_by: str) -> float:
        old, new = (study[run].test(select_by) for run in (before, after))
        return float(np.mean([100 * (new[metric] - old[metric]) / old[metric] for metric in metrics(study.data)]))

    return {
        "ours": {
            select_by: spread(change(*pair, select_by) for pair in zip(plain, other, strict=True))
            for select_by in SELECTIONS
        },
        "tested": tested(study, plain, other, f"ndcg@{study.data.cutoffs[0]}"),
    }
