"""The contract of fitting: a learner starts a fitting, which advances step by step. A step is an epoch, a sweep or a
closed form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.interactions import CLEAN, Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import Context, Denoiser, InteractionMemory
from recsieve.errors import ConfigError
from recsieve.models.scorer import Scorer


@dataclass(frozen=True)
class Run:
    """The settings of a fit apart from the data."""

    seed: int
    make_denoiser: Callable[[Context], Denoiser]
    group: Communicator = SINGLE_PROCESS
    memory: InteractionMemory | None = None  # to be filled with the losses and weights of every interaction


class Earlier(NamedTuple):
    """A model fitted earlier, and how its users and items correspond to those of a new fit that starts from its
    vectors.
    """

    scorer: Scorer
    users: NDArray[np.int64]  # the code there of each user here, −1 where there is none
    items: NDArray[np.int64]
    epochs: int  # for which it was fitted
    more: int  # epochs that are to follow
    fresh: NDArray[np.bool_]  # which interactions it has not seen


class Fitting(ABC):
    """A model that is being fitted: call `advance()` until `step` is `total`.

    `state_dict()` has everything needed to continue elsewhere, with the same results as without a stop. A fitting of
    one step has none: it is computed again. Where ranks share the data, all of them have to make the same calls:
    `scorer()` and `state_dict()` may communicate, too.
    """

    step: int = 0
    total: int = 1
    anew_per_refresh: int = 5  # how many epochs from the start come to one that goes on from an earlier model
    forgets: bool = False  # whether going on with fresh interactions costs what it knew of the others
    steps_per_epoch: int = 1  # the model is validated after each epoch, unless something else is asked for

    @abstractmethod
    def advance(self) -> float:
        """Continue to the next step at which something is due; returns the loss since the last one, NaN if there is
        none.
        """

    @abstractmethod
    def scorer(self) -> Scorer:
        """The current model, prepared for ranking; the next `advance` may change it."""

    def finish(self) -> Scorer:
        """The model after all steps, without a look on the way."""
        while self.step < self.total:
            self.advance()
        return self.scorer().prepare()

    def start_from(self, earlier: Earlier) -> bool:
        """Start from an earlier model's vectors and epoch, before the first step; False if that is not possible."""
        return False

    def validation_loss(self, validation: Interactions) -> float:
        """The mean loss on held-out data."""
        raise ConfigError(f"{self.scorer().title} has no validation loss: select by a metric, e.g. 'ndcg@20'.")

    def trimmed_loss(self, validation: Interactions, share: float) -> float:
        """The mean loss on held-out data without the largest losses of a share of its positives."""
        return self.validation_loss(validation)  # says that there is none

    def history(self) -> pl.DataFrame:
        """The record of the fitting so far, one row per interval; a closed form has none."""
        return pl.DataFrame(schema={"step": pl.Int64, "epoch": pl.Int64, "loss": pl.Float64})

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        del state  # a fitting of one step has none


def context_of(data: Interactions, steps_per_epoch: int, losses_per_positive: int) -> Context:
    """What a strategy may know before the training begins, the same on each rank."""
    popularity = torch.from_numpy(data.group.sum(data.item_counts()))
    clean = None
    if data.group.size == 1 and data.false_positive is not None:
        clean = torch.from_numpy(data.false_positive == CLEAN)
    return Context(
        data.n_users, data.n_items, data.all_reduce_length(), popularity, steps_per_epoch, losses_per_positive, clean
    )


class Learner(Protocol):
    """A model with its options that fits itself to data.

    It may also have any of these:

    - `search_space`, what `tune` searches, by option;
    - `uses_seed = False`, if every seed gives the same model;
    - `personal = False`, if everybody gets the same list: `auto` neither denoises nor blends it;
    - `grid(train)`, the few options that `auto` tries, the default first;
    - `seconds(train, training)`, about how long a fit with such training settings takes, for the plan of `auto`;
    - `memory(n_items)`, the minimum number of bytes: `auto` and comparisons leave out what does not fit;
    - `weight_options`, the options with which `auto` tries noise weights, if there are several.
    """

    def begin(self, split: Split, run: Run) -> Fitting:
        """A fitting at step 0."""

    def accepts(self, denoiser: type) -> bool:
        """Whether a kind of strategy makes sense for this learner."""

    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> Scorer:
        """The fitted model from its saved state; everything that indexes memory is checked."""
