"""Figure 3: the training loss of true and false positives in normal training, whole course and early stage."""

from __future__ import annotations

from typing import Any

import polars as pl

from research.paper.data_sets import DataSet
from research.paper.runs import Options, Record, Records, RunSpec, grid, mean_over_seeds, thinned

MODELS = ("neumf",)
LOSSES = ("true_positive_loss", "false_positive_loss")


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return grid(data, options, MODELS, ("CE",))


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """The curves of each model, means over the seeds: of all epochs, and closer of the first."""
    return {
        "models": [
            {"model": model, **curves(records.seeds(data, options, model, "CE"), data.steps_per_epoch)}
            for model in options.models or MODELS
        ]
    }


def curves(ended: list[Record], steps_per_epoch: int) -> dict[str, Any]:
    """Loss against step, for the whole course and for the early stage."""
    whole = mean_over_seeds([run.history() for run in ended]).select("step", *LOSSES, "loss")
    early = whole.filter(pl.col("step") <= steps_per_epoch)
    return {"whole": thinned(whole), "early": thinned(early)}
