"""T-CE: drop the observed interactions with the largest losses, at a growing rate."""

from dataclasses import dataclass

from torch import Tensor

from recsieve.denoisers.base import LossBatch
from recsieve.denoisers.schedule import DropSchedule


@dataclass(frozen=True)
class Truncated(DropSchedule):
    """Drop the observed interactions with the largest losses (T-CE, Algorithm 1), as `DropSchedule` says."""

    def weights(self, batch: LossBatch) -> Tensor:
        return self.drop_highest(batch.losses, batch)
