"""The control that knows only popularity: a large loss is mostly a rare item, so a denoiser has to beat this."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from torch import Tensor

from recsieve.denoisers.base import LossBatch
from recsieve.denoisers.schedule import DropSchedule
from recsieve.errors import ConfigError


@dataclass(frozen=True)
class LeastPopularDrop(DropSchedule):
    """Drop the observed interactions with the least popular items of each batch, at the rate and ramp of T-CE.

    `popularity` has the number of training interactions of each item. Of equally popular items the first in the batch
    goes, which in shuffled batches is any.
    """

    _: KW_ONLY
    popularity: Tensor = field(repr=False, compare=False)  # (items,); it comes from the data and is no knob

    def weights(self, batch: LossBatch) -> Tensor:
        if batch.items is None:
            raise ConfigError(
                "the batch does not say which items it is about, but the least popular are to be dropped: give `items`."
            )
        popularity = self.popularity.to(batch.items.device)[batch.items.long()]
        return self.drop_highest(-popularity.double(), batch)
