"""What the paper rests on: false positives have larger losses early on. By how much, when, and by popularity alone?"""

from __future__ import annotations

from typing import Any

import polars as pl

from research.paper.data_sets import DataSet
from research.paper.runs import PROBES, Options, Records, RunSpec, grid, mean_over_seeds, summarise

MODELS = ("gmf", "neumf")


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return grid(data, options, MODELS, ("CE",))


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """The gap between the losses of false and true positives along normal training, and what is left of it."""
    return {"models": [_model(data, options, records, model) for model in options.models or MODELS]}


def _model(data: DataSet, options: Options, records: Records, model: str) -> dict[str, Any]:
    frames = [run.frame(PROBES) for run in records.seeds(data, options, model, "CE")]
    course = mean_over_seeds(frames).with_columns(epoch=pl.col("step") / data.steps_per_epoch)
    widest = course.sort("gap", descending=True).row(0, named=True)
    return {
        "model": model,
        "course": course.to_dicts(),
        "widest": widest,
        "last": course.row(-1, named=True),
        "widest_gap": summarise(frame["gap"].to_numpy().max() for frame in frames),
        "explained_by_popularity": _explained(widest, "popularity"),
        "explained_by_item": _explained(widest, "item"),
    }


def _explained(row: dict[str, float], name: str) -> float:
    """The share of the gap that goes when false positives are compared with true ones of the same kind."""
    return 1 - row[f"gap_same_{name}"] / row["gap"]
