"""What is known of each interaction without any label: popularity, activity, fit with the profile, and losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from recsieve.audit.dynamics import Dynamics
from recsieve.data.interactions import Interactions

Floats = NDArray[np.float32]

SIMILAR = 20  # groups of items of similar popularity
MOSTLY_POPULARITY = 0.7  # a rank correlation from which a score is called mostly popularity


@dataclass(frozen=True)
class Evidence:
    """One value for each interaction; shares are of interactions that are less suspicious, from 0 to 1."""

    popularity: NDArray[np.int32]  # users who have the item
    activity: NDArray[np.int32]  # items that the user has
    profile_fit: Floats
    held_out_logit: Floats
    mean_loss: Floats  # over the epochs, from the run that has not seen it
    unpopular: Floats
    unfitting: Floats
    unexpected: Floats
    unfitting_in_profile: Floats  # share of the user's own interactions that fit better

    def suspicion(self) -> Floats:
        """The mean of the three shares: no one of them wins on every data set, and the mean is never far behind."""
        return np.mean([self.unpopular, self.unfitting, self.unexpected], axis=0, dtype=np.float32)


def gather_evidence(data: Interactions, dynamics: Dynamics) -> Evidence:
    """Compute everything that needs no labels."""
    popularity = data.item_counts()[data.items].astype(np.int32)
    fit, losses = profile_fit(data), dynamics.mean_held_out_loss()
    return Evidence(
        popularity=popularity,
        activity=data.user_counts()[data.users].astype(np.int32),
        profile_fit=fit,
        held_out_logit=dynamics.held_out_logits(data),
        mean_loss=losses,
        unpopular=share_below(-popularity),
        unfitting=share_below(-fit),
        unexpected=share_below(losses),
        unfitting_in_profile=_share_in_profile(data, fit),
    )


def profile_fit(data: Interactions) -> Floats:
    """The mean cosine similarity of an item with the user's other items, counted over the other users only.

    Two items are alike if the same people have both. The user's own pairs are taken out of all counts: an item that
    nobody else has together with theirs fits with 0, and so does the only item of a profile.
    """
    by_item = np.argsort(data.items, kind="stable")
    item_offsets = np.concatenate([[0], np.cumsum(data.item_counts())])
    fit = np.zeros(len(data), np.float32)
    profiles = data.csr
    _fit(profiles.offsets, profiles.items, item_offsets, data.users[by_item], by_item, fit)
    return fit


@njit(cache=True, nogil=True, fastmath=True)
def _fit(offsets, profiles, item_offsets, item_users, rows, fit):
    """One row of the item-item matrix at a time, so that memory grows with the items and not with their square."""
    n_items = len(item_offsets) - 1
    together = np.zeros(n_items, np.int64)
    others = np.maximum(np.diff(item_offsets) - 1, 1).astype(np.float64)  # who have an item, but for the user
    scale = 1 / np.sqrt(others)
    for item in range(n_items):
        for k in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[k]
            for j in range(offsets[user], offsets[user + 1]):
                together[profiles[j]] += 1
        for k in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[k]
            total = 0.0
            for j in range(offsets[user], offsets[user + 1]):
                other = profiles[j]
                if other != item:
                    total += (together[other] - 1) * scale[other]
            fit[rows[k]] = total * scale[item] / max(1, offsets[user + 1] - offsets[user] - 1)
        together[:] = 0


def share_below(values: NDArray) -> Floats:
    """What share of all values is smaller; equal ones count half."""
    return ((rankdata(values) - 0.5) / max(1, len(values))).astype(np.float32)


def adjusted_for_popularity(scores: NDArray, popularity: NDArray[np.int32]) -> Floats:
    """The share of interactions with items of similar popularity that have a smaller score."""
    groups = np.minimum((share_below(popularity) * SIMILAR).astype(np.int64), SIMILAR - 1)
    adjusted = np.empty(len(scores), np.float32)
    for group in range(SIMILAR):
        rows = np.flatnonzero(groups == group)
        adjusted[rows] = share_below(scores[rows])
    return adjusted


def popularity_share(scores: NDArray, popularity: NDArray[np.int32]) -> float:
    """Spearman's correlation of a score with unpopularity: 1 says that the score is nothing else."""
    if len(scores) < 2 or np.ptp(scores) == 0 or np.ptp(popularity) == 0:
        return 0.0
    return float(spearmanr(scores, -popularity).statistic)


def _share_in_profile(data: Interactions, fit: Floats) -> Floats:
    """The share of a user's other interactions that fit better."""
    order = np.lexsort((-fit, data.users))  # users in turn, the best fit first
    counts = data.user_counts()
    place = np.arange(len(data)) - np.repeat(np.cumsum(counts) - counts, counts)
    shares = np.empty(len(data), np.float32)
    shares[order] = (place + 0.5) / np.repeat(counts, counts)
    return shares
