"""Which of the models that a training passes through is kept, and when the training ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.data.interactions import CSR, Interactions
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.sampling import Sampler
from recsieve.training.checkpoint import copy_weights


@dataclass
class Selection:
    """Keeps the weights with the best validation score, and counts how long ago that was."""

    patience: int
    best_score: float = -math.inf
    best_step: int = 0
    without_progress: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)

    def consider(self, model: Model, score: float, step: int) -> bool:
        """Take a validation score (higher is better) into account; True if it is the best so far, as NaN never is."""
        better = score > self.best_score or not (self.weights or math.isnan(score))
        if better:
            self.best_score, self.best_step, self.without_progress = score, step, 0
            self.weights = copy_weights(model)
        else:
            self.without_progress += 1
        return better

    @property
    def exhausted(self) -> bool:
        return self.without_progress >= self.patience

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("best_score", "best_step", "without_progress", "weights")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


def learned_labels(model: Model, loss: DenoisedLoss, data: Interactions) -> NDArray[np.float32] | None:
    """What the interactions are learned as, where that is not all alike: known false positives as negatives."""
    if not (model.learns_from_flags or getattr(loss.denoiser, "learns_from_flags", False)):
        return None
    require_flags(data)
    return (~data.is_false_positive).astype(np.float32)


def require_flags(data: Interactions) -> None:
    """Say what is missing where noise has to be known."""
    if not data.group.any(data.has_flags):
        raise ConfigError(
            "the model or strategy learns from what was regretted, but that is not known of any interaction: give a "
            'rule for false positives, such as "rating < 3", or a model and strategy that learn from clicks alone.'
        )


@torch.no_grad()
def own_loss(
    model: Model, loss: DenoisedLoss, validation: Interactions, observed: CSR, *, batch_size: int, seed: int, step: int
) -> float:
    """The method's own loss on validation data with fresh negatives: the mean of the batches' means.

    T-CE is taken at its current drop rate, so later models look better for free: an option for the paper's sake.
    """
    labels = learned_labels(model, loss, validation) if validation.group.any(validation.has_flags) else None
    sampler = Sampler(validation, seed=seed, observed=observed, by_user=model.by_user, labels=labels)
    model.eval()
    loss.eval()
    means = []
    for batch in sampler.batches(step, batch_size):  # negatives of its own for each validation
        # Ids are of training interactions elsewhere; beside labels they only tell what was regretted from negatives.
        ids = None if labels is None else batch.ids
        logits = model(batch.users, batch.items)
        about = {"users": batch.users, "items": batch.items, "ids": ids, "places": batch.places, "n_all": batch.n_all}
        means.append(float(loss(logits, batch.labels, **about)))
    model.train()
    loss.train()
    means_of_all = validation.group.sum(np.array(means)) / validation.group.size
    return float(sum(means_of_all) / len(means))
