"""Figure 6: does denoising hurt the inactive? Four groups of users with equally many interactions in total."""

from __future__ import annotations

from typing import Any

import numpy as np

from recsieve.experiments.conclusions import spread
from research.paper import published
from research.paper.runs import SELECTIONS, RunSpec, Study
from research.paper.table3 import metrics

MODELS = ("gmf",)


def runs(study: Study) -> list[RunSpec]:
    return study.grid(MODELS, published.METHODS)


def collect(study: Study) -> dict[str, Any]:
    """Users and metrics of each group, by model and method."""
    rows = [
        {"model": model, "method": method, "select_by": select_by, **row}
        for model in study.models(MODELS)
        for method in published.METHODS
        for select_by in SELECTIONS
        for row in _groups(study, model, method, select_by)
    ]
    return {"groups": rows, "metrics": metrics(study.data)}


def _groups(study: Study, model: str, method: str, select_by: str) -> list[dict[str, Any]]:
    by_seed = [run.metrics["groups"][select_by] for run in study.ended(model, method)]
    return [
        {
            "group": int(rows[0]["group"]),
            "users": int(np.mean([row["users"] for row in rows])),
            "most_interactions": int(rows[0]["most_interactions"]),
            **{metric: spread(row[metric] for row in rows) for metric in metrics(study.data)},
        }
        for rows in zip(*by_seed, strict=True)
    ]
