"""How well drops, weights and losses of a training find known noise, compared with item unpopularity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.denoisers import InteractionMemory
from recsieve.evaluation.detection import TOP_SHARE, detection
from recsieve.evaluation.groups import activity_groups, popularity_groups

EPOCHS = frozenset({0, 1, 2, 4, 9, 19, 49, 99})  # a training changes most at first
# Measures need sorting. Of so many interactions an AUC is known to a few thousandths, and seeds draw others.
SAMPLE = 100_000
MEASURES = ("n", "base_rate", "roc_auc", "average_precision", "selected", "precision", "recall")


def make_memory(train: Interactions) -> InteractionMemory | None:
    """A record of some epochs, if noise is known."""
    noise = train.is_false_positive
    return InteractionMemory(len(train), keep=EPOCHS) if noise.any() and not noise.all() else None


def detection_frame(memory: InteractionMemory, train: Interactions, seed: int) -> pl.DataFrame:
    """A row for each recorded epoch, score (weight, loss, unpopularity) and group of items or users.

    Each score selects as many interactions as the strategy drops in that epoch, or a tenth if it drops none. If a
    strategy selects its interactions, those not seen in an epoch are left out.
    """
    rows = _sample(train, seed)
    sampled = train.take(rows)
    items, users = popularity_groups(train)[sampled.items], activity_groups(train)[sampled.users]
    unpopularity = -train.item_counts()[sampled.items].astype(np.float64)
    flags = np.asarray(sampled.false_positive)
    records = [record[:, rows] for record in (memory.losses, memory.weights, memory.dropped)]
    found = []
    for place, epoch in enumerate(memory.epochs):
        seen = ~np.isnan(records[0][place])
        losses, weights, dropped = (record[place][seen] for record in records)
        if len(np.unique(flags[seen])) < 2:  # only noise, or none: nothing to be told apart
            continue
        share = float((dropped > 0).mean()) or TOP_SHARE
        scores = {"loss": losses, "unpopularity": unpopularity[seen]}
        if np.ptp(weights) > 0:
            scores["weight"] = -weights
        for name, score in scores.items():
            for group, measures in _measures(score, flags[seen], share, items[seen], users[seen]):
                found.append({"epoch": epoch + 1, "score": name, "group": group, **measures})
    schema = {"epoch": pl.Int64, "score": pl.String, "group": pl.String, **dict.fromkeys(MEASURES, pl.Float64)}
    return pl.DataFrame(found, schema=schema)


def _sample(train: Interactions, seed: int) -> NDArray[np.int64]:
    """Interactions of which it is known whether they are noise; not all where there are very many."""
    known = np.flatnonzero(np.asarray(train.false_positive) != UNLABELLED)
    if len(known) <= SAMPLE:
        return known
    return np.random.default_rng(seed).choice(known, SAMPLE, replace=False)


def _measures(
    score: NDArray[Any], flags: Any, share: float, items: NDArray[np.str_], users: NDArray[np.str_]
) -> Iterator[tuple[str, dict[str, float]]]:
    by_item = detection(score, flags, items, share=share)
    by_user = detection(score, flags, users, share=share)
    named = {f"{name} items": entry for name, entry in by_item.pop("groups").items()}
    named |= {f"{name} activity": entry for name, entry in by_user["groups"].items()}
    yield "all", by_item
    yield from named.items()
