"""R-CE: the larger the loss of an interaction, the smaller its weight."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from recsieve.denoisers.base import LossBatch, check_fidelity
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity


@dataclass(frozen=True)
class Reweighted:
    """Weight an interaction by the predicted probability of its label to the power `beta` (R-CE, Eqs. 5 and 6).

    ŷ^β for a positive and (1−ŷ)^β for a negative are both exp(−β·CE), which stays finite for any logit. With
    `fidelity="authors"` the mean divides by the batch size even if weights underflow to 0.
    """

    search_space: ClassVar[SearchSpace] = {"beta": Range(0.02, 1.0)}

    beta: float = 0.2
    fidelity: Fidelity = "paper"

    def __post_init__(self) -> None:
        if not 0 <= self.beta < math.inf:
            raise ConfigError(
                f"beta is {self.beta}, but it is the power of the weights: "
                "give 0 (all weights equal) or more, e.g. 0.2."
            )

        check_fidelity(self.fidelity)

    @property
    def divides_by(self) -> Literal["kept", "batch"]:
        return "kept" if self.fidelity == "paper" else "batch"

    def weights(self, batch: LossBatch) -> Tensor:
        return (-self.beta * batch.losses).exp()
