"""Binary cross-entropy."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from recsieve.objectives.base import precise


@dataclass(frozen=True)
class BCE:
    """−y·log σ(s) − (1 − y)·log(1 − σ(s)), the paper's cross-entropy, in float32 also under autocast."""

    pairwise: ClassVar[bool] = False

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        scores = precise(scores)
        return functional.binary_cross_entropy_with_logits(scores, labels.to(scores.dtype), reduction="none").float()
