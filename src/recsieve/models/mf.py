"""Matrix factorization."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.data.interactions import CSR, Interactions
from recsieve.denoisers import Range
from recsieve.errors import ConfigError
from recsieve.models.base import Model, check_l2, embedding, mean_squares
from recsieve.models.hashing import DRAW_FACTOR, uniform
from recsieve.models.new_users import FoldedUsers, Priors, cosines, dot_contributions, solve_users
from recsieve.models.scorer import Factors
from recsieve.models.state import checked_profiles
from recsieve.sampling import Batch


class MF(Model):
    """The dot product of a user and an item vector (Koren et al., 2009; with `bpr`, Rendle et al., 2009).

    In training, each number of a vector is set to 0 with the probability `dropout` and the rest is scaled up, in the
    same way wherever the vector occurs in a batch; with `softmax` and about 50 negatives, 0.5 is worth a try. `l2`
    multiplies the mean of ‖user‖² + ‖item‖² over the rows of a batch.
    """

    row_cost = 1.0
    search_space: ClassVar[dict[str, Range]] = {
        "factors": Range(16, 256, whole=True),
        "dropout": Range(0.1, 0.7),
        "l2": Range(1e-6, 1e-1),
    }
    # The settings that `auto` trains it with: the best of a few settings on the validation part of ml-100k.
    suits: ClassVar[dict[str, Any]] = {"objective": "softmax", "negatives": 50, "batch_size": 8192}
    dropout_draw: Tensor

    def __init__(
        self, profiles: CSR, generator: torch.Generator, *, factors: int = 64, dropout: float = 0.0, l2: float = 0.0
    ) -> None:
        super().__init__(profiles)
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout is {dropout}: give a dropout rate from 0 to below 1.")
        check_l2(l2)
        self.dropout, self.l2 = dropout, l2
        self.user = embedding("users", profiles, factors, generator)
        self.item = embedding("items", profiles, factors, generator)
        # Each dropout draws its own bits from a seed and a counter, so a resumed run goes on with the same ones.
        self.register_buffer("dropout_draw", torch.randint(2**62, (), generator=generator))

    @staticmethod
    def grid(train: Interactions) -> list[dict[str, Any]]:
        """The few options that `auto` tries, the most promising first."""
        return [{"dropout": 0.5}]

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        user, item = self.user(users), self.item(items)  # (n, factors)
        if self.training and self.dropout > 0:
            self.dropout_draw += 1
            user = user * self._kept(users, user.shape[1])
            item = item * self._kept(items.long() + self.n_users, item.shape[1])
        return (user * item).sum(-1)

    def _kept(self, rows: Tensor, factors: int) -> Tensor:
        """What the numbers of vectors are multiplied by in this draw: 0, or 1 scaled up; items follow users."""
        unique, inverse = rows.unique(return_inverse=True)
        keys = unique.long()[:, None] * factors + torch.arange(factors, device=rows.device)
        kept = uniform(keys + self.dropout_draw * DRAW_FACTOR) >= self.dropout
        return (kept / (1 - self.dropout))[inverse]

    def penalty(self, batch: Batch) -> Tensor | None:
        return mean_squares(self.l2, batch, self.user(batch.users), self.item(batch.items)) if self.l2 > 0 else None

    @torch.no_grad()
    def factors(self, users: Tensor) -> Factors:
        return Factors(self.user.weight[users], self.item.weight)

    def fold_in(self, profiles: csr_array) -> FoldedUsers:
        profiles = checked_profiles(profiles, self.n_items)
        users = solve_users(profiles, self._priors(), self.item.weight)
        return FoldedUsers(Factors(users, self.item.weight.detach()), self.title)

    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        return dot_contributions(checked_profiles(profile, self.n_items), items, self._priors(), self.item.weight)

    def _priors(self) -> Priors:
        return Priors(self.user.weight, self.profile_sizes)

    def similar(self, items: Tensor) -> Tensor:
        return cosines(self.item.weight, items)
