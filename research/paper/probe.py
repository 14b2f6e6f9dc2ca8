"""Are false positives harder to fit than true positives that are alike otherwise?

A large loss may only mean a rare item. So false positives are compared with all true positives, and then with those on
items of the same popularity, on the very same items, and of the same users.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.evaluation.detection import roc_auc
from recsieve.models import Model
from recsieve.objectives import BCE

SAMPLE = 30_000  # interactions, drawn once: of so many a mean loss is known to less than a hundredth
POPULARITY_BINS = 50
_BLOCK = 1 << 14


class Probe:
    """Holds the losses of the same training interactions against each other, whenever it is asked."""

    def __init__(self, train: Interactions) -> None:
        known = np.flatnonzero(np.zeros(0) if train.false_positive is None else train.false_positive != UNLABELLED)
        rows = np.sort(np.random.default_rng(0).choice(known, min(SAMPLE, len(known)), replace=False))
        self._data = train.take(rows)
        self._noise = self._data.is_false_positive
        popularity = train.item_counts()[self._data.items]
        self._strata: dict[str, NDArray[Any]] = {
            "popularity": _bins(popularity, POPULARITY_BINS),
            "item": self._data.items,
            "user": self._data.users,
        }
        self.usable = bool(self._noise.any() and not self._noise.all())
        self.unpopularity_auc = roc_auc(-popularity.astype(np.float64), self._noise)

    def look(self, model: Model) -> dict[str, float]:
        """Mean losses, their gap (also among alike true positives), and how well the loss tells false positives."""
        losses = positive_losses(model, self._data)
        noise = self._noise
        found: dict[str, Any] = {
            "true_positives": losses[~noise].mean(),
            "false_positives": losses[noise].mean(),
            "auc": roc_auc(losses, noise),
            "auc_popularity": self.unpopularity_auc,
            "auc_within_popularity": within_auc(losses, noise, self._strata["popularity"]),
        }
        found["gap"] = found["false_positives"] - found["true_positives"]
        for name, strata in self._strata.items():
            found[f"gap_same_{name}"] = matched_gap(losses, noise, strata)
        return {name: float(value) for name, value in found.items()}


@torch.no_grad()
def positive_losses(model: Model, data: Interactions) -> NDArray[np.float64]:
    """The cross-entropy of observed interactions as the model stands."""
    users, items = torch.from_numpy(data.users.copy()), torch.from_numpy(data.items.copy())
    ones = torch.ones(_BLOCK)
    parts = [
        BCE()(logits, ones[: len(logits)])
        for start in range(0, len(data), _BLOCK)
        for logits in [model(users[start : start + _BLOCK], items[start : start + _BLOCK])]
    ]
    return torch.cat(parts).double().numpy()


def matched_gap(losses: NDArray[np.float64], noise: NDArray[np.bool_], strata: NDArray[np.integer]) -> float:
    """How much larger the losses of false positives are than those of true positives in the same stratum.

    A stratum counts by its false positives; one that lacks either kind says nothing.
    """
    size = int(strata.max()) + 1
    n_false = np.bincount(strata[noise], minlength=size)
    n_true = np.bincount(strata[~noise], minlength=size)
    both = (n_false > 0) & (n_true > 0)
    false = np.bincount(strata[noise], losses[noise], size)[both] / n_false[both]
    true = np.bincount(strata[~noise], losses[~noise], size)[both] / n_true[both]
    return float(np.average(false - true, weights=n_false[both])) if both.any() else float("nan")


def within_auc(losses: NDArray[np.float64], noise: NDArray[np.bool_], strata: NDArray[np.integer]) -> float:
    """How well a large loss tells a false positive among interactions of the same stratum."""
    scores, pairs = [], []
    for stratum in np.unique(strata):
        rows = strata == stratum
        n_pairs = int(noise[rows].sum()) * int((~noise[rows]).sum())
        if n_pairs:
            scores.append(roc_auc(losses[rows], noise[rows]))
            pairs.append(n_pairs)
    return float(np.average(scores, weights=pairs)) if pairs else float("nan")


def _bins(values: NDArray[np.int64], n_bins: int) -> NDArray[np.int64]:
    """Numbers of bins with about as many values each; equal values are in the same bin."""
    borders = np.quantile(values, np.linspace(0, 1, n_bins + 1)[1:-1]) if len(values) else np.zeros(0)
    return np.searchsorted(np.unique(borders), values, side="left")
