"""Early stopping: which weights of a fit are kept, and when it ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from recsieve.models import Scorer
from recsieve.storage.tensor_file import is_finite


@dataclass
class EarlyStopping:
    """Keeps the weights with the best validation score, and counts validations since then."""

    patience: int
    best_score: float = -math.inf
    best_step: int = 0
    without_progress: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)  # empty where the best is what the fitting has now

    def consider(self, scorer: Scorer, score: float, step: int, *, last: bool) -> bool:
        """Take a validation score (higher is better); True if it is the best so far, which NaN never is."""
        better = score > self.best_score or (self.best_step == 0 and not math.isnan(score))
        if better:
            self.best_score, self.best_step, self.without_progress = score, step, 0
            self.weights = {} if last else {name: tensor.clone() for name, tensor in scorer.state_dict().items()}
        else:
            self.without_progress += 1
        return better

    @property
    def exhausted(self) -> bool:
        return self.without_progress >= self.patience

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("best_score", "best_step", "without_progress", "weights")}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        score, step, without, weights = (state[name] for name in self.state_dict())
        counts = isinstance(step, int) and isinstance(without, int) and min(step, without) >= 0
        if not counts or not isinstance(score, float) or math.isnan(score):
            raise ValueError("its best step is not a score and a count")
        if not all(isinstance(tensor, Tensor) and is_finite(tensor) for tensor in weights.values()):
            raise ValueError("the best weights are not finite")
        self.best_score, self.best_step, self.without_progress, self.weights = score, step, without, dict(weights)
