"""The popularity control: a large loss mostly means a rare item, so a denoiser has to beat this."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from torch import Tensor

from recsieve.denoisers.base import Context, LossBatch
from recsieve.denoisers.schedule import DropSchedule
from recsieve.errors import ConfigError


@dataclass(frozen=True)
class LeastPopularDrop(DropSchedule):
    """Drop the observed interactions with the least popular items of each batch, at the rate and ramp of T-CE.

    Among equally popular items, the first in the batch is dropped; batches are shuffled.
    """

    _: KW_ONLY
    context: Context = field(repr=False, compare=False)

    def weights(self, batch: LossBatch) -> Tensor:
        if batch.items is None:
            raise ConfigError("the batch has no items, but they are needed to drop the least popular: give `items`.")
        popularity = self.context.popularity.to(batch.items.device)[batch.items.long()]
        return self.drop_highest(-popularity.double(), batch)
