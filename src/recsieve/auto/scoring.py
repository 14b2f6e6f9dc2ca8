"""Scores candidates on validation data, user by user, with all offsets and blends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from operator import itemgetter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.auto.candidates import Candidate, Spec
from recsieve.cores import all_cores
from recsieve.data.codes import blocks
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.evaluation.metrics import discounts
from recsieve.evaluation.ranking import BLOCK_BYTES, rank_items, rank_scores, users_at_once
from recsieve.models import Scorer
from recsieve.models.blend import Offset, standardised, weighted_sum

C = (0.0, 0.25, 0.5, 1.0, 2.0)  # multiples of log(1 − P)
GAMMA = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0)  # of log popularity
PAIR_WEIGHTS = ((0.7, 0.3), (0.5, 0.5), (0.3, 0.7))
# Of so many a mean is known to a few thousandths; with a large catalogue there are so many scores to be ranked again.
MOST_USERS, MOST_SCORES = 10_000, 40_000_000
CACHED_BYTES = 1 << 19  # of scores that are ranked again and again: few enough to stay in the cache of a core

# By name: of each judged user, what popular held-out items give and what the others do, (users, 2); NDCG is the sum.
Values = dict[str, tuple[Candidate, NDArray[np.float64]]]
MakeScores = Callable[[slice, Tensor], Iterator[tuple[Candidate, Tensor]]]  # of some of the users


@dataclass(frozen=True)
class Scored:
    """A fitted model and its scores of all items for every validation user."""

    spec: Spec
    scorer: Scorer
    scores: Tensor  # (users, items)

    def log_scores(self, some: slice) -> Tensor:
        return self.scorer.as_log(self.scores[some])


class CandidateScorer:
    """Computes each validation user's NDCG, with a held-out interaction weighted by the probability that it is clean.

    `truth` has this probability for each row of the validation part: 1 or 0 if a label is known, 1 − P if not, and 1
    for all if nothing is known, which gives the usual NDCG. The ideal list uses all rows, so a user with doubtful rows
    counts less. Items more popular than the median of the rows are counted separately.
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

    def rank(self, scorer: Scorer) -> NDArray[np.int32]:
        """The list of each user, which does not depend on labels: (users, k)."""
        return rank_items(scorer, self.users, self._k, self._seen)[0]

    def could_have_ranked(self, lists: NDArray) -> bool:
        """Whether lists from a file belong to these users."""
        rows, length = lists.shape if lists.ndim == 2 else (-1, 0)
        return lists.dtype == np.int32 and rows == len(self.users) and 1 <= length <= self._k

    def score(self, spec: Spec, scorer: Scorer) -> Scored:
        """Compute the scores that are ranked several times."""
        scores = torch.empty(len(self.users), self._seen.n_items)

        def fill(some: slice) -> None:
            scores[some] = scorer.score(self._tensor(some))

        with all_cores() as cores:
            list(cores.map(fill, self._blocks(BLOCK_BYTES)))
        return Scored(spec, scorer, scores)

    def offsets(self, scored: Scored, noise: Offset | None) -> Values:
        """One model with every offset; `noise` is an offset of log(1 − P), if P is known."""
        offsets = [(c, gamma) for c in (C if noise else C[:1]) for gamma in GAMMA]

        def make(some: slice, users: Tensor) -> Iterator[tuple[Candidate, Tensor]]:
            plain = scored.log_scores(some)
            doubt = torch.zeros(1) if noise is None else noise(users)
            for c, of_c in groupby(offsets, key=itemgetter(0)):
                doubted = plain + c * doubt
                for _, gamma in of_c:
                    if c or gamma:
                        yield Candidate((scored.spec,), c=c, gamma=gamma), doubted + gamma * self._log_popularity

        return self._values(make)

    def blends(self, scored: Sequence[Scored], noise: Offset | None, offset: tuple[float, float]) -> Values:
        """Two or three models in one ranking, with and without an offset."""
        c, gamma = offset

        def make(some: slice, users: Tensor) -> Iterator[tuple[Candidate, Tensor]]:
            versions = [(0.0, 0.0, [standardised(one.scores[some]) for one in scored])]
            if c or gamma:
                added = gamma * self._log_popularity + (0 if noise is None else c * noise(users))
                versions.append((c, gamma, [standardised(one.log_scores(some) + added) for one in scored]))
            for c_used, gamma_used, scores in versions:
                for parts, weights in mixtures(len(scored)):
                    one = Candidate(tuple(scored[part].spec for part in parts), weights, c_used, gamma_used)
                    yield one, weighted_sum([scores[part] for part in parts], weights)

        return self._values(make) if len(scored) > 1 else {}

    def _values(self, make: MakeScores) -> Values:
        """The NDCG of each user under several rankings: a block of users is scored once and ranked many times."""

        def rank(some: slice) -> list[tuple[Candidate, NDArray[np.int32]]]:
            users, made = self.users[some], make(some, self._tensor(some))
            return [(one, rank_scores(scores.numpy(), users, self._k, self._seen)) for one, scores in made]

        with all_cores() as cores:
            of_blocks = list(cores.map(rank, self._blocks(CACHED_BYTES)))
        made = [(of_one[0][0], np.concatenate([top for _, top in of_one])) for of_one in zip(*of_blocks, strict=True)]
        return {one.name: (one, self.ndcg(top)) for one, top in made}

    def _blocks(self, block_bytes: int) -> Iterator[slice]:
        return blocks(len(self.users), users_at_once(self._seen.n_items, block_bytes))

    def _tensor(self, some: slice) -> Tensor:
        return torch.from_numpy(self.users[some].astype(np.int64))

    def ndcg(self, top: NDArray[np.int32]) -> NDArray[np.float64]:
        """The NDCG of each user's list."""
        discounted = discounts(top.shape[1])
        gains = (top[self._place] == self._items[:, None]) @ discounted
        ideal = np.cumsum(discounted)[np.minimum(np.bincount(self._place), top.shape[1]) - 1]
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
    """The log of each item's number of training interactions plus one."""
    return torch.from_numpy(np.log1p(train.item_counts()).astype(np.float32))


def truth_of(validation: Interactions, noise: NDArray[np.floating] | None) -> NDArray[np.float64]:
    """The probability that each held-out interaction is clean: by its label, else by P, else 1."""
    truth = np.ones(len(validation)) if noise is None else 1 - noise.astype(np.float64)
    if validation.false_positive is None:
        return truth
    known = validation.false_positive != UNLABELLED
    return np.where(known, ~validation.is_false_positive, truth)
