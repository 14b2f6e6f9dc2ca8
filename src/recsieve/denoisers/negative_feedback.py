"""NR: interactions that are known to be regretted are trained on as negatives, with their own weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.denoisers.base import LossBatch
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError


@dataclass(frozen=True)
class NegativeFeedback:
    """Give true positives, false positives and negatives different weights (NR; Wen et al., 2019).

    A false positive has the label 0, like a negative; `ids` tell them apart. True positives have weight 1. Neither
    paper gives the weights. A regretted interaction still shows what a user is interested in: with weight 1 it costs
    more in the ranking of satisfying items than with 0.1 (docs/paper.md, Table 4).
    """

    uses_noise_labels: ClassVar[bool] = True
    search_space: ClassVar[SearchSpace] = {"false_positive_weight": Range(0.02, 1.0)}

    false_positive_weight: float = 0.1
    negative_weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.false_positive_weight <= 1:
            raise ConfigError(
                f"false_positive_weight is {self.false_positive_weight}, but it is the weight of a regretted "
                "interaction as a negative, relative to a positive: give a number from 0 (left out) to 1."
            )
        if not 0 < self.negative_weight <= 1:
            raise ConfigError(
                f"negative_weight is {self.negative_weight}, but it is the weight of a sampled negative, relative to a "
                "positive: give a number above 0 and up to 1."
            )

    def weights(self, batch: LossBatch) -> Tensor:
        negatives = torch.full_like(batch.losses, self.negative_weight)
        if batch.ids is not None:
            negatives = negatives.masked_fill(batch.ids >= 0, self.false_positive_weight)
        return torch.where(batch.labels > 0, torch.ones_like(batch.losses), negatives)
