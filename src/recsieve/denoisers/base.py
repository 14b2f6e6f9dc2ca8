"""What a denoising strategy sees, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True)
class LossBatch:
    """The detached losses of a batch and what they belong to.

    `step` counts training steps from 1 (the paper's T). `users`, `items` and `ids` may be left out in a loop that has
    no use for them; `ids` number the training interactions and are −1 for a negative.
    """

    losses: Tensor  # (n,) detached
    labels: Tensor  # (n,) above 0 for what is learned as liked: an observed interaction
    step: int
    users: Tensor | None = None
    items: Tensor | None = None
    ids: Tensor | None = None


@dataclass(frozen=True)
class Context:
    """What is known of a training before it begins, for strategies that need it."""

    n_users: int
    n_items: int
    n_interactions: int
    popularity: Tensor  # (items,) training interactions of each
    steps_per_epoch: int
    positive_share: float  # the part of the losses in a batch that belongs to positives: 1 where each loss is of one


class Denoiser(Protocol):
    """Turns the losses of a batch into weights; 0 drops an interaction.

    A strategy with memory also has `state_dict()` and `load_state_dict()`. One with `learns_from_flags = True` is told
    which interactions are known to be false positives: they have the label 0, and ids from 0.
    """

    def weights(self, batch: LossBatch) -> Tensor: ...
