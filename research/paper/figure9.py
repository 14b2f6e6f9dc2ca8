"""Figure 9: how many of the false positives T-CE discards, how much of what it discards they are, beside chance.

The paper draws the recall of random discarding at the drop rate ε(T). But ε is a share of the batch, negatives
included, and only positives are discarded: with one negative for each, 2ε of the positives, and so of the false ones.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import torch

from recsieve.denoisers import Context, make_denoiser
from research.paper.data_sets import DataSet
from research.paper.runs import Options, Records, RunSpec, grid, mean_over_seeds, thinned

MODELS = ("gmf",)
SMOOTH = 5  # rows of the record are put together: one has few false positives


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return grid(data, options, MODELS, ("T-CE",))


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """Recall and precision along the training of each model, means over the seeds."""
    return {
        "models": [
            {"model": model, "curve": _curve(data, options, records, model)} for model in options.models or MODELS
        ]
    }


def _curve(data: DataSet, options: Options, records: Records, model: str) -> list[dict[str, Any]]:
    ended = records.seeds(data, options, model, "T-CE")
    first = ended[0].spec
    context = Context(1, 1, 1, torch.ones(1), steps_per_epoch=1, losses_per_positive=2, fidelity=first.fidelity)
    schedule: Any = make_denoiser("truncated", dict(first.hyperparameters), context)
    course = mean_over_seeds([found(run.history()) for run in ended])
    rates = pl.Series("paper_random_recall", [schedule.drop_rate(step) for step in course["step"]])
    return thinned(course.with_columns(rates))


def found(history: pl.DataFrame) -> pl.DataFrame:
    """Recall and precision of the discarded, and of as many discarded at random."""
    counts = history.with_columns(block=pl.int_range(pl.len()) // SMOOTH).group_by("block", maintain_order=True).agg(
        pl.col("step").last(),
        pl.col("positives", "dropped", "false_positives", "dropped_false_positives").sum(),
    )  # fmt: skip
    hit, dropped = pl.col("dropped_false_positives"), pl.col("dropped")
    return counts.select(
        "step",
        recall=hit / pl.col("false_positives"),
        precision=pl.when(dropped > 0).then(hit / dropped),
        random_recall=dropped / pl.col("positives"),
        random_precision=pl.col("false_positives") / pl.col("positives"),
    )
