"""Bilateral softmax."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from recsieve.errors import ConfigError
from recsieve.objectives.base import precise
from recsieve.objectives.softmax import Softmax


@dataclass(frozen=True)
class BSL:
    """−s⁺/τ + p·log Σ exp(s⁻/τ): a softmax whose negative term is raised to a power p (BSL; Wu et al., 2024).

    With p above 1, a positive of which the model is sure is pulled less, so that noisy positives count less. Unlike in
    `softmax`, the sum has only the negatives, so a loss may be below 0.
    """

    pairwise: ClassVar[bool] = True
    below_zero: ClassVar[bool] = True

    temperature: float = 1.0
    power: float = 1.1

    def __post_init__(self) -> None:
        Softmax(self.temperature)  # says what is wrong with it
        if not 0 < self.power < float("inf"):
            raise ConfigError(
                f"power is {self.power}, but the sum over negatives is raised to it: give a number above 0, e.g. 1.1."
            )

    def __call__(self, positive: Tensor, negative: Tensor) -> Tensor:
        against = (precise(negative) / self.temperature).logsumexp(dim=1)  # (n,)
        return (self.power * against - precise(positive) / self.temperature).float()
