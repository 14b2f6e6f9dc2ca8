"""The contract of a denoising strategy: what it gets, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity


@dataclass(frozen=True)
class LossBatch:
    """The detached losses of a batch, and what they belong to.

    `step` counts training steps from 1 (the paper's T). `users`, `items` and `ids` may be None in a loop that does not
    have them. `ids` are the numbers of the training interactions, −1 for a negative. With a pairwise objective, every
    loss is that of a positive.
    """

    losses: Tensor  # (n,) detached
    labels: Tensor  # (n,) above 0 for what is learned as liked: an observed interaction
    step: int
    users: Tensor | None = None
    items: Tensor | None = None
    ids: Tensor | None = None


@dataclass(frozen=True)
class Context:
    """What is known about a training before it starts, for strategies that need it."""

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
    """What a strategy wants for the next epoch, one value per interaction each; None changes nothing."""

    labels: Tensor | None = None  # what each is learned as, from 0 to 1
    weights: Tensor | None = None  # what each counts, times the weight that it was given
    chosen: Tensor | None = None  # (any number,) the interactions that the epoch is made of; one may come again


def check_fidelity(fidelity: str) -> None:
    """Refuse an unknown fidelity."""
    if fidelity not in ("paper", "authors"):
        raise ConfigError(f"fidelity is '{fidelity}': give 'paper' or 'authors'.")


class Denoiser(Protocol):
    """Turns the losses of a batch into weights; 0 drops an interaction.

    It may also have any of these:

    - a field `context` of type `Context`, which is set when it is created;
    - `end_epoch(memory: EpochMemory) -> NextEpoch | None`, called after the last step of an epoch;
    - `state_dict()` and `load_state_dict()`, if it has a memory;
    - `first_epoch() -> NextEpoch | None`, called before the first step;
    - `n_candidates(step)` and `choose(losses, draws)`: for each positive, that many interactions of its user are
      sampled, and from their losses (n, k) and a random number each (n,) it returns which of them to train on (n,);
    - `divides_by = "batch"`, if the mean loss divides by the batch size instead of the number kept;
    - `uses_noise_labels = True`, to get known false positives with the label 0, and ids from 0;
    - `uses_clean_labels = True`, to get the known true positives in `context.clean`;
    - `search_space`, what `tune` searches, by option: a `Range`, or the words to choose from.
    """

    def weights(self, batch: LossBatch) -> Tensor: ...
