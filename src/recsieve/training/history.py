"""The history of a training: losses of true and false positives separately, and what was dropped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from recsieve.data.interactions import NOISY, UNLABELLED, Interactions

_COLUMNS = ("step", "epoch", "loss", "true_positive_loss", "false_positive_loss", "positive_loss", "negative_loss",
            "positives", "dropped", "false_positives", "dropped_false_positives")  # fmt: skip
_COUNTS = ("step", "epoch", "positives", "dropped", "false_positives", "dropped_false_positives")


class History:
    """Sums up each step, and closes a row of the record at intervals.

    A loss is a mean before weighting; `loss` is what was minimised. Counts are those of observed interactions in the
    steps of the row. What cannot be known (false positives without labels) is NaN.
    """

    def __init__(
        self, data: Interactions, total: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda own: own
    ) -> None:
        """`total` adds up arrays over the ranks that share the data."""
        flags = np.full(len(data), UNLABELLED, np.int8) if data.false_positive is None else data.false_positive
        self._total = total
        self._kinds = np.where(flags == UNLABELLED, np.int8(2), flags)
        self._sums, self._counts = np.zeros(4), np.zeros(4, np.int64)  # true, false, unknown, negative
        self._dropped = np.zeros(4, np.int64)
        self._reduced, self._steps = 0.0, 0
        self._rows: list[list[float]] = []
        self.mean_loss = 0.0  # of all interactions and negatives of the last row, before weighing

    def add(self, means: list[float], losses: Tensor, weights: Tensor, index: Tensor) -> None:
        """Take steps into account: what was minimised in each, the losses and weights of all or of a share, and where
        the interactions that they are of stand here."""
        self._reduced = sum(means, start=self._reduced)
        self._steps += len(means)
        rows = losses.numpy(), weights.numpy(), index.numpy()
        _tally(self._sums, self._counts, self._dropped, *rows, self._kinds)

    def close_row(self, step: int, epoch: int) -> float:
        """Record the means since the last row, and return that of the loss."""
        sums, counts, dropped = self._total(np.stack([self._sums, self._counts, self._dropped]))
        with np.errstate(invalid="ignore"):
            true, false, _, negative = sums / counts
            positive = sums[:3].sum() / counts[:3].sum()
            self.mean_loss = float(sums.sum() / max(counts.sum(), 1))  # where nobody has a pair, no loss is none
        loss = self._reduced / max(self._steps, 1)
        self._rows.append(
            [step, epoch, loss, true, false, positive, negative,
             counts[:3].sum(), dropped[:3].sum(), counts[NOISY], dropped[NOISY]]
        )  # fmt: skip
        for totals in (self._sums, self._counts, self._dropped):
            totals[:] = 0
        self._reduced, self._steps = 0.0, 0
        return loss

    def frame(self) -> pl.DataFrame:
        """The record, with one row per interval."""
        values = np.array(self._rows, dtype=np.float64).reshape(-1, len(_COLUMNS))
        return pl.DataFrame(values, schema=list(_COLUMNS), orient="row").cast(dict.fromkeys(_COUNTS, pl.Int64))

    def state_dict(self) -> dict[str, object]:
        """The rows so far; call it right after a row is closed, when the sums are empty."""
        return {"rows": torch.tensor(self._rows, dtype=torch.float64)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        rows = state["rows"]
        if rows.dtype != torch.float64 or (rows.numel() and rows.shape[1:] != (len(_COLUMNS),)):
            raise ValueError("its history has other columns")
        counts = rows.reshape(-1, len(_COLUMNS))[:, [_COLUMNS.index(name) for name in _COUNTS]]
        if not bool(((counts >= 0) & (counts < 2**53)).all()):
            raise ValueError("its history has invalid counts")
        self._rows = rows.tolist()


@njit(cache=True)
def _tally(
    sums: NDArray, counts: NDArray, dropped: NDArray, losses: NDArray, weights: NDArray, index: NDArray, kinds: NDArray
) -> None:
    """Add losses to the kind of their interaction: CLEAN, NOISY, unknown (2) or negative (3)."""
    for i in range(len(losses)):
        kind = kinds[index[i]] if index[i] >= 0 else 3
        sums[kind] += losses[i]
        counts[kind] += 1
        dropped[kind] += weights[i] == 0
