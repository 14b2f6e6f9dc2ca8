"""How well a score of interactions (a loss, a drop, a low weight, an unpopular item) finds known false positives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from recsieve.data.interactions import FALSE, UNKNOWN
from recsieve.errors import ConfigError, DataError

TOP_SHARE = 0.1


def detection(
    scores: ArrayLike,
    false_positive: ArrayLike,
    groups: Sequence[Any] | NDArray | None = None,
    *,
    share: float = TOP_SHARE,
) -> dict[str, Any]:
    """Measure how well high scores find false positives, overall and under "groups" by the label of each interaction.

    `false_positive` holds booleans or the flags of `Interactions`; what is unknown is left out. `precision` and
    `recall` are of the `share` of all interactions with the highest scores (for drops: the share that was dropped),
    and `selected` says what part of a group that is. Ties count as in the mean over all orders. A measure is NaN
    where it is not defined, e.g. `roc_auc` where nothing is noise.
    """
    suspicion, flags = np.asarray(scores, np.float64), np.asarray(false_positive)
    labels = None if groups is None else np.asarray(groups)
    _check(suspicion, flags, labels, share)
    known = flags != UNKNOWN
    suspicion, noise = suspicion[known], flags[known] == FALSE
    selected = _select_top(suspicion, share)
    measures: dict[str, Any] = _measures(suspicion, noise, selected)
    if labels is not None:
        labels = labels[known]
        measures["groups"] = {
            str(label): _measures(suspicion[rows], noise[rows], selected[rows])
            for label in np.unique(labels)
            for rows in [labels == label]
        }
    return measures


def roc_auc(scores: NDArray[np.float64], noise: NDArray[np.bool_]) -> float:
    """The probability that a false positive has a higher score than a true one; a tie is half of it."""
    n_noise, n_rest = int(noise.sum()), int((~noise).sum())
    if not n_noise or not n_rest:
        return float("nan")
    return float((rankdata(scores)[noise].sum() - n_noise * (n_noise + 1) / 2) / (n_noise * n_rest))


def average_precision(scores: NDArray[np.float64], noise: NDArray[np.bool_]) -> float:
    """The mean over false positives of the precision among all with their score or a higher one."""
    if not noise.any():
        return float("nan")
    at_least = rankdata(-scores, method="max")  # how many have this score or a higher one
    found = rankdata(-scores[noise], method="max")  # how many of the false positives
    return float((found / at_least[noise]).mean())


def _measures(scores: NDArray[np.float64], noise: NDArray[np.bool_], selected: NDArray[np.float64]) -> dict[str, float]:
    hits, n_selected, n_noise = float(selected[noise].sum()), float(selected.sum()), int(noise.sum())
    nan = float("nan")
    return {
        "n": len(noise),
        "base_rate": n_noise / len(noise) if len(noise) else nan,
        "roc_auc": roc_auc(scores, noise),
        "average_precision": average_precision(scores, noise),
        "selected": n_selected / len(noise) if len(noise) else nan,
        "precision": hits / n_selected if n_selected else nan,
        "recall": hits / n_noise if n_noise else nan,
    }


def _select_top(scores: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The probability of each to be among the share with the highest scores; ties at the border share what is left."""
    wanted = share * len(scores)
    not_below = rankdata(-scores, method="max")
    above = rankdata(-scores, method="min") - 1
    return np.clip((wanted - above) / (not_below - above), 0.0, 1.0)


def _check(scores: NDArray[np.float64], flags: NDArray, labels: NDArray | None, share: float) -> None:
    for name, given in (("flags", flags), ("groups", labels)):
        if given is not None and given.shape != scores.shape:
            raise DataError(f"there are {scores.shape} scores but {given.shape} {name}: give one for each interaction.")
    if np.isnan(scores).any():
        raise DataError(f"{int(np.isnan(scores).sum())} scores are not numbers: leave those interactions out.")
    if not 0 <= share <= 1:
        raise ConfigError(f"share is {share}, but it is the part of the interactions to select: give 0 to 1, e.g. 0.1.")
