"""Figure 6: does denoising hurt the inactive? Four groups of users with equally many interactions in total."""

from __future__ import annotations

from typing import Any

import numpy as np

from recsieve.experiments.conclusions import spread
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.runs import SELECTIONS, Options, Records, RunSpec, grid
from research.paper.table3 import metrics

MODELS = ("gmf",)


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return grid(data, options, MODELS, published.METHODS)


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """Users and metrics of each group, by model and method."""
    rows = [
        {"model": model, "method": method, "select_by": select_by, **row}
        for model in options.models or MODELS
        for method in published.METHODS
        for select_by in SELECTIONS
        for row in _groups(data, options, records, model, method, select_by)
    ]
    return {"groups": rows, "metrics": metrics(data)}


def _groups(
    data: DataSet, options: Options, records: Records, model: str, method: str, select_by: str
) -> list[dict[str, Any]]:
    by_seed = [run.metrics["groups"][select_by] for run in records.seeds(data, options, model, method)]
    return [
        {
            "group": int(rows[0]["group"]),
            "users": int(np.mean([row["users"] for row in rows])),
            "most_interactions": int(rows[0]["most_interactions"]),
            **{metric: spread(row[metric] for row in rows) for metric in metrics(data)},
        }
        for rows in zip(*by_seed, strict=True)
    ]
