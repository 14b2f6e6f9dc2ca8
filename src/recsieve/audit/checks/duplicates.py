"""Duplicated accounts: pairs of users with nearly the same items."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
from numba import njit

from recsieve.audit.checks.base import hints
from recsieve.data.codes import offsets_of
from recsieve.data.interactions import Interactions

FEWEST = 20  # items: shorter profiles are alike by chance, or because of what is sold together
ALIKE = 0.9  # Jaccard similarity


class Duplicates:
    """Users with nearly the same items as another user."""

    title: ClassVar[str] = "Duplicated accounts"
    about: ClassVar[str] = (
        f"Users with at least {FEWEST} items, nearly all of which another user has too. Flagged from a Jaccard "
        f"similarity of {ALIKE}."
    )
    subject: ClassVar[str] = "user"
    needs_time: ClassVar[bool] = False

    def find(self, data: Interactions) -> pl.DataFrame:
        counts = data.user_counts()
        users = np.flatnonzero(counts >= FEWEST)
        best, other = _most_alike(data)
        percent = (pl.col("score") * 100).round(0).cast(pl.Int64)
        hint = pl.format("shares {} % of their items with user {}", percent, "other")
        names = data.user_ids.cast(pl.String).gather(np.maximum(other[users], 0))
        score = best[users]
        found = hints("user", data.user_ids.gather(users), score, score >= ALIKE, hint, interactions=counts[users],
                      other=names)  # fmt: skip
        return found.with_columns(pl.when(pl.col("score") > 0).then(pl.col("other")).alias("other"))


def _most_alike(data: Interactions):
    """The Jaccard similarity with the user who is most alike, where it may reach ALIKE, and who that is.

    Two profiles that are so alike share one of the rarest items of each (prefix filtering; Bayardo et al., 2007), so
    that few pairs are compared.
    """
    rank = np.empty(data.n_items, np.int32)
    rank[np.argsort(data.item_counts(), kind="stable")] = np.arange(data.n_items, dtype=np.int32)
    ranks = rank[data.items]
    profiles = ranks[np.lexsort((ranks, data.users))]  # the rarest first
    offsets = offsets_of(data.user_counts())
    sizes = np.diff(offsets)
    prefix = np.where(sizes >= FEWEST, np.floor((1 - ALIKE) * sizes).astype(np.int64) + 1, 0)
    starts = np.repeat(offsets[:-1], prefix) + np.arange(prefix.sum()) - np.repeat(np.cumsum(prefix) - prefix, prefix)
    owners, items = np.repeat(np.arange(len(sizes)), prefix), profiles[starts]
    by_item = np.argsort(items, kind="stable")
    index = offsets_of(np.bincount(items, minlength=data.n_items))
    return _compare(offsets, profiles, prefix, index, owners[by_item], ALIKE)


@njit(cache=True, nogil=True)
def _compare(offsets, profiles, prefix, index, owners, least):
    n = len(offsets) - 1
    best, other = np.zeros(n), np.full(n, -1)
    met = np.full(n, -1)
    for user in range(n):
        size = offsets[user + 1] - offsets[user]
        for k in range(offsets[user], offsets[user] + prefix[user]):
            for place in range(index[profiles[k]], index[profiles[k] + 1]):
                candidate = owners[place]
                if candidate >= user:
                    break
                if met[candidate] == user:
                    continue
                met[candidate] = user
                theirs = offsets[candidate + 1] - offsets[candidate]
                if min(size, theirs) < least * max(size, theirs):
                    continue
                a, b, both = offsets[user], offsets[candidate], 0
                while a < offsets[user + 1] and b < offsets[candidate + 1]:
                    if profiles[a] == profiles[b]:
                        both += 1
                        a += 1
                        b += 1
                    elif profiles[a] < profiles[b]:
                        a += 1
                    else:
                        b += 1
                jaccard = both / (size + theirs - both)
                if jaccard > best[user]:
                    best[user], other[user] = jaccard, candidate
                if jaccard > best[candidate]:
                    best[candidate], other[candidate] = jaccard, user
    return best, other
