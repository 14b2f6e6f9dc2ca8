"""What a model is worth on validation data, with every ranking offset that it may get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.data.interactions import UNKNOWN, Interactions
from recsieve.evaluation.ranking import BLOCK_BYTES, blocks, rank_scores
from recsieve.models import Scorer
from recsieve.models.offset import Offset

# Multiples of log popularity, from "somewhat rarer" to "little else than popular".
GAMMAS = (-0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
MOST_USERS = 10_000  # who judge: of so many a mean is known to a few thousandths, and there are many to be taken


@dataclass(frozen=True)
class Shift:
    """A ranking offset: γ · log popularity, log(1 − P), both, or none."""

    gamma: float = 0.0
    noise: bool = False

    def offset(self, log_popularity: Tensor, noise: dict[str, Tensor] | None) -> Offset:
        return Offset(self.gamma * log_popularity, noise if self.noise else None)


class Judge:
    """Gives each validation user's NDCG, in which a held-out interaction counts by how probably it is no noise.

    `truth` has that probability for each row of the validation part: 1 or 0 where a label is known, 1 − P where it is
    not, and 1 for all where nothing is known, which is the common NDCG. The ideal list is that of all rows, so that a
    user with doubtful rows has less of a say.
    """

    def __init__(
        self, validation: Interactions, train: Interactions, truth: NDArray[np.float64], k: int, seed: int
    ) -> None:
        users = np.unique(validation.users)
        if len(users) > MOST_USERS:
            users = np.sort(np.random.default_rng(seed).choice(users, MOST_USERS, replace=False))
        rows = np.isin(validation.users, users)
        self.users, self._k, self._seen = users, k, train.csr
        self._items, self._truth = validation.items[rows], truth[rows]
        self._place = np.searchsorted(users, validation.users[rows])  # which of the users has each row
        self._log_popularity = log_popularity(train)

    def values(self, model: Scorer, noise: Offset | None) -> dict[Shift, NDArray[np.float64]]:
        """The NDCG of each user under every shift; those with P only where `noise`, an offset of log(1 − P), is given.

        A block of users is scored once and shifted many times, because scoring is what takes long.
        """
        shifts = [Shift(gamma, known) for known in (False, *([True] if noise else [])) for gamma in (0.0, *GAMMAS)]
        lists = {shift: np.empty((len(self.users), min(self._k, model.n_items)), np.int32) for shift in shifts}
        for start, stop in blocks(len(self.users), model.n_items, BLOCK_BYTES):
            users = self.users[start:stop]
            codes = torch.from_numpy(users.astype(np.int64))
            plain = model.score(codes)
            doubted = plain if noise is None else plain + noise.of_all_items(codes)
            for shift in shifts:
                scores = (doubted if shift.noise else plain) + shift.gamma * self._log_popularity
                lists[shift][start:stop] = rank_scores(scores.numpy(), users, self._k, self._seen)
        return {shift: self._ndcg(top) for shift, top in lists.items()}

    def _ndcg(self, top: NDArray[np.int32]) -> NDArray[np.float64]:
        discounts = 1 / np.log2(np.arange(2, top.shape[1] + 2))
        gains = (top[self._place] == self._items[:, None]) @ discounts
        ideal = np.cumsum(discounts)[np.minimum(np.bincount(self._place), top.shape[1]) - 1]
        return np.bincount(self._place, self._truth * gains) / ideal


def log_popularity(train: Interactions) -> Tensor:
    """The log of each item's number of training interactions, and one."""
    return torch.from_numpy(np.log1p(train.item_counts()).astype(np.float32))


def truth_of(validation: Interactions, noise: NDArray[np.floating] | None) -> NDArray[np.float64]:
    """How probably each held-out interaction is no noise: by its label, else by P, else surely."""
    truth = np.ones(len(validation)) if noise is None else 1 - noise.astype(np.float64)
    if validation.false_positive is None:
        return truth
    known = validation.false_positive != UNKNOWN
    return np.where(known, ~validation.is_false_positive, truth)


def best_shifts(values: dict[Shift, NDArray[np.float64]]) -> Sequence[Shift]:
    """No offset, and the best of each kind: by popularity, by P, and by both."""
    kinds: dict[tuple[bool, bool], list[Shift]] = {}
    for shift in values:
        kinds.setdefault((shift.gamma != 0, shift.noise), []).append(shift)
    return [max(shifts, key=lambda shift: float(values[shift].mean())) for shifts in kinds.values()]
