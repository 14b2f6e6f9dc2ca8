"""Hinge loss."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from recsieve.objectives.base import precise


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 − y·s), with labels of 0 and 1 as y = ∓1."""

    pairwise: ClassVar[bool] = False

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        scores = precise(scores)
        return (1 - (2 * labels.to(scores.dtype) - 1) * scores).clamp(min=0).float()
