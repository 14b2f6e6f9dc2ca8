"""No denoising: the normal training with which the others are compared."""

from dataclasses import dataclass

import torch
from torch import Tensor

from recsieve.denoisers.base import LossBatch


@dataclass(frozen=True)
class KeepAll:
    """Give every interaction the same weight."""

    def weights(self, batch: LossBatch) -> Tensor:
        return torch.ones_like(batch.losses)
