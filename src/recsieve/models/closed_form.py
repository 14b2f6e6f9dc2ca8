"""What closed-form models share: the matrix of weights they start from, and a fitting of one step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll
from recsieve.errors import ConfigError
from recsieve.models.learner import Fitting, Run
from recsieve.models.scorer import Scorer


class ClosedForm(Fitting):
    """A fitting of one step, computed when it is first needed."""

    def __init__(self, solve: Callable[[], Scorer]) -> None:
        self._solve = solve
        self._solved: Scorer | None = None

    def advance(self) -> float:
        self.scorer()
        self.step = 1
        return math.nan

    def scorer(self) -> Scorer:
        if self._solved is None:
            self._solved = self._solve()
        return self._solved


class Solved(ABC):
    """A learner that solves its model in one step; it has no losses for a strategy to weight."""

    uses_seed: ClassVar[bool] = False
    on_ranks: ClassVar[bool] = False  # whether `solve` also works where ranks share the interactions

    @abstractmethod
    def solve(self, train: Interactions) -> Scorer:
        """The fitted model."""

    @abstractmethod
    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> Scorer:
        """The fitted model from its saved state; everything that indexes memory is checked."""

    def begin(self, split: Split, run: Run) -> ClosedForm:
        if not self.on_ranks:
            require_one_process(run, type(self).__name__)
        return ClosedForm(lambda: self.solve(split.train))

    def accepts(self, denoiser: type) -> bool:
        return denoiser is KeepAll


def of_all_ranks(train: Interactions) -> Interactions:
    """The interactions of all ranks, in the order of one process, with only their weights."""
    if train.group.size == 1:
        return train
    users, items = train.all_gather_values(train.users), train.all_gather_values(train.items)
    weight = None if train.weight is None else train.all_gather_values(train.weight)
    return Interactions(users, items, train.user_ids, train.item_ids, weight=weight)


def observed_weights(train: Interactions) -> csr_array:
    """The weight of each pair, 1 if none are given: (users, items), float32; including pairs of weight 0."""
    matrix = csr_array((train.weights_or_ones, (train.users, train.items)), shape=(train.n_users, train.n_items))
    matrix.sort_indices()
    return matrix


def weight_matrix(train: Interactions) -> csr_array:
    """The weight of each pair as above, without pairs of weight 0."""
    matrix = observed_weights(train)
    matrix.eliminate_zeros()
    return matrix


def with_values(matrix: csr_array, values: NDArray[np.floating]) -> csr_array:
    """The same entries with other values."""
    return csr_array((values.astype(np.float32, copy=False), matrix.indices, matrix.indptr), shape=matrix.shape)


def require_one_process(run: Run, model: str) -> None:
    """Refuse a group of ranks if a model is fitted by one process only."""
    if run.group.size > 1:
        raise ConfigError(
            f"{model} is fitted by one process, but {run.group.size} were started: start it without torchrun, or use a "
            "model that is trained by gradients, e.g. gmf."
        )
