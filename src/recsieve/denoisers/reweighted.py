"""R-CE: let an interaction count the less the larger its loss is."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from recsieve.denoisers.base import LossBatch
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.errors import ConfigError


@dataclass(frozen=True)
class Reweighted:
    """Weigh an interaction by the predicted probability of its label to the power `beta` (R-CE, Eqs. 5 and 6).

    ŷ^β for a positive and (1−ŷ)^β for a negative are both exp(−β·CE), which stays finite at any logit.
    """

    search_space: ClassVar[SearchSpace] = {"beta": Range(0.02, 1.0)}

    beta: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.beta < math.inf:
            raise ConfigError(
                f"beta is {self.beta}, but it is the power that turns a prediction into a weight: "
                "give 0 (all weights equal) or more, e.g. 0.2."
            )

    def weights(self, batch: LossBatch) -> Tensor:
        return (-self.beta * batch.losses).exp()
