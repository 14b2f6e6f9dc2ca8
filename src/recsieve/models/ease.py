"""EASE: item-item weights in closed form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.interactions import Interactions
from recsieve.denoisers import Range, SearchSpace
from recsieve.errors import ConfigError
from recsieve.memory import free_memory, gigabytes
from recsieve.models.closed_form import Solved, observed_weights, weight_matrix, with_values
from recsieve.models.cost import INVERSE, product_seconds, ranking_seconds
from recsieve.models.item_item import DenseItemScorer
from recsieve.models.item_products import gram_matrix
from recsieve.models.state import checked

LARGEST_L2 = 1e30  # the inverse of more is nothing in 32 bits
_PROFILES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {"profiles": np.sqrt, "targets": np.ones_like}


@dataclass(frozen=True)
class EASE(Solved):
    """The linear map from each user's items to the others with the smallest error, B = 1 − P·diag(1/diag P) with P =
    (XᵀX + λ·1)⁻¹ (Steck, 2019).

    `l2` is λ; by default it is `default_l2` of the data. Interaction weights enter as √w in X and in the scored
    profiles (`weights="profiles"`), or only in what is to be predicted (`"targets"`), where an interaction of weight 0
    still shows what a user likes. It takes items² × 8 bytes, and half as much again with weights on targets.
    """

    on_ranks: ClassVar[bool] = True
    search_space: ClassVar[SearchSpace] = {"l2": Range(5, 5_000)}
    weight_options: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"weights": "targets"})

    l2: float | None = None
    weights: Literal["profiles", "targets"] = "profiles"

    def __post_init__(self) -> None:
        if self.l2 is not None and not 0 < self.l2 <= LARGEST_L2:
            raise ConfigError(
                f"l2 is {self.l2:g}, but it is added to the count of each item: give a number above 0 and up "
                f"to {LARGEST_L2:g}, e.g. 500."
            )
        if self.weights not in _PROFILES:
            raise ConfigError(f"weights is '{self.weights}': give 'profiles' or 'targets'.")

    @staticmethod
    def memory(n_items: int) -> int:
        """The minimum number of bytes it takes, for `auto` and comparisons."""
        return 2 * 4 * n_items**2

    @staticmethod
    def seconds(train: Interactions, training: Mapping[str, Any]) -> float:
        """About how long it takes to fit and validate."""
        scoring = 5e-10 * len(train) * train.n_items
        return INVERSE * train.n_items**3 + product_seconds(train) / 4 + scoring + ranking_seconds(train)

    @staticmethod
    def grid(train: Interactions) -> list[dict[str, Any]]:
        """The few options that `auto` tries, the default first."""
        usual = default_l2(weight_matrix(train))
        return [{}, {"l2": _rounded(usual / 5)}, {"l2": _rounded(usual * 5)}]

    def solve(self, train: Interactions) -> DenseItemScorer:
        """The item-item weights, and the profiles that they are applied to."""
        weights, group = self._weights(train), train.group
        on_targets = self.weights == "targets" and group.any(bool((weights.data != 1).any()))
        _require_memory(train.n_items, copies=3 if on_targets else 2)
        profiles = with_values(weights, _PROFILES[self.weights](weights.data))
        l2 = default_l2(profiles, group) if self.l2 is None else self.l2
        solved = _solve_targets(profiles, weights, l2, group) if on_targets else _solve(profiles, l2, group)
        return DenseItemScorer("EASE", weights, torch.from_numpy(solved), _PROFILES[self.weights])

    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> DenseItemScorer:
        weights = checked(state, "weights", torch.float32, (train.n_items, train.n_items))
        return DenseItemScorer("EASE", self._weights(train), weights, _PROFILES[self.weights])

    def _weights(self, train: Interactions) -> csr_array:
        return observed_weights(train) if self.weights == "targets" else weight_matrix(train)


def _rounded(l2: float) -> float:
    return float(f"{l2:.2g}")


def default_l2(profiles: csr_array, group: Communicator = SINGLE_PROCESS) -> float:
    """Five times the mean diagonal of the Gram matrix, which is the number of interactions (or weight) of the mean
    item.

    This is the best of five multiples by validation NDCG@20 over six data sets (`research/studies/defaults.py`), but
    not on each: modcloth, where hardly anything beats popularity, needs four times as much, and steam and goodbooks a
    fifth. The size of the data does not show how informative pairs of items are, so `auto` tries more and less.
    """
    squares = group.sum(np.array([np.square(profiles.data, dtype=np.float64).sum()]))
    return 5 * float(squares[0]) / profiles.shape[1] or 1.0


def _solve(profiles: csr_array, l2: float, group: Communicator) -> NDArray[np.float32]:
    """B, in the memory of the inverse; in a group every rank computes it from the sum of the Gram matrices."""
    inverse = _inverse_gram(profiles, l2, group)
    _to_weights(inverse, inverse.diagonal().copy())
    return inverse


def _solve_targets(profiles: csr_array, weights: csr_array, l2: float, group: Communicator) -> NDArray[np.float32]:
    """b_j = P·(Xᵀx̃_j − γ_j·e_j), X̃ = w ⊙ X, with the γ_j that makes b_jj 0."""
    inverse = _inverse_gram(profiles, l2, group)
    solved = torch.from_numpy(inverse) @ torch.from_numpy(gram_matrix(profiles, weights, group))
    scale = solved.diagonal() / torch.from_numpy(inverse).diagonal()
    torch.addcmul(solved, torch.from_numpy(inverse), scale.clone(), value=-1, out=solved)
    return solved.fill_diagonal_(0).numpy()


def _inverse_gram(profiles: csr_array, l2: float, group: Communicator) -> NDArray[np.float32]:
    """(XᵀX + λ·1)⁻¹, by Cholesky, which reads the lower half alone.

    By torch and not by SciPy, whose OpenBLAS crashed in a process that had forked before.
    """
    gram = torch.from_numpy(gram_matrix(profiles, group=group))
    gram.diagonal().add_(l2)
    factor, failed = torch.linalg.cholesky_ex(gram)
    if failed.item():
        raise ConfigError(f"l2 is {l2:g}, which is too small for this data: give a larger one, e.g. 500.")
    del gram
    return torch.cholesky_inverse(factor).numpy()


def _require_memory(n_items: int, copies: int) -> None:
    needed, free = copies * 4 * n_items**2, free_memory()
    if needed > free:
        raise ConfigError(
            f"EASE on {n_items:,} items needs {gigabytes(needed)} of memory, and {gigabytes(free)} is free: use ials, "
            "which only needs a vector per item, or keep fewer items with k_core."
        )


@njit(cache=True, nogil=True)
def _to_weights(inverse, diagonal):
    """Turn P, given in the lower half, into −P_ij / P_jj, with 0 on the diagonal."""
    for i in range(len(inverse)):
        for j in range(i):
            inverse[j, i] = -inverse[i, j] / diagonal[i]
            inverse[i, j] = -inverse[i, j] / diagonal[j]
        inverse[i, i] = 0
