"""Vectors of users that were not fitted, for models whose items stay as they are.

A new user's vector w is the most probable one given their items, as in training by cross-entropy: it minimises
Σ_profile c_i·softplus(−s_i) + ω·Σ_others softplus(s_j) + ½·(w − μ)ᵀΣ⁻¹(w − μ), s = V·w + b, where ω makes the others
together count as much as the profile. The prior N(μ, Σ) is how the vectors of the fitted users lie, so nobody has to
say how strongly a short profile is held back. The problem is convex, and a few steps of Newton solve it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from recsieve.models.scorer import Factors, Scorer

_PRIOR_USERS = 4096  # at most, spread over all, from whom the prior is taken
_SHRINKAGE = 0.05  # of the prior's covariance towards a multiple of 1, so that it can be inverted
_STEPS, _CONVERGED = 12, 1e-6  # of Newton, and of what the next step would win

# Of gradient descent, where scores are no product of vectors.
_SAMPLED_ITEMS, _DESCENT_STEPS, _RATE = 512, 60, 0.1


class FoldedUsers(Scorer):
    """New users with vectors, beside the items that were fitted; scores are logits."""

    def __init__(self, product: Factors, title: str) -> None:
        super().__init__()
        self.n_users, self.n_items = len(product.users), len(product.items)
        self._product, self._title = product, title

    def factors(self, users: Tensor) -> Factors:
        return self._product._replace(users=self._product.users[users])

    def log_score(self, users: Tensor) -> Tensor:
        return self.score(users)

    @property
    def title(self) -> str:
        return self._title


class Prior(NamedTuple):
    """How the vectors of the fitted users lie."""

    mean: Tensor  # (factors,)
    covariance: Tensor  # (factors, factors)
    precision: Tensor  # its inverse

    @classmethod
    def of(cls, users: Tensor) -> Prior:
        some = users[:: -(-len(users) // _PRIOR_USERS) or 1].detach().double()
        mean = some.mean(dim=0)
        covariance = (some - mean).T @ (some - mean) / len(some)
        spread = covariance.diagonal().mean().clamp(min=1e-12)
        covariance = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * spread * torch.eye(len(mean), dtype=mean.dtype)
        return cls(mean, covariance, torch.linalg.inv(covariance))


@torch.no_grad()
def solve_users(profiles: csr_array, prior: Prior, items: Tensor, bias: float = 0.0) -> Tensor:
    """The vectors of new users from their profiles: rows of weights, (n, items) -> (n, factors)."""
    solved = [_newton(*row, prior, items, bias) for row in rows_of(profiles)]
    return torch.stack(solved).float() if solved else items.new_empty(0, items.shape[1])


def rows_of(profiles: csr_array) -> list[tuple[Tensor, Tensor]]:
    """The items of each profile that count, and what they count."""
    items, weights = torch.from_numpy(profiles.indices.astype(np.int64)), torch.from_numpy(profiles.data).float()
    bounds = zip(profiles.indptr[:-1], profiles.indptr[1:], strict=True)
    return [(items[a:b][weights[a:b] > 0], weights[a:b][weights[a:b] > 0]) for a, b in bounds]


def _newton(met: Tensor, weights: Tensor, prior: Prior, items: Tensor, bias: float) -> Tensor:
    """The vector of one user."""
    vector = prior.mean
    if not len(met):
        return vector
    counts = torch.full((len(items),), float(weights.sum()) / max(len(items) - len(met), 1))
    counts[met] = weights

    def loss(vector: Tensor, logits: Tensor) -> float:
        away = vector - prior.mean
        signed = logits.index_copy(0, met, -logits[met])
        return float((counts * functional.softplus(signed)).sum() + away @ prior.precision @ away / 2)

    logits = items @ vector.float() + bias
    for _ in range(_STEPS):
        chances = torch.sigmoid(logits)
        slopes = (counts * chances).index_add(0, met, weights, alpha=-1)
        gradient = (items.T @ slopes).double() + prior.precision @ (vector - prior.mean)
        curvature = ((items.T * (counts * chances * (1 - chances))) @ items).double() + prior.precision
        step = torch.linalg.solve(curvature, gradient)
        if float(gradient @ step) < _CONVERGED:
            break
        before, moved = loss(vector, logits), items @ step.float()
        while loss(vector - step, logits - moved) > before and float(gradient @ step) > _CONVERGED:
            step, moved = step / 2, moved / 2  # too far: the loss is not as steep there
        vector, logits = vector - step, logits - moved
    return vector


def descend_to_users(profiles: csr_array, prior: Prior, score: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The same by gradient descent, for scores that are no product: a vector and items -> their logits.

    The others are a sample of items, alike for all users, so that a user's vector does not hang on who is asked with.
    """
    root = torch.linalg.cholesky(prior.covariance).float()
    n_items = profiles.shape[1]
    others = torch.arange(0, n_items, -(-n_items // _SAMPLED_ITEMS) or 1)
    users = [prior.mean.float() + root @ _descend(*row, others, prior, root, score) for row in rows_of(profiles)]
    return torch.stack(users) if users else torch.empty(0, len(prior.mean))


def _descend(met: Tensor, weights: Tensor, others: Tensor, prior: Prior, root: Tensor, score: Any) -> Tensor:
    """Where a user stands, in units of the prior's deviations."""
    others = others[~torch.isin(others, met)]
    items = torch.cat([met, others])
    labels = torch.cat([torch.ones(len(met)), torch.zeros(len(others))])
    counts = torch.cat([weights, torch.full((len(others),), float(weights.sum()) / max(len(others), 1))])
    place = torch.zeros(len(prior.mean), requires_grad=True)
    if not len(met):
        return place.detach()
    adam = torch.optim.Adam([place], lr=_RATE)
    with torch.enable_grad():
        for _ in range(_DESCENT_STEPS):
            logits = score(prior.mean.float() + root @ place, items)
            losses = functional.binary_cross_entropy_with_logits(logits, labels, counts, reduction="sum")
            place.grad = torch.autograd.grad(losses + place.square().sum() / 2, place)[0]
            adam.step()
    return place.detach()


@torch.no_grad()
def dot_contributions(profile: csr_array, of: Tensor, users: Tensor, items: Tensor, bias: float = 0.0) -> Tensor:
    """What each item of a profile adds to the scores of some, v_j·Σ·v_i·c_i·(1 − p_i): (n, entries of the profile).

    A vector that is solved is μ, plus the sum of Σ·v_i·c_i·(1 − p_i), less what all other items take from it.
    """
    prior = Prior.of(users)
    (vector,) = solve_users(profile, prior, items, bias)
    met = items[torch.from_numpy(profile.indices.astype(np.int64))]
    missing = torch.from_numpy(profile.data).float() * torch.sigmoid(-(met @ vector + bias))
    return items[of] @ prior.covariance.float() @ (met.T * missing)


def cosines(vectors: Tensor, items: Tensor) -> Tensor:
    """How alike the vectors of all items are to those of some: (n, items)."""
    lengths = functional.normalize(vectors.detach())
    return lengths[items] @ lengths.T
