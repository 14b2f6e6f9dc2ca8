"""A fitted model with the ids of its users and items: lists, similar items, and reasons.

Everything is prepared when it is created. Requests change nothing, so several threads may use it at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.data.interactions import CSR, Interactions
from recsieve.data.reading.id_index import IdIndex
from recsieve.display import counted, counted_of
from recsieve.errors import ConfigError, DataError
from recsieve.evaluation.ranking import rank_items, rank_scores
from recsieve.models.popularity import PopularityScorer
from recsieve.models.scorer import Scorer
from recsieve.recommendations.filters import Filters, some_of

Reasons = list[tuple[int, float]]  # codes of items and what they contribute, the most first
UNFILTERED = Filters()


@dataclass(frozen=True)
class Ranked:
    """Lists by code, one row per request."""

    users: list[str] | NDArray[np.int32]  # what they were called, or the codes of fitted users
    items: NDArray[np.int32]  # (n, k), −1 where fewer are left
    scores: NDArray[np.float32]  # (n, k), NaN where the list is of popular items
    popular: NDArray[np.bool_]  # (n,) whether nothing is known of the user, and the list is of popular items
    notes: list[str] = field(default_factory=list)  # what whoever asked should know
    reasons: list[list[Reasons]] | None = None  # of each item in each list

    def parts(self, sizes: Sequence[int], k: int) -> list[Ranked]:
        """The lists split into parts of the given sizes, each with its own notes; without allow or deny lists."""
        ends = np.cumsum(sizes)
        return [
            Ranked(self.users[a:b], self.items[a:b], self.scores[a:b], self.popular[a:b], _short(self.items[a:b], k))
            for a, b in zip(ends - sizes, ends, strict=True)
        ]


class Ranker:
    """Ranks for fitted and for new users; `data` is what the model was fitted on, `interacted` is what users already
    have.
    """

    def __init__(self, scorer: Scorer, data: Interactions, interacted: CSR, popularity: NDArray[np.int64]) -> None:
        self.scorer, self._interacted, self._popularity = scorer.prepare(), interacted, popularity
        self.users, self.items = IdIndex(data.user_ids), IdIndex(data.item_ids)
        self._profiles = data.profiles  # a service keeps no other column
        self._by_popularity = PopularityScorer(1, torch.from_numpy(popularity.astype(np.float32)))

    def for_users(
        self, asked: Sequence[str] | None, k: int, filters: Filters = UNFILTERED, *, explain: int = 0,
        workers: int | None = None,
    ) -> Ranked:  # fmt: skip
        """The lists of users by their ids, or of all; unknown users get popular items."""
        if asked is None:
            return self.for_codes(np.arange(len(self.users), dtype=np.int32), k, filters, explain=explain)
        codes = self.users.codes(asked)
        seen = self._interacted.take(codes)
        return self._ranked(list(asked), self.scorer, codes, seen, k, filters, self._profile_of, explain, workers)

    def for_codes(self, codes: NDArray[np.int32], k: int, filters: Filters = UNFILTERED, *, explain: int = 0) -> Ranked:
        """The lists of fitted users by their codes."""
        users = self.users.texts(codes) if filters.by_user else codes
        seen = self._interacted.take(codes)
        return self._ranked(users, self.scorer, codes, seen, k, filters, self._profile_of, explain, None)

    def for_profiles(
        self, profiles: Mapping[str, Sequence[str]], k: int, filters: Filters = UNFILTERED, *, explain: int = 0,
        workers: int | None = None,
    ) -> Ranked:  # fmt: skip
        """The lists of new users by their items; profiles without a known item get popular items."""
        matrix, notes = self._encoded(profiles)
        rows = np.flatnonzero(np.diff(matrix.indptr))
        folded = self.scorer.fold_in(matrix[rows]).prepare() if len(rows) else self.scorer
        codes = np.full(len(profiles), -1, np.int32)
        codes[rows] = np.arange(len(rows))
        seen = CSR(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), len(self.items))

        def profile_of(code: int) -> csr_array:
            return matrix[[rows[code]]]

        found = self._ranked(list(profiles), folded, codes, seen, k, filters, profile_of, explain, workers)
        return Ranked(found.users, found.items, found.scores, found.popular, notes + found.notes, found.reasons)

    def similar(self, items: Sequence[str], k: int) -> Ranked:
        """The items most similar to each of some; items without any similarity are left out."""
        codes = self._known(items)
        return _alike(list(items), codes, self.scorer.similar(torch.from_numpy(codes.astype(np.int64))), k)

    def similar_users(self, users: Sequence[str], k: int) -> Ranked:
        """The users most similar to each of some."""
        codes = self.users.codes(users)
        if missing := [user for user, code in zip(users, codes, strict=True) if code < 0]:
            raise DataError(f"{counted_of(len(missing), len(codes), 'user')} not in the data ({some_of(missing)}).")
        return _alike(list(users), codes, self.scorer.similar_users(torch.from_numpy(codes.astype(np.int64))), k)

    def explain(
        self, user: str | None, profile: Sequence[str] | None, items: Sequence[str], most: int
    ) -> tuple[list[Reasons], list[str]]:
        """Which items of a fitted user's profile, or of a given one, contribute to some items; and notes."""
        offered = self._known(items)
        if profile is not None:
            matrix, notes = self._encoded({"": profile})
            return self._reasons([0], [offered], lambda _: matrix, most)[0], notes
        codes = self.users.codes([str(user)])
        if codes[0] < 0:
            raise DataError(f"user {user!r} is not in the training data: give another, or a profile.")
        return self._reasons(codes, [offered], self._profile_of, most)[0], []

    def _known(self, items: Sequence[str]) -> NDArray[np.int32]:
        """The codes of items that have to be known."""
        codes = self.items.codes(items)
        missing = [item for item, code in zip(items, codes, strict=True) if code < 0]
        if missing:
            told = f"{counted_of(len(missing), len(codes), 'item')} not in the data ({some_of(missing)})"
            raise DataError(f"{told}: leave them out.")
        return codes

    def _ranked(self, users, scorer, codes, seen, k, filters, profile_of, explain, workers) -> Ranked:
        _require_length(k)
        unknown: dict[str, None] = {}
        mask = filters.mask(users, seen, self.items, self._popularity, unknown)
        popular = codes < 0
        items = np.full((len(codes), min(k, len(self.items))), -1, np.int32)
        scores = np.full(items.shape, np.nan, np.float32)
        for some, of, by in ((~popular, codes, scorer), (popular, codes * 0, self._by_popularity)):
            rows = np.flatnonzero(some)
            if len(rows):
                items[rows], found = filters.limited(
                    lambda some, most, rows=rows, of=of, by=by: rank_items(
                        by, of[rows[some]], most, mask.take(rows[some]), workers=workers
                    ),
                    len(rows), items.shape[1], self.items,
                )  # fmt: skip
                if by is scorer:
                    scores[rows] = found
        notes = _unknown_items(unknown, "the lists to allow or deny") + _short(items, k)
        reasons = self._reasons(codes, items, profile_of, explain) if explain else None
        return Ranked(users, items, scores, popular, notes, reasons)

    def _encoded(self, profiles: Mapping[str, Sequence[str]]) -> tuple[csr_array, list[str]]:
        """Profiles as a matrix of ones, and what is to be told about them."""
        flat = [item for items in profiles.values() for item in items]
        rows = np.repeat(np.arange(len(profiles), dtype=np.int32), [len(items) for items in profiles.values()])
        codes = self.items.codes(flat)
        known = codes >= 0
        met = CSR.from_pairs(rows[known], codes[known], len(profiles), len(self.items))
        unknown = dict.fromkeys(flat[place] for place in np.flatnonzero(~known))
        ones = np.ones(len(met.items), np.float32)
        matrix = csr_array((ones, met.items, met.offsets), shape=(len(profiles), len(self.items)))
        return matrix, _unknown_items(unknown, "the profiles")

    def _profile_of(self, user: int) -> csr_array:
        """What a fitted user was fitted on."""
        profiles = self._profiles
        row = slice(profiles.offsets[user], profiles.offsets[user + 1])
        items, weights = profiles.items[row], profiles.weights
        values = np.ones(len(items), np.float32) if weights is None else weights[row]
        return csr_array((values, items, [0, len(items)]), shape=(1, len(self.items)))

    def _reasons(self, codes, items, profile_of, most: int) -> list[list[Reasons]]:
        """For each item of each list, the items of the profile that speak for it most."""
        everyone: list[list[Reasons]] = []
        for code, offered in zip(codes, items, strict=True):
            offered = offered[offered >= 0]
            profile = profile_of(code) if code >= 0 else None
            if profile is None or not len(profile.indices) or not len(offered):
                everyone.append([[] for _ in offered])
                continue
            parts = self.scorer.contributions(profile, torch.from_numpy(offered.astype(np.int64))).numpy()
            best = np.argsort(-parts, axis=1, kind="stable")[:, :most]
            everyone.append(
                [
                    [(int(profile.indices[place]), float(part[place])) for place in positions if part[place] > 0]
                    for part, positions in zip(parts, best, strict=True)
                ]
            )
        return everyone


def _alike(asked: list[str], codes: NDArray[np.int32], alike: Tensor, k: int) -> Ranked:
    """The most alike of each row but itself, and only what is alike at all."""
    _require_length(k)
    scores = alike.detach().float().numpy().copy()
    scores[scores <= 0] = -np.inf
    rows, themselves = np.arange(len(codes), dtype=np.int32), np.arange(len(codes) + 1, dtype=np.int64)
    top = rank_scores(scores, rows, k, CSR(themselves, codes, scores.shape[1]))
    return Ranked(asked, top, np.take_along_axis(scores, np.maximum(top, 0), axis=1), np.zeros(len(top), bool))


def _require_length(k: int) -> None:
    if k < 1:
        raise ConfigError(f"k is {k}: give the number of items to recommend, 1 or more.")


def _unknown_items(unknown: Mapping[str, None], where: str) -> list[str]:
    if not unknown:
        return []
    return [f"left out of {where}: {counted(len(unknown), 'item')} not in the data ({some_of(unknown)})."]


def _short(items: NDArray[np.int32], k: int) -> list[str]:
    short = int((items[:, -1] < 0).sum()) if items.shape[1] == k else len(items)
    return [f"{counted_of(short, len(items), 'list')} shorter than {k}: there are not enough items."] if short else []
