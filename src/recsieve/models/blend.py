"""A ranking from fitted models: one or several blended, with an offset on their scores; nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from recsieve.models.scorer import Factors, Scorer

NOISE = ("users", "items", "user_factors", "item_factors")


class Offset(nn.Module):
    """What is added to the logarithm of a score: a number for each item, and c · log(1 − P) if P is known.

    P is the probability that a pair is noise. `noise` has its logit in four parts: the logit of user u and item i is
    users[u] + items[i] + user_factors[u] · item_factors[i]. All of it is in the `state_dict`.
    """

    item: Tensor
    strength: Tensor
    noise_users: Tensor | None
    noise_items: Tensor
    noise_user_factors: Tensor
    noise_item_factors: Tensor

    def __init__(self, item: Tensor, noise: Mapping[str, Tensor] | None = None, strength: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("item", item)  # (items,), such as γ · log popularity
        self.register_buffer("strength", torch.tensor(strength, dtype=torch.float32))  # c
        for name in NOISE:
            self.register_buffer(f"noise_{name}", None if noise is None else noise[name])

    @classmethod
    def from_state(cls, state: Mapping[str, Tensor]) -> Offset:
        """An offset from its `state_dict`."""
        noise = {name: state[f"noise_{name}"] for name in NOISE} if "noise_users" in state else None
        return cls(state["item"], noise, float(state.get("strength", 1.0)))

    def forward(self, users: Tensor) -> Tensor:
        """The offsets of all items for some users: (n, items), or (1, items) if they are the same for all."""
        if self.noise_users is None:
            return self.item[None]
        logits = torch.addmm(self.noise_items, self.noise_user_factors[users], self.noise_item_factors.T)
        logits += self.noise_users[users, None]
        return self.item - self.strength * functional.softplus(logits)

    def of_new_users(self, n_users: int) -> Offset:
        """The offset of unknown users: their part of P's logit is the mean over the fitted users."""
        if self.noise_users is None:
            return self
        noise = {name: getattr(self, f"noise_{name}") for name in NOISE}
        for name in ("users", "user_factors"):
            noise[name] = noise[name].mean(dim=0).expand(n_users, *noise[name].shape[1:])
        return Offset(self.item, noise, float(self.strength))


class Blend(Scorer):
    """A weighted sum of the scores of fitted models, each standardised to mean 0 and deviation 1 for each user.

    An offset is added to the logarithm of each score first. A single model is not standardised.
    """

    def __init__(
        self, parts: Sequence[Scorer], weights: Sequence[float] = (1.0,), offset: Offset | None = None
    ) -> None:
        super().__init__()
        self.n_users, self.n_items = parts[0].n_users, parts[0].n_items
        self.parts, self.offset, self._weights = nn.ModuleList(parts), offset, tuple(weights)
        self.title = " + ".join(part.title for part in parts)

    def prepare(self) -> Self:
        for part in self.scorers:
            part.prepare()
        return self

    @property
    def scorers(self) -> list[Scorer]:
        return [part for part in self.parts if isinstance(part, Scorer)]

    def factors(self, users: Tensor) -> Factors | None:
        return self.scorers[0].factors(users) if len(self.parts) == 1 and self.offset is None else None

    @torch.no_grad()
    def score(self, users: Tensor) -> Tensor:
        if self.offset is None:
            scores = [part.score(users) for part in self.scorers]
        else:
            offset = self.offset(users)
            scores = [part.log_score(users) + offset for part in self.scorers]
        return scores[0] if len(scores) == 1 else blended(scores, self._weights)

    def with_offset(self, offset: Offset | None) -> Blend:
        """The same blend with another offset, or with none."""
        return self.of(self.scorers, offset)

    def of(self, parts: Sequence[Scorer], offset: Offset | None) -> Blend:
        """Other parts and another offset, blended in the same way."""
        return Blend(parts, self._weights, offset)

    def fold_in(self, profiles: csr_array) -> Blend:
        parts = [part.fold_in(profiles) for part in self.scorers]
        offset = None if self.offset is None else self.offset.of_new_users(profiles.shape[0])
        return Blend(parts, self._weights, offset)

    def similar(self, items: Tensor) -> Tensor:
        """The similarities of the parts, weighted and standardised like their scores."""
        alike = [part.similar(items) for part in self.scorers]
        return alike[0] if len(alike) == 1 else blended(alike, self._weights)

    def similar_users(self, users: Tensor) -> Tensor:
        alike = [part.similar_users(users) for part in self.scorers]
        return alike[0] if len(alike) == 1 else blended(alike, self._weights)

    @torch.no_grad()
    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        """Those of the parts, before logarithm and offset, in units of the deviation of a part's scores."""
        parts = [part.contributions(profile, items) for part in self.scorers]
        if len(parts) == 1:
            return parts[0]
        user = torch.zeros(1, dtype=torch.int64)
        deviations = [part.fold_in(profile).score(user).std().clamp(min=1e-12) for part in self.scorers]
        shares = [weight / deviation for weight, deviation in zip(self._weights, deviations, strict=True)]
        return torch.stack([share * part for share, part in zip(shares, parts, strict=True)]).sum(0)


def blended(scores: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """The weighted sum of standardised scores: (n, items) each."""
    return weighted_sum([standardised(of_part) for of_part in scores], weights)


def standardised(scores: Tensor) -> Tensor:
    """Scores with mean 0 and deviation 1 for each user: (n, items)."""
    centred = scores - scores.mean(dim=1, keepdim=True)
    return centred.div_(centred.std(dim=1, keepdim=True).clamp_(min=1e-12))


def weighted_sum(scores: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Each tensor times its weight, summed."""
    total = weights[0] * scores[0]
    for of_part, weight in zip(scores[1:], weights[1:], strict=True):
        total.add_(of_part, alpha=weight)
    return total
