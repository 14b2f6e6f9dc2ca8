"""Drift over time: periods in which the items differ from the rest of the log."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon

from recsieve.audit.checks.base import hints
from recsieve.data.interactions import Interactions

PERIODS = 12  # of as many interactions each
FAR = 0.2  # Jensen-Shannon distance beyond that of periods drawn at random


class Drift:
    """Periods whose distribution of items differs from that of all other periods."""

    title: ClassVar[str] = "Drift over time"
    about: ClassVar[str] = (
        f"{PERIODS} periods with the same number of interactions: the Jensen-Shannon distance between the items of a "
        f"period and those of all others, minus that of a random sample of the same size. Flagged from {FAR}: what a "
        "model learns from such a period may not hold for the others."
    )
    subject: ClassVar[str] = "period"
    needs_time: ClassVar[bool] = True

    def find(self, data: Interactions) -> pl.DataFrame:
        order = np.argsort(data.time, kind="stable")  # type: ignore[arg-type]
        drawn = np.random.default_rng(0).permutation(len(data))
        n = min(PERIODS, len(data))
        observed, by_chance = (_distances(data, np.array_split(rows, n)) for rows in (order, drawn))
        starts = np.array([data.time[rows[0]] for rows in np.array_split(order, n)])  # type: ignore[index]
        score = observed - by_chance
        hint = pl.format("distance {}; {} by chance", pl.col("distance").round(2), pl.col("by_chance").round(2))
        return hints("period", pl.Series(np.arange(1, n + 1)), score, score > FAR, hint, start=starts,
                     distance=observed, by_chance=by_chance)  # fmt: skip


def _distances(data: Interactions, parts: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """How far the items of each part are from those of all others."""
    whole = data.item_counts()
    counts = [np.bincount(data.items[rows], minlength=data.n_items) for rows in parts]
    return np.array([jensenshannon(count, whole - count, base=2) for count in counts])
