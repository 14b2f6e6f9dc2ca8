"""What a ranking is worth on validation data, user by user, with every offset and blend that it may get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.auto.candidates import Candidate, Spec
from recsieve.cores import one_thread, thread_pool
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.evaluation.ranking import BLOCK_BYTES, blocks, rank_items, rank_scores
from recsieve.models import Scorer
from recsieve.models.blend import Offset, blended

C = (0.0, 0.25, 0.5, 1.0, 2.0)  # multiples of log(1 − P)
GAMMA = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0)  # of log popularity
PAIR_WEIGHTS = ((0.7, 0.3), (0.5, 0.5), (0.3, 0.7))
# Of so many a mean is known to a few thousandths; with a large catalogue there are so many scores to be ranked again.
MOST_USERS, MOST_SCORES = 10_000, 40_000_000

# By name: of each user, what popular held-out items give and what the others do, (users, 2); NDCG is the sum.
Values = dict[str, tuple[Candidate, NDArray[np.float64]]]
MakeScores = Callable[[Tensor], Mapping[str, tuple[Candidate, Tensor]]]


class CandidateScorer:
    """Gives each validation user's NDCG, in which a held-out interaction counts by how probably it is no noise.

    `truth` has that probability for each row of the validation part: 1 or 0 where a label is known, 1 − P where it is
    not, and 1 for all where nothing is known, which is the common NDCG. The ideal list is that of all rows, so that a
    user with doubtful rows has less of a say. Items more popular than the median of the rows are counted apart.
    """

    def __init__(
        self, validation: Interactions, train: Interactions, truth: NDArray[np.float64], k: int, seed: int
    ) -> None:
        users, most = np.unique(validation.users), min(MOST_USERS, max(1000, MOST_SCORES // train.n_items))
        if len(users) > most:
            users = np.sort(np.random.default_rng(seed).choice(users, most, replace=False))
        rows = np.isin(validation.users, users)
        self.users, self._k, self._seen = users, k, train.csr
        self._items, self._truth = validation.items[rows], truth[rows]
        popularity = train.item_counts()[self._items]
        self._is_popular = popularity > np.median(popularity) if len(popularity) else popularity > 0
        self._place = np.searchsorted(users, validation.users[rows])  # which of the users has each row
        self._log_popularity = log_popularity(train)

    def ndcg(self, scorer: Scorer) -> NDArray[np.float64]:
        """The NDCG of each user under one ranking."""
        return self._ndcg(rank_items(scorer, self.users, self._k, self._seen)[0])

    def offsets(self, spec: Spec, scorer: Scorer, noise: Offset | None) -> Values:
        """One model under every offset; `noise` is an offset of log(1 − P), where P is known."""
        offsets = [(c, gamma) for c in (C if noise else C[:1]) for gamma in GAMMA]

        def make(users: Tensor) -> dict[str, tuple[Candidate, Tensor]]:
            plain = scorer.log_score(users)
            doubt = torch.zeros(1) if noise is None else noise(users)
            made = [Candidate((spec,), c=c, gamma=gamma) for c, gamma in offsets if c or gamma]
            popular = self._log_popularity
            return {one.name: (one, plain + one.c * doubt + one.gamma * popular) for one in made}

        return self._values(make)

    def blends(
        self, fitted: Sequence[tuple[Spec, Scorer]], noise: Offset | None, offset: tuple[float, float]
    ) -> Values:
        """Two or three models in one ranking, as they are and with an offset."""
        c, gamma = offset

        def make(users: Tensor) -> dict[str, tuple[Candidate, Tensor]]:
            plain = [scorer.score(users) for _, scorer in fitted]
            versions = [(0.0, 0.0, plain)]
            if c or gamma:
                added = gamma * self._log_popularity + (0 if noise is None else c * noise(users))
                versions.append((c, gamma, [scorer.log_score(users) + added for _, scorer in fitted]))
            made = {}
            for c_used, gamma_used, scores in versions:
                for parts, weights in mixtures(len(fitted)):
                    one = Candidate(tuple(fitted[part][0] for part in parts), weights, c_used, gamma_used)
                    made[one.name] = one, blended([scores[part] for part in parts], weights)
            return made

        return self._values(make) if len(fitted) > 1 else {}

    def _values(self, make: MakeScores) -> Values:
        """The NDCG of each user under several rankings: a block of users is scored once and ranked many times."""
        lists: dict[str, tuple[Candidate, NDArray[np.int32]]] = {}

        def rank(bounds: tuple[int, int]) -> list[tuple[str, Candidate, slice, NDArray[np.int32]]]:
            users, place = self.users[bounds[0] : bounds[1]], slice(*bounds)
            made = make(torch.from_numpy(users.astype(np.int64)))
            return [
                (name, one, place, rank_scores(scores.numpy(), users, self._k, self._seen))
                for name, (one, scores) in made.items()
            ]

        of_items = self._seen.n_items
        with one_thread() as n_threads, thread_pool(n_threads) as cores:
            for block in cores.map(rank, blocks(len(self.users), of_items, BLOCK_BYTES)):
                for name, one, place, top in block:
                    if name not in lists:
                        lists[name] = one, np.empty((len(self.users), top.shape[1]), np.int32)
                    lists[name][1][place] = top
        return {name: (one, self._ndcg(top)) for name, (one, top) in lists.items()}

    def _ndcg(self, top: NDArray[np.int32]) -> NDArray[np.float64]:
        discounts = 1 / np.log2(np.arange(2, top.shape[1] + 2))
        gains = (top[self._place] == self._items[:, None]) @ discounts
        ideal = np.cumsum(discounts)[np.minimum(np.bincount(self._place), top.shape[1]) - 1]
        halves = [
            np.bincount(self._place, self._truth * gains * half) for half in (self._is_popular, ~self._is_popular)
        ]
        return np.stack(halves, axis=1) / ideal[:, None]


def mixtures(n: int) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Which models are blended, and with which weights."""
    pairs = [(pair, weights) for pair in combinations(range(n), 2) for weights in PAIR_WEIGHTS]
    thirds = round(1 / 3, 3)
    return [*pairs, *([((0, 1, 2), (thirds, thirds, thirds))] if n > 2 else [])]


def log_popularity(train: Interactions) -> Tensor:
    """The log of each item's number of training interactions, and one."""
    return torch.from_numpy(np.log1p(train.item_counts()).astype(np.float32))


def truth_of(validation: Interactions, noise: NDArray[np.floating] | None) -> NDArray[np.float64]:
    """How probably each held-out interaction is no noise: by its label, else by P, else surely."""
    truth = np.ones(len(validation)) if noise is None else 1 - noise.astype(np.float64)
    if validation.false_positive is None:
        return truth
    known = validation.false_positive != UNLABELLED
    return np.where(known, ~validation.is_false_positive, truth)
