"""Figure 7: the loss of false positives against the training loss, under CE, T-CE and R-CE."""

from __future__ import annotations

from typing import Any

from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.figure3 import curves
from research.paper.runs import Options, Records, RunSpec, grid

MODELS = ("gmf",)


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return grid(data, options, MODELS, published.METHODS)


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """The curves of each method, means over the seeds."""
    return {
        "panels": [
            {
                "model": model,
                "method": method,
                "curve": curves(records.seeds(data, options, model, method), data.steps_per_epoch)["whole"],
            }
            for model in options.models or MODELS
            for method in published.METHODS
        ]
    }
