"""Ranking otherwise than a model was trained: an offset is added to its scores, and nothing is trained again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from recsieve.models.scorer import Scorer

NOISE = ("users", "items", "user_factors", "item_factors")


class Offset(nn.Module):
    """What is added to a pair's score: a number for the item, and log(1 − P) where P is known.

    P is the probability that the pair would be noise; `noise` has its logit in four parts, the logit of user u and item
    i being users[u] + items[i] + user_factors[u] · item_factors[i]. All of it is in the `state_dict`.
    """

    item: Tensor
    noise_users: Tensor | None
    noise_items: Tensor
    noise_user_factors: Tensor
    noise_item_factors: Tensor

    def __init__(self, item: Tensor, noise: Mapping[str, Tensor] | None = None) -> None:
        super().__init__()
        self.register_buffer("item", item)  # (items,), such as γ · log popularity
        for name in NOISE:
            self.register_buffer(f"noise_{name}", None if noise is None else noise[name])

    @classmethod
    def from_state(cls, state: Mapping[str, Tensor]) -> Offset:
        """An offset from its `state_dict`."""
        noise = {name: state[f"noise_{name}"] for name in NOISE} if len(state) > 1 else None
        return cls(state["item"], noise)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """The offset of each pair: (n,), (n,) -> (n,)."""
        if self.noise_users is None:
            return self.item[items]
        product = (self.noise_user_factors[users] * self.noise_item_factors[items]).sum(-1)
        return self.item[items] - functional.softplus(self.noise_users[users] + self.noise_items[items] + product)

    def of_all_items(self, users: Tensor) -> Tensor:
        """The offsets of all items for some users: (n, items), or (1, items) where they are the same for all."""
        if self.noise_users is None:
            return self.item[None]
        logits = torch.addmm(self.noise_items, self.noise_user_factors[users], self.noise_item_factors.T)
        logits += self.noise_users[users, None]
        return self.item - functional.softplus(logits)


class OffsetScorer(Scorer):
    """A fitted model whose scores are shifted by an offset."""

    def __init__(self, base: Scorer, offset: Offset) -> None:
        super().__init__()
        self.n_users, self.n_items = base.n_users, base.n_items
        self.base, self.offset = base, offset

    def prepare(self) -> Self:
        self.base.prepare()
        return self

    @torch.no_grad()
    def score(self, users: Tensor) -> Tensor:
        return self.base.score(users) + self.offset.of_all_items(users)
