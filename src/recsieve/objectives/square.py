"""Squared error."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from recsieve.objectives.base import precise


@dataclass(frozen=True)
class Square:
    """(s − y)², the raw score compared with a label of 0 or 1."""

    pairwise: ClassVar[bool] = False

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        scores = precise(scores)
        return (scores - labels.to(scores.dtype)).square().float()
