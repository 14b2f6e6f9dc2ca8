"""Bayesian personalised ranking."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from recsieve.objectives.base import precise


@dataclass(frozen=True)
class BPR:
    """−log σ(s⁺ − s⁻), the mean over a positive's negatives (Rendle et al., 2009)."""

    pairwise: ClassVar[bool] = True

    def __call__(self, positive: Tensor, negative: Tensor) -> Tensor:
        difference = precise(positive)[:, None] - precise(negative)  # (n, k)
        return -functional.logsigmoid(difference).mean(dim=1).float()
