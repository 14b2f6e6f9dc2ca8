"""What is recorded along trainings, as means over the seeds: figures 3, 4, 7 and 9, and what the paper rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
import torch

from recsieve.denoisers import Context, make_denoiser
from recsieve.experiments.conclusions import spread
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.runs import (
    PROBES,
    VALIDATIONS,
    Record,
    RunSpec,
    Study,
    mean_over_seeds,
    thinned,
)

LOSSES = ("true_positive_loss", "false_positive_loss")
SMOOTH = 5  # rows of the record are put together: one has few false positives


@dataclass(frozen=True)
class Curves:
    """Something of the runs of each model, one for each seed; with several methods, a panel for each."""

    models: tuple[str, ...]
    methods: tuple[str, ...]
    shown: Callable[[DataSet, list[Record]], dict[str, Any]]

    def runs(self, study: Study) -> list[RunSpec]:
        return study.grid(self.models, self.methods)

    def collect(self, study: Study) -> dict[str, Any]:
        several = len(self.methods) > 1
        rows = [
            {"model": model}
            | ({"method": method} if several else {})
            | self.shown(study.data, study.ended(model, method))
            for model in study.models(self.models)
            for method in self.methods
        ]
        return {"panels" if several else "models": rows}


def losses(ended: list[Record]) -> pl.DataFrame:
    """The training loss of true and false positives against the step."""
    return mean_over_seeds([run.history() for run in ended]).select("step", *LOSSES, "loss")


def whole_and_early(data: DataSet, ended: list[Record]) -> dict[str, Any]:
    """Figure 3: the losses of all epochs, and closer of the first."""
    whole = losses(ended)
    return {"whole": thinned(whole), "early": thinned(whole.filter(pl.col("step") <= data.steps_per_epoch))}


def moments(data: DataSet, ended: list[Record]) -> dict[str, Any]:
    """Figure 4: drop rate and threshold of T-CE at some iterations."""
    frames = [run.frame(VALIDATIONS) for run in ended]
    course = mean_over_seeds(frames).select("step", "drop_rate", "threshold").filter(pl.col("threshold").is_not_null())
    positions = [round(share * (course.height - 1)) for share in (0, 1 / 9, 4 / 9, 1)] if course.height else []
    return {"moments": course[sorted(set(positions))].to_dicts()}


def discarded(data: DataSet, ended: list[Record]) -> dict[str, Any]:
    """Figure 9: recall and precision of what T-CE discards along the training, beside chance.

    The paper draws the recall of random discarding at the drop rate ε(T). But ε is a share of the batch, negatives
    included, and only positives are discarded: with one negative for each, 2ε of the positives, and so of the false
    ones.
    """
    first = ended[0].spec
    context = Context(1, 1, 1, torch.ones(1), steps_per_epoch=1, losses_per_positive=2, fidelity=first.fidelity)
    schedule: Any = make_denoiser("truncated", dict(first.hyperparameters), context)
    course = mean_over_seeds([found(run.history()) for run in ended])
    rates = pl.Series("paper_random_recall", [schedule.drop_rate(step) for step in course["step"]])
    return {"curve": thinned(course.with_columns(rates))}


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


def gaps(data: DataSet, ended: list[Record]) -> dict[str, Any]:
    """How much larger the losses of false positives are along normal training, when, and by popularity alone?"""
    frames = [run.frame(PROBES) for run in ended]
    course = mean_over_seeds(frames).with_columns(epoch=pl.col("step") / data.steps_per_epoch)
    widest = course.sort("gap", descending=True).row(0, named=True)
    return {
        "course": course.to_dicts(),
        "widest": widest,
        "last": course.row(-1, named=True),
        "widest_gap": spread(frame["gap"].to_numpy().max() for frame in frames),
        "explained_by_popularity": _explained(widest, "popularity"),
        "explained_by_item": _explained(widest, "item"),
    }


def _explained(row: dict[str, float], name: str) -> float:
    """The share of the gap that goes when false positives are compared with true ones of the same kind."""
    return 1 - row[f"gap_same_{name}"] / row["gap"]


FIGURE3 = Curves(("neumf",), ("CE",), whole_and_early)
FIGURE4 = Curves(("gmf",), ("T-CE",), moments)
FIGURE7 = Curves(("gmf",), published.METHODS, lambda data, ended: {"curve": thinned(losses(ended))})
FIGURE9 = Curves(("gmf",), ("T-CE",), discarded)
PHENOMENON = Curves(("gmf", "neumf"), ("CE",), gaps)
