"""Sampled softmax."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from recsieve.errors import ConfigError
from recsieve.objectives.base import precise


@dataclass(frozen=True)
class Softmax:
    """−s⁺/τ + log(exp(s⁺/τ) + Σ exp(s⁻/τ)): a positive against all of its negatives; τ is the temperature."""

    pairwise: ClassVar[bool] = True

    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ConfigError(
                f"temperature is {self.temperature}, but scores are divided by it: give a number above 0, e.g. 0.2."
            )

    def __call__(self, positive: Tensor, negative: Tensor) -> Tensor:
        scores = torch.cat([precise(positive)[:, None], precise(negative)], dim=1) / self.temperature  # (n, 1 + k)
        return (scores.logsumexp(dim=1) - scores[:, 0]).float()
