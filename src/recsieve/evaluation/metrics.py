"""Ranking metrics of each user, by the formulas of the paper's authors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.codes import blocks
from recsieve.data.interactions import CSR
from recsieve.display import Displayed, Shown, counted, metric_rows
from recsieve.errors import ConfigError
from recsieve.evaluation.ranking import rank_items
from recsieve.models.scorer import Scorer

MOST_PLACES = 1 << 24  # of lists held at once


@dataclass(frozen=True, repr=False)
class Evaluation(Displayed):
    """The metrics of each user, and their means over the users for whom they are defined."""

    users: NDArray[np.int32]
    per_user: dict[str, NDArray[np.float64]]  # "recall@20" -> (users,), NaN where undefined
    overall: dict[str, float]  # also "coverage@20", which has no value for one user

    def shown(self) -> Shown:
        """The means, with metrics by list length."""
        return Shown(counted(len(self.users), "user"), *metric_rows(self.overall))

    def frame(self, user_ids: pl.Series) -> pl.DataFrame:
        """A row for each user, with the user's own id."""
        return pl.DataFrame({"user": user_ids.gather(self.users), **self.per_user})


def evaluate(
    model: Scorer,
    relevant: CSR,
    seen: CSR | None,
    ks: Sequence[int],
    false_positives: CSR | None = None,
    group: Communicator = SINGLE_PROCESS,
    *,
    nothing_relevant: float = np.nan,
) -> Evaluation:
    """Rank all unseen items for each user with something relevant, and compute the metrics of the lists.

    In a group of ranks, each does this for its own users, and all get the metrics of all. `nothing_relevant` is the
    value for a user who has only false positives; NaN leaves them out of the means.
    """
    if not ks or min(ks) < 1:
        raise ConfigError(f"the list lengths are {list(ks)}: give whole numbers from 1, e.g. 5 20 50.")
    has_any = relevant.counts() > 0
    if false_positives is not None:
        has_any |= false_positives.counts() > 0
    users = np.flatnonzero(has_any).astype(np.int32)
    if false_positives is not None and not group.any(len(false_positives.items) > 0):
        false_positives = None
    shown = {k: np.zeros(relevant.n_items, np.int32) for k in ks}
    measured = []
    most_users = int(group.all_gather_joined(np.array([len(users)])).max())  # so that all ranks make the same calls
    at_least_once = max(most_users, 1)  # also without users, to name the metrics
    for some in blocks(at_least_once, max(MOST_PLACES // max(ks), 1)):
        top, _ = rank_items(model, users[some], max(ks), seen)
        measured.append(_measure(top, users[some], relevant, ks, false_positives, nothing_relevant))
        for k in ks:
            shown[k][top[:, :k][top[:, :k] >= 0]] = 1
    users = group.all_gather_joined(users)
    order = np.argsort(users)
    per_user = {
        name: group.all_gather_joined(np.concatenate([some[name] for some in measured]))[order] for name in measured[0]
    }
    overall = {name: float(np.nanmean(values)) if len(values) else float("nan") for name, values in per_user.items()}
    for k in ks:
        overall[f"coverage@{k}"] = float((group.sum(shown[k]) > 0).sum() / relevant.n_items)
    return Evaluation(users[order], per_user, overall)


def _measure(
    top: NDArray[np.int32],
    users: NDArray[np.int32],
    relevant: CSR,
    ks: Sequence[int],
    false_positives: CSR | None,
    nothing_relevant: float,
) -> dict[str, NDArray[np.float64]]:
    """The metrics of some users' lists, and how much of what they regretted is among them."""
    metrics = ranking_metrics(top, users, relevant, ks)
    metrics = {name: np.nan_to_num(values, nan=nothing_relevant) for name, values in metrics.items()}
    if false_positives is not None:
        regretted = ranking_metrics(top, users, false_positives, ks)
        metrics |= {f"false_positives_recommended@{k}": regretted[f"recall@{k}"] for k in ks}
    return metrics


def ranking_metrics(
    top: NDArray[np.int32], users: NDArray[np.int32], relevant: CSR, ks: Sequence[int]
) -> dict[str, NDArray[np.float64]]:
    """Recall, NDCG, precision, hit rate and MRR of each user's list at each length.

    Recall@K divides by the number of relevant items. NDCG@K has binary gain, the discount 1/log2(rank + 1), and the
    ideal list of min(K, relevant) items. A user without relevant items gets NaN. If items have weights, such as how
    often a test repeats them, these count in recall's divisor and in the ideal list; a hit counts once.
    """
    hits = np.zeros((len(users), max(ks)), dtype=bool)
    _find_hits(hits, top, users, relevant.offsets, relevant.items)
    n_relevant = relevant.totals()[users]
    n_relevant[n_relevant == 0] = np.nan
    gains = discounts(max(ks))
    ideal = np.concatenate([[np.nan], np.cumsum(gains)])
    metrics: dict[str, NDArray[np.float64]] = {}
    for k in ks:
        at_k = hits[:, :k]
        n_hits = at_k.sum(1)
        best = ideal[np.nan_to_num(np.minimum(n_relevant, k)).astype(int)]
        any_hit = n_hits > 0
        metrics[f"recall@{k}"] = n_hits / n_relevant
        metrics[f"ndcg@{k}"] = at_k @ gains[:k] / best
        defined = n_relevant / n_relevant
        metrics[f"precision@{k}"] = n_hits / k * defined
        metrics[f"hit_rate@{k}"] = any_hit * defined
        metrics[f"mrr@{k}"] = any_hit / (at_k.argmax(1) + 1) * defined
    return metrics


def discounts(k: int) -> NDArray[np.float64]:
    """The contribution of a hit at each rank to the DCG."""
    return 1 / np.log2(np.arange(2, k + 2))


@njit(nogil=True, cache=True)  # not parallel: numba would change how many threads torch has
def _find_hits(hits: NDArray, top: NDArray, users: NDArray, offsets: NDArray, items: NDArray) -> None:
    """Mark the places of a list that hold one of the user's relevant items."""
    for row in range(len(users)):
        relevant = items[offsets[users[row]] : offsets[users[row] + 1]]
        for rank in range(min(top.shape[1], hits.shape[1])):
            place = np.searchsorted(relevant, top[row, rank])
            hits[row, rank] = place < len(relevant) and relevant[place] == top[row, rank]
