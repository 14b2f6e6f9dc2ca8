"""Evidence that needs no labels: popularity, activity, fit with the profile, and losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.stats import norm, rankdata, spearmanr

from recsieve.audit.dynamics import Dynamics
from recsieve.data.codes import offsets_of
from recsieve.data.interactions import Interactions

Floats = NDArray[np.float32]
Columns = NDArray[np.float32]

SIMILAR = 20  # groups of items of similar popularity
USUAL = 5.0  # labels that the share of noise of all counts for in that of an item
WEIGHT_OF_NONE = 0.05  # squared similarity that a lack of labelled items counts for
MOSTLY_POPULARITY = 0.7  # a rank correlation from which a score is called mostly popularity


@dataclass(frozen=True)
class Evidence:
    """One value per interaction; shares (0 to 1) are those of less suspicious interactions."""

    popularity: NDArray[np.int32]  # users who have the item
    activity: NDArray[np.int32]  # items that the user has
    profile_fit: Floats
    held_out_logit: Floats
    mean_loss: Floats  # over the epochs, from the run that has not seen it
    unpopular: Floats
    unfitting: Floats
    unexpected: Floats
    unfitting_in_profile: Floats  # share of the user's own interactions that fit better
    given: Floats | None = None  # share with lower scores of the user's own, the higher the more suspicious
    cross_fitted: Mapping[str, Floats] = field(default_factory=dict)  # scores of models that had not seen it

    def suspicion(self) -> Floats:
        """The mean of all shares. None of them is best on every data set, and the mean is never far behind."""
        shares = [self.unpopular, self.unfitting, self.unexpected]
        return np.mean(shares if self.given is None else [*shares, self.given], axis=0, dtype=np.float32)

    def further(self) -> Columns:
        """Columns that may help in addition to the held-out logit, as normal scores: (interactions, columns)."""
        shares = [share_below(scores) for scores in self.cross_fitted.values()]
        if self.cross_fitted:
            shares.append(1 - self.unfitting)
        if self.given is not None:
            shares.append(self.given)
        return (
            norm.ppf(np.stack(shares, axis=1)).astype(np.float32)
            if shares
            else np.empty((len(self.popularity), 0), np.float32)
        )


def gather_evidence(
    data: Interactions,
    dynamics: Dynamics,
    cross_fitted: Mapping[str, Floats] | None = None,
    given: NDArray | None = None,
) -> Evidence:
    """Compute all evidence that needs no labels, and add scores of other models and of the user."""
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
        given=None if given is None else share_below(given),
        cross_fitted=cross_fitted or {},
    )


def profile_fit(data: Interactions) -> Floats:
    """The mean cosine similarity of an item to the user's other items, computed from the other users only.

    Two items are similar if the same users have both. The user's own pairs are excluded from all counts: an item that
    nobody else has together with the user's items gets 0, and so does the only item of a profile.
    """
    by_item = np.argsort(data.items, kind="stable")
    item_offsets = offsets_of(data.item_counts())
    fit = np.zeros(len(data), np.float32)
    profiles = data.csr
    _fit(profiles.offsets, profiles.items, item_offsets, data.users[by_item], by_item, fit)
    return fit


def neighbour_noise(data: Interactions, labelled: NDArray[np.int64]) -> Floats:
    """The noise among the user's labelled similar items, without the item's own label.

    A label is weighted by the square of the similarity in `profile_fit`, and measured relative to the mean of its item.
    Without similar labelled items the value is 0.
    """
    noise, items = data.is_false_positive[labelled], data.items[labelled]
    counts, sums = np.bincount(items, minlength=data.n_items), np.bincount(items, noise, data.n_items)
    usual = (sums + USUAL * noise.mean()) / (counts + USUAL)
    residuals = np.full(len(data), np.nan, np.float32)
    residuals[labelled] = noise - usual[items]
    by_item, by_user = np.argsort(data.items, kind="stable"), np.lexsort((data.items, data.users))
    item_offsets = offsets_of(data.item_counts())
    found, profiles = np.zeros(len(data), np.float32), data.csr
    _neighbours(profiles.offsets, profiles.items, item_offsets, data.users[by_item], by_item, residuals[by_user], found)
    return found


@njit(cache=True, nogil=True)
def _neighbours(offsets, profiles, item_offsets, item_users, rows, residuals, found):
    """As `_fit`; residuals are in the order of the profiles, NaN where there is no label."""
    n_items = len(item_offsets) - 1
    together = np.zeros(n_items, np.int64)
    scale = 1 / np.maximum(np.diff(item_offsets) - 1, 1).astype(np.float64)
    for item in range(n_items):
        for k in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[k]
            for j in range(offsets[user], offsets[user + 1]):
                together[profiles[j]] += 1
        for k in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[k]
            total, weight = 0.0, WEIGHT_OF_NONE
            for j in range(offsets[user], offsets[user + 1]):
                other = profiles[j]
                if other != item and not np.isnan(residuals[j]):
                    alike = (together[other] - 1) ** 2 * scale[other] * scale[item]
                    total += alike * residuals[j]
                    weight += alike
            found[rows[k]] = total / weight
        together[:] = 0


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
    """The share of all values that are smaller; equal ones count half."""
    return ((rankdata(values) - 0.5) / max(1, len(values))).astype(np.float32)


def adjusted_for_popularity(scores: NDArray, popularity: NDArray[np.int32]) -> Floats:
    """The share of interactions with similarly popular items that have a smaller score."""
    groups = np.minimum((share_below(popularity) * SIMILAR).astype(np.int64), SIMILAR - 1)
    adjusted = np.empty(len(scores), np.float32)
    for group in range(SIMILAR):
        rows = np.flatnonzero(groups == group)
        adjusted[rows] = share_below(scores[rows])
    return adjusted


def popularity_share(scores: NDArray, popularity: NDArray[np.int32]) -> float:
    """Spearman's correlation of a score with unpopularity; 1 means that the score is only unpopularity."""
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
