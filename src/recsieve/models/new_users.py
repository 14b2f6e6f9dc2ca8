"""Vectors of new users, for models whose item vectors stay fixed.

A new user's vector w is the most probable one given their items, each of which is a draw from all items by the softmax
of the scores. It minimises Σ_profile c_i·(log Σ_j exp s_j − s_i) + ½·(w − μ)ᵀΣ⁻¹(w − μ), with s = V·w. The prior N(μ,
Σ) is the distribution of the vectors of fitted users with about as many items, because a vector with few updates stays
near its start; so no strength of regularisation has to be chosen. Whatever the training objective was, a list depends
only on the order of the items. The problem is convex, and a few Newton steps solve it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from recsieve.models.scorer import Factors, Scorer

_PRIOR_USERS = 1000  # those nearest in the number of items, from whom the prior is taken
_WIDENING = (
    4.0  # of the covariance: fitted vectors were held back too, and lie closer together than what they stand for
)
_SHRINKAGE = 0.05  # of the prior's covariance towards a multiple of 1, so that it can be inverted
_STEPS, _CONVERGED = 12, 1e-6  # of Newton, and of what the next step would win

# Of gradient descent, where scores are no product of vectors.
_SAMPLED_ITEMS, _DESCENT_STEPS, _RATE = 512, 60, 0.1


class FoldedUsers(Scorer):
    """New users with vectors, and the fitted items; scores are logits."""

    def __init__(self, product: Factors, title: str) -> None:
        super().__init__()
        self.n_users, self.n_items = len(product.users), len(product.items)
        self._product, self.title = product, title

    def factors(self, users: Tensor) -> Factors:
        return self._product._replace(users=self._product.users[users])

    def as_log(self, scores: Tensor) -> Tensor:
        return scores


class Prior(NamedTuple):
    """The distribution of the vectors of fitted users."""

    mean: Tensor  # (factors,)
    covariance: Tensor  # (factors, factors)
    precision: Tensor  # its inverse

    @classmethod
    def of(cls, users: Tensor) -> Prior:
        some = users.detach().double()
        mean = some.mean(dim=0)
        covariance = _WIDENING * (some - mean).T @ (some - mean) / len(some)
        spread = covariance.diagonal().mean().clamp(min=1e-12)
        covariance = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * spread * torch.eye(len(mean), dtype=mean.dtype)
        return cls(mean, covariance, torch.linalg.inv(covariance))


class Priors:
    """The priors of new users by their number of items; `sizes` has that of each fitted user."""

    def __init__(self, users: Tensor, sizes: NDArray[np.int64]) -> None:
        self._users, self._order = users, np.argsort(sizes, kind="stable")[np.count_nonzero(sizes == 0) :]
        self._sizes = sizes[self._order]
        self._made: dict[int, Prior] = {}

    def of(self, size: int) -> Prior:
        middle = int(np.searchsorted(self._sizes, size) + np.searchsorted(self._sizes, size, "right")) // 2
        first = max(0, min(middle - _PRIOR_USERS // 2, len(self._order) - _PRIOR_USERS))
        if first not in self._made:
            nearest = torch.from_numpy(self._order[first : first + _PRIOR_USERS])
            self._made[first] = Prior.of(self._users[nearest])
        return self._made[first]


@torch.no_grad()
def solve_users(profiles: csr_array, priors: Priors, items: Tensor) -> Tensor:
    """The vectors of new users from their profiles: rows of weights, (n, items) -> (n, factors)."""
    solved = [_newton(met, weights, priors.of(len(met)), items) for met, weights in rows_of(profiles)]
    return torch.stack(solved).float() if solved else items.new_empty(0, items.shape[1])


def rows_of(profiles: csr_array) -> list[tuple[Tensor, Tensor]]:
    """The items of each profile with a weight above 0, and their weights."""
    items, weights = torch.from_numpy(profiles.indices.astype(np.int64)), torch.from_numpy(profiles.data).float()
    bounds = zip(profiles.indptr[:-1], profiles.indptr[1:], strict=True)
    return [(items[a:b][weights[a:b] > 0], weights[a:b][weights[a:b] > 0]) for a, b in bounds]


def _newton(met: Tensor, weights: Tensor, prior: Prior, items: Tensor) -> Tensor:
    """The vector of one user."""
    vector, total, theirs = prior.mean, float(weights.sum()), (weights @ items[met]).double()
    if not len(met):
        return vector

    def loss(vector: Tensor, scores: Tensor) -> float:
        away = vector - prior.mean
        return float(total * scores.logsumexp(0) - theirs @ vector + away @ prior.precision @ away / 2)

    scores = items @ vector.float()
    for _ in range(_STEPS):
        chances = scores.softmax(0)
        expected = chances @ items
        gradient = total * expected.double() - theirs + prior.precision @ (vector - prior.mean)
        spread = (items.T * chances) @ items - torch.outer(expected, expected)
        step = torch.linalg.solve(total * spread.double() + prior.precision, gradient)
        before, moved = loss(vector, scores), items @ step.float()
        while loss(vector - step, scores - moved) > before and float(gradient @ step) > _CONVERGED:
            step, moved = step / 2, moved / 2  # too far: the loss is not as steep there
        vector, scores = vector - step, scores - moved
        if float(gradient @ step) < _CONVERGED:
            break
    return vector


def descend_to_users(profiles: csr_array, priors: Priors, score: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The same by gradient descent, for scores that are no product: a vector and items -> their logits.

    The other items are a sample, the same for all users, so that a user's vector does not depend on the other users of
    a request.
    """
    every = -(-profiles.shape[1] // _SAMPLED_ITEMS) or 1
    others = torch.arange(0, profiles.shape[1], every)
    users = [_descend(met, weights, others, every, priors.of(len(met)), score) for met, weights in rows_of(profiles)]
    return torch.stack(users) if users else torch.empty(0, len(priors.of(0).mean))


def _descend(met: Tensor, weights: Tensor, others: Tensor, every: int, prior: Prior, score: Any) -> Tensor:
    """The vector of one user, found in units of the prior's deviations; each of the others stands for `every` items."""
    mean, root = prior.mean.float(), torch.linalg.cholesky(prior.covariance).float()
    if not len(met):
        return mean
    items = torch.cat([met, others[~torch.isin(others, met)]])
    stands_for = torch.full((len(items),), float(every))
    stands_for[: len(met)] = 1
    place = torch.zeros(len(mean), requires_grad=True)
    adam = torch.optim.Adam([place], lr=_RATE)
    with torch.enable_grad():
        for _ in range(_DESCENT_STEPS):
            scores = score(mean + root @ place, items)
            loss = weights.sum() * (scores + stands_for.log()).logsumexp(0) - weights @ scores[: len(met)]
            place.grad = torch.autograd.grad(loss + place.square().sum() / 2, place)[0]
            adam.step()
    return mean + root @ place.detach()


@torch.no_grad()
def dot_contributions(profile: csr_array, of: Tensor, priors: Priors, items: Tensor) -> Tensor:
    """What each item of a profile adds to some scores, c_i·v_j·Σ·(v_i − v̄): (n, entries of the profile).

    v̄ is the mean of all items, weighted by their probability under the solved vector w. Because w = μ + Σ·Σ_i c_i·(v_i
    − v̄), all contributions add up to the difference between the score and that of the mean user.
    """
    (vector,) = solve_users(profile, priors, items)
    covariance = priors.of(int(np.count_nonzero(profile.data))).covariance.float()
    expected = (items @ vector).softmax(0) @ items
    met = items[torch.from_numpy(profile.indices.astype(np.int64))] - expected
    return items[of] @ covariance @ (met.T * torch.from_numpy(profile.data).float())


def cosines(vectors: Tensor, items: Tensor) -> Tensor:
    """The cosine of the vectors of all items with those of some: (n, items)."""
    lengths = functional.normalize(vectors.detach())
    return lengths[items] @ lengths.T
