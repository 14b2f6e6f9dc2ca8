"""Records of each training interaction, within an epoch and over epochs: its loss, its weight, how often it was
dropped.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.errors import ConfigError, RunError

_MEASURES = ("losses", "weights", "dropped")


class EpochMemory:
    """Sums over an epoch for each interaction: of losses, of weights, and how often it was dropped and seen."""

    def __init__(self, n_interactions: int) -> None:
        self.sums = torch.zeros(4, n_interactions)

    def add(self, losses: Tensor, weights: Tensor, ids: Tensor) -> None:
        """Add a step; ids of −1 are negatives."""
        known = ids >= 0
        kept = weights[known]
        columns = torch.stack([losses[known], kept, (kept == 0).float(), torch.ones_like(kept)])
        self.sums.index_add_(1, ids[known], columns)

    def clear(self) -> None:
        self.sums.zero_()

    @property
    def losses(self) -> Tensor:
        """The mean loss of each interaction before weighting, NaN if it was not seen."""
        return self.sums[0] / self.sums[3]

    @property
    def weights(self) -> Tensor:
        """The mean weight of each interaction, NaN if it was not seen."""
        return self.sums[1] / self.sums[3]

    @property
    def dropped(self) -> Tensor:
        """How often the weight of each interaction was 0."""
        return self.sums[2].clone()


class InteractionMemory:
    """Records every epoch of a training, or those in `keep`, with twelve bytes per interaction and epoch.

    >>> memory = InteractionMemory(len(split.train), keep=range(0, 100, 10))
    >>> Recommender(model="gmf", denoiser="truncated").fit(split, memory=memory)
    >>> memory.losses  # (epochs kept, interactions)

    `losses` are mean losses before weighting and `weights` mean weights, both NaN if an interaction was not seen;
    `dropped` counts how often the weight was 0. An unfinished epoch is not recorded. The record is part of the
    checkpoint, so keep only a few epochs of large data.
    """

    def __init__(self, n_interactions: int, keep: Container[int] | None = None) -> None:
        if n_interactions < 1:
            raise ConfigError(f"n_interactions is {n_interactions}: give the number of training interactions.")
        self.n_interactions, self._keep = n_interactions, keep
        self.forget()

    def forget(self) -> None:
        """Start again, for a new training."""
        self.epochs: list[int] = []  # the number of each row of the record, from 0
        self._epoch, self._open = 0, EpochMemory(self.n_interactions)
        self._rows: dict[str, list[NDArray[np.float32]]] = {name: [] for name in _MEASURES}

    @property
    def losses(self) -> NDArray[np.float32]:
        return self._record("losses")

    @property
    def weights(self) -> NDArray[np.float32]:
        return self._record("weights")

    @property
    def dropped(self) -> NDArray[np.float32]:
        return self._record("dropped")

    def _record(self, name: str) -> NDArray[np.float32]:
        return np.array(self._rows[name], np.float32).reshape(-1, self.n_interactions)

    def add(self, losses: Tensor, weights: Tensor, ids: Tensor) -> None:
        """Add a step; ids of −1 are negatives."""
        if self._wanted:
            self._open.add(losses, weights, ids)

    @property
    def _wanted(self) -> bool:
        return self._keep is None or self._epoch in self._keep

    def close_epoch(self) -> None:
        """Record the finished epoch."""
        if self._wanted:
            for name in _MEASURES:
                self._rows[name].append(getattr(self._open, name).numpy())
            self.epochs.append(self._epoch)
            self._open.clear()
        self._epoch += 1

    def state_dict(self) -> dict[str, Any]:
        rows = {name: torch.from_numpy(self._record(name)) for name in _MEASURES}
        return {"epoch": self._epoch, "epochs": [*self.epochs], "open": self._open.sums.clone(), **rows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["open"].shape != self._open.sums.shape:
            raise RunError(
                f"the checkpoint has {state['open'].shape[1]} interactions, but there are {self.n_interactions}: "
                "continue with the same data, or start again."
            )
        self._epoch, self.epochs = state["epoch"], list(state["epochs"])
        self._open.sums.copy_(state["open"])
        self._rows = {name: [row.copy() for row in state[name].numpy()] for name in _MEASURES}
