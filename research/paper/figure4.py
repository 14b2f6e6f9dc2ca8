"""Figure 4: which part of the loss T-CE keeps at several iterations, with the thresholds of a real run."""

from __future__ import annotations

from typing import Any

import polars as pl

from research.paper.data_sets import DataSet
from research.paper.runs import VALIDATIONS, Options, Records, RunSpec, grid, mean_over_seeds

MODELS = ("gmf",)


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return grid(data, options, MODELS, ("T-CE",))


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """Drop rate and threshold at some iterations of each model, means over the seeds."""
    return {
        "models": [
            {"model": model, "moments": _moments(data, options, records, model)} for model in options.models or MODELS
        ]
    }


def _moments(data: DataSet, options: Options, records: Records, model: str) -> list[dict[str, float]]:
    frames = [run.frame(VALIDATIONS) for run in records.seeds(data, options, model, "T-CE")]
    course = mean_over_seeds(frames).select("step", "drop_rate", "threshold").filter(pl.col("threshold").is_not_null())
    positions = [round(share * (course.height - 1)) for share in (0, 1 / 9, 4 / 9, 1)] if course.height else []
    return course[sorted(set(positions))].to_dicts()
