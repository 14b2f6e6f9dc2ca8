"""What a denoising strategy sees, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity


@dataclass(frozen=True)
class LossBatch:
    """The detached losses of a batch and what they belong to.

    `step` counts training steps from 1 (the paper's T). `users`, `items` and `ids` may be left out in a loop that has
    no use for them; `ids` number the training interactions and are −1 for a negative. Under a pairwise objective every
    loss is of a positive.
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
    losses_per_positive: int  # in a batch: 1 + negatives, or 1 where a positive and its negatives share one loss
    clean: Tensor | None = None  # (interactions,) known true positives; only for strategies that say they use them
    fidelity: Fidelity = "paper"  # of the run


@dataclass(frozen=True)
class NextEpoch:
    """What a strategy asks of the next epoch, by interaction: (interactions,) each; None leaves it as it is."""

    labels: Tensor | None = None  # what each is learned as, from 0 to 1
    weights: Tensor | None = None  # what each counts, times the weight that it was given
    chosen: Tensor | None = None  # (any number,) the interactions that the epoch is made of; one may come again


def check_fidelity(fidelity: str) -> None:
    """Refuse what is neither of the two ways to count."""
    if fidelity not in ("paper", "authors"):
        raise ConfigError(f"fidelity is '{fidelity}': give 'paper' or 'authors'.")


class Denoiser(Protocol):
    """Turns the losses of a batch into weights; 0 drops an interaction.

    It may also have, each of them optional:
    - a field `context` of type `Context`, given when it is made;
    - `end_epoch(memory: EpochMemory) -> NextEpoch | None`, called after the last step of an epoch;
    - `state_dict()` and `load_state_dict()`, where it remembers anything;
    - `first_epoch() -> NextEpoch | None`, asked before the first step;
    - `n_candidates(step)` and `choose(losses, draws)`: for each positive so many of its user's interactions are drawn,
      and by their losses (n, k) and a random number each (n,) it says which of them is trained on (n,);
    - `divides_by = "batch"`, where the mean loss divides by all of the batch instead of what is kept;
    - `uses_noise_labels = True`, where known false positives shall come with the label 0, and ids from 0;
    - `uses_clean_labels = True`, where `context.clean` shall say which are known to be true positives;
    - `search_space`, what `tune` looks through, by option: a `Range`, or the words to choose from.
    """

    def weights(self, batch: LossBatch) -> Tensor: ...
