"""Collaborative denoising auto-encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from recsieve.data.interactions import CSR
from recsieve.denoisers import Range
from recsieve.errors import ConfigError, did_you_mean
from recsieve.models.base import Model, Of, embedding
from recsieve.models.hashing import DRAW_FACTOR, uniform
from recsieve.models.new_users import FoldedUsers, cosines
from recsieve.models.scorer import Factors
from recsieve.models.state import checked_profiles

# Each with its derivative, as a function of what it gives.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "sigmoid": (torch.sigmoid, lambda y: y * (1 - y)),
    "tanh": (torch.tanh, lambda y: 1 - y * y),
    "relu": (torch.relu, lambda y: (y > 0).float()),
    "identity": (lambda x: x, torch.ones_like),
}


class CDAE(Model):
    """Encodes a user's corrupted profile and user vector, and decodes the requested items (Wu et al., 2016).

    In training, each item of a profile is left out with the probability `corruption`, and the rest is scaled up to keep
    the mean of the sum. This is a re-implementation: the paper gives only the hidden size.
    """

    user_grouped_batches = True  # as in the original, which learns from one user after the other
    shardable = False  # it reads whole profiles from its tables
    search_space: ClassVar[dict[str, Range]] = {"factors": Range(8, 256, whole=True), "corruption": Range(0.1, 0.8)}
    rows_of: ClassVar[dict[str, tuple[Of, ...]]] = {
        "user.weight": ("users",),
        "encoder.weight": ("items",),
        "decoder.weight": ("items",),
        "item_bias.weight": ("items",),
    }
    offsets: Tensor
    items: Tensor
    corruption_draw: Tensor

    def __init__(
        self,
        profiles: CSR,
        generator: torch.Generator,
        *,
        factors: int = 200,
        corruption: float = 0.5,
        activation: Literal["sigmoid", "tanh", "relu", "identity"] = "sigmoid",
    ) -> None:
        super().__init__(profiles)
        if not 0 <= corruption < 1:
            raise ConfigError(f"corruption is {corruption}: give the share of a profile to corrupt, from 0 to below 1.")
        if activation not in ACTIVATIONS:
            raise ConfigError(f"there is no activation '{activation}': {did_you_mean(activation, ACTIVATIONS)}")
        self.corruption = corruption
        self.activation, self.activation_derivative = ACTIVATIONS[activation]
        self.encoder = nn.EmbeddingBag.from_pretrained(
            embedding("items", profiles, factors, generator).weight, freeze=False, sparse=True, mode="sum"
        )
        self.user = embedding("users", profiles, factors, generator)
        self.hidden_bias = nn.Parameter(torch.zeros(factors))
        self.decoder = embedding("items", profiles, factors, generator)
        self.item_bias = nn.Embedding.from_pretrained(torch.zeros(profiles.n_items, 1), freeze=False, sparse=True)
        self.register_buffer("offsets", torch.from_numpy(profiles.offsets), persistent=False)
        self.register_buffer("items", torch.from_numpy(profiles.items), persistent=False)
        # Each corruption draws its own bits from a seed and a counter, so a resumed run goes on with the same ones.
        seed = torch.randint(2**62, (), generator=generator)
        self.register_buffer("corruption_draw", seed)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        unique, inverse = users.unique(return_inverse=True)
        hidden = self.encode(unique)[inverse]  # (n, factors)
        return (hidden * self.decoder(items)).sum(-1) + self.item_bias(items).squeeze(-1)

    def encode(self, users: Tensor) -> Tensor:
        """The hidden vector of each user, from a corrupted profile in training: (n,) -> (n, factors)."""
        lengths = self.offsets[users + 1] - self.offsets[users]
        starts = lengths.cumsum(0) - lengths
        within = torch.arange(int(lengths.sum()), device=users.device) - starts.repeat_interleave(lengths)
        profile = self.items[self.offsets[users].repeat_interleave(lengths) + within]
        weights = self._corrupt(users.repeat_interleave(lengths), profile) if self.training else None
        bags = self.encoder(profile, starts, per_sample_weights=weights)
        return self.activation(bags + self.user(users) + self.hidden_bias)

    def _corrupt(self, users: Tensor, items: Tensor) -> Tensor:
        """The weight of each item in a corrupted profile: 0, or 1 scaled up."""
        self.corruption_draw += 1
        pair = users.long() * self.n_items + items
        kept = uniform(pair + self.corruption_draw * DRAW_FACTOR) >= self.corruption
        return kept / (1 - self.corruption)

    @torch.no_grad()
    def factors(self, users: Tensor) -> Factors:
        was_training = self.training
        self.eval()
        hidden = self.encode(users)
        self.train(was_training)
        return Factors(hidden, self.decoder.weight, self.item_bias.weight.squeeze(-1))

    @torch.no_grad()
    def fold_in(self, profiles: csr_array) -> FoldedUsers:
        """Users whose profiles are encoded like those of fitted users, with the mean of their user vectors."""
        hidden = self._encode_new(checked_profiles(profiles, self.n_items))
        return FoldedUsers(Factors(hidden, self.decoder.weight, self.item_bias.weight.squeeze(-1)), self.title)

    def _encode_new(self, profiles: csr_array) -> Tensor:
        items, starts = (torch.from_numpy(part.astype(np.int64)) for part in (profiles.indices, profiles.indptr[:-1]))
        bags = functional.embedding_bag(items, self.encoder.weight, starts, mode="sum")
        return self.activation(bags + self.user.weight.mean(dim=0) + self.hidden_bias)

    @torch.no_grad()
    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        """To first order: what an item adds to the hidden vector, at its current value."""
        profile = checked_profiles(profile, self.n_items)
        slopes = self.activation_derivative(self._encode_new(profile))  # (1, factors)
        met = self.encoder.weight[torch.from_numpy(profile.indices.astype(np.int64))]
        return (self.decoder.weight[items] * slopes) @ met.T

    def similar(self, items: Tensor) -> Tensor:
        """The cosine of the vectors that decode the items."""
        return cosines(self.decoder.weight, items)
