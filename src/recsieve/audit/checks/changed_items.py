"""Items that changed: their early users differ in taste from their late ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from recsieve.audit.checks.base import hints, robust_z, sorted_times
from recsieve.data.interactions import Interactions
from recsieve.models.closed_form import weight_matrix

FEWEST = 50  # interactions
FACTORS = 16
FAR = 8.0  # robust deviations


class ChangedItems:
    """Items whose early and late users differ in taste, such as an id that was reused or a redesigned product."""

    title: ClassVar[str] = "Items that changed"
    about: ClassVar[str] = (
        f"Items with at least {FEWEST} interactions: the distance between the mean taste of the earlier and the later "
        f"half of their users. Flagged from {FAR:.0f} robust deviations above the median."
    )
    subject: ClassVar[str] = "item"
    needs_time: ClassVar[bool] = True

    def find(self, data: Interactions) -> pl.DataFrame:
        counts = data.item_counts()
        items = np.flatnonzero(counts >= FEWEST)
        score = robust_z(_shifts(data, items)) if len(items) else np.zeros(0)
        hint = pl.format("the earlier and later half of its {} users differ in taste", "interactions")
        return hints("item", data.item_ids.gather(items), score, score > FAR, hint, interactions=counts[items])


def _shifts(data: Interactions, items: NDArray[np.int64]) -> NDArray[np.float64]:
    """The squared distance of the mean tastes of both halves, in units of what chance gives."""
    taste = _tastes(data)
    order, offsets = sorted_times(data, data.items, data.n_items)
    shifts = np.empty(len(items))
    for place, item in enumerate(items):
        tastes = taste[data.users[order[offsets[item] : offsets[item + 1]]]]
        half = len(tastes) // 2
        early, late = tastes[:half], tastes[half:]
        error = early.var(axis=0) / len(early) + late.var(axis=0) / len(late) + 1e-12
        shifts[place] = ((early.mean(axis=0) - late.mean(axis=0)) ** 2 / error).mean()
    return np.log(shifts + 1e-12)


def _tastes(data: Interactions) -> NDArray[np.float64]:
    """Directions of the users in the leading singular vectors of who met what."""
    matrix = weight_matrix(data).astype(np.float64)
    factors = min(FACTORS, min(matrix.shape) - 1)
    users = svds(matrix, k=factors, random_state=0)[0] if factors > 0 else np.ones((data.n_users, 1))
    return users / (np.linalg.norm(users, axis=1, keepdims=True) + 1e-12)
