"""How each training interaction fares in one epoch."""

from __future__ import annotations

import torch
from torch import Tensor


class EpochMemory:
    """Sums over an epoch, by interaction: of its losses, of its weights, of how often it was dropped, and seen."""

    def __init__(self, n_interactions: int) -> None:
        self.sums = torch.zeros(4, n_interactions)

    def add(self, losses: Tensor, weights: Tensor, ids: Tensor) -> None:
        """Take a step into account; ids of −1 are negatives."""
        known = ids >= 0
        kept = weights[known]
        columns = torch.stack([losses[known], kept, (kept == 0).float(), torch.ones_like(kept)])
        self.sums.index_add_(1, ids[known], columns)

    def clear(self) -> None:
        self.sums.zero_()

    @property
    def losses(self) -> Tensor:
        """The mean loss of each interaction before weighing, NaN where it was not seen."""
        return self.sums[0] / self.sums[3]

    @property
    def weights(self) -> Tensor:
        """The mean weight of each interaction, NaN where it was not seen."""
        return self.sums[1] / self.sums[3]

    @property
    def dropped(self) -> Tensor:
        """How often the weight of each interaction was 0."""
        return self.sums[2].clone()
