"""How well a score of interactions (a loss, a drop, a low weight, an unpopular item) finds known false positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsieve.data.interactions import NOISY, UNLABELLED
from recsieve.errors import ConfigError, DataError

TOP_SHARE = 0.1


def detection(
    scores: ArrayLike,
    false_positive: ArrayLike,
    groups: Sequence[Any] | NDArray | None = None,
    *,
    share: float = TOP_SHARE,
) -> dict[str, Any]:
    """Measure how well high scores find false positives, overall and, under "groups", by the group of each interaction.

    `false_positive` has booleans or the labels of `Interactions`; unlabelled ones are left out. `precision` and
    `recall` are those of the `share` of all interactions with the highest scores (for drops: the share that was
    dropped), and `selected` is the share of a group among them. Ties count as the mean over all orders. A measure is
    NaN if it is not defined, e.g. `roc_auc` without noise.
    """
    suspicion, flags = np.asarray(scores, np.float64), np.asarray(false_positive)
    labels = None if groups is None else np.asarray(groups)
    _check(suspicion, flags, labels, share)
    # Sorted once: whatever is taken from a sorted list is sorted.
    order = np.argsort(-suspicion, kind="stable")
    order = order[flags[order] != UNLABELLED]
    suspicion, noise = suspicion[order], flags[order] == NOISY
    selected = _select_top(suspicion, share)
    measures: dict[str, Any] = _measures(suspicion, noise, selected)
    if labels is not None:
        labels = labels[order]
        measures["groups"] = {
            str(label): _measures(suspicion[rows], noise[rows], selected[rows])
            for label in np.unique(labels)
            for rows in [labels == label]
        }
    return measures


def roc_auc(scores: NDArray[np.float64], noise: NDArray[np.bool_]) -> float:
    """The probability that a false positive has a higher score than a true positive; a tie counts half."""
    order = np.argsort(-scores, kind="stable")
    return _Ladder.of(scores[order], noise[order]).roc_auc()


@dataclass(frozen=True)
class _Ladder:
    """How many interactions have each score, and how many of them are false positives, from the highest score down."""

    n: NDArray[np.int64]
    noise: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], noise: NDArray[np.bool_]) -> _Ladder:
        starts = _starts(scores)
        n = np.diff(starts, append=len(scores))
        return cls(n, np.add.reduceat(noise, starts, dtype=np.int64) if len(starts) else n)

    def roc_auc(self) -> float:
        rest = self.n - self.noise
        n_pairs = int(self.noise.sum()) * int(rest.sum())
        below = rest.sum() - rest.cumsum()
        return float((self.noise * (below + rest / 2)).sum() / n_pairs) if n_pairs else float("nan")

    def average_precision(self) -> float:
        """The mean over false positives of the precision among all interactions with at least their score."""
        n_noise = int(self.noise.sum())
        precision = self.noise.cumsum() / self.n.cumsum()
        return float((self.noise * precision).sum() / n_noise) if n_noise else float("nan")


def _starts(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Where each score begins in a sorted list."""
    return np.flatnonzero(np.concatenate([np.ones(min(len(scores), 1), np.bool_), scores[1:] != scores[:-1]]))


def _measures(scores: NDArray[np.float64], noise: NDArray[np.bool_], selected: NDArray[np.float64]) -> dict[str, float]:
    """The measures of a list that is sorted by scores."""
    hits, n_selected, n_noise = float(selected[noise].sum()), float(selected.sum()), int(noise.sum())
    nan, ladder = float("nan"), _Ladder.of(scores, noise)
    return {
        "n": len(noise),
        "base_rate": n_noise / len(noise) if len(noise) else nan,
        "roc_auc": ladder.roc_auc(),
        "average_precision": ladder.average_precision(),
        "selected": n_selected / len(noise) if len(noise) else nan,
        "precision": hits / n_selected if n_selected else nan,
        "recall": hits / n_noise if n_noise else nan,
    }


def _select_top(scores: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The probability of each of a sorted list to be among the share with the highest scores.

    Ties at the border share what is left.
    """
    starts = _starts(scores)
    n = np.diff(starts, append=len(scores))
    return np.repeat(np.clip((share * len(scores) - starts) / n, 0.0, 1.0), n)


def _check(scores: NDArray[np.float64], flags: NDArray, labels: NDArray | None, share: float) -> None:
    for name, given in (("flags", flags), ("groups", labels)):
        if given is not None and given.shape != scores.shape:
            raise DataError(f"there are {scores.shape} scores but {given.shape} {name}: give one for each interaction.")
    if np.isnan(scores).any():
        raise DataError(f"{int(np.isnan(scores).sum())} scores are not numbers: leave those interactions out.")
    if not 0 <= share <= 1:
        raise ConfigError(f"share is {share}, but it is the part of the interactions to select: give 0 to 1, e.g. 0.1.")
