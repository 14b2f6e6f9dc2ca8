"""Bulk buyers: users with far more interactions than others."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from recsieve.audit.checks.base import hints, robust_z
from recsieve.data.interactions import Interactions

FAR = 5.0  # robust deviations of the logarithm
NORMAL_95 = 1.645  # deviations above which one in twenty lies, of what is normally distributed


class BulkBuyers:
    """Users whose profile is as long as that of a shop, not of a person."""

    title: ClassVar[str] = "Bulk buyers"
    about: ClassVar[str] = (
        f"Users with far more items than others. Flagged from {FAR:.0f} robust deviations of the logarithm."
    )
    subject: ClassVar[str] = "user"
    needs_time: ClassVar[bool] = False

    def find(self, data: Interactions) -> pl.DataFrame:
        counts = data.user_counts()
        users = np.flatnonzero(counts)
        logs = np.log(counts[users])
        above = logs - np.median(logs)
        # Where most users are alike, or the usual ones reach far, the median deviation is no measure of the others.
        spread = max(float(np.quantile(above, 0.95)) / NORMAL_95, 0.5)
        score = np.minimum(robust_z(logs), above / spread)
        typical = int(np.median(counts[users]))
        hint = pl.format("{} items, where half of all users have {} or fewer", "interactions", pl.lit(typical))
        ids = data.user_ids.gather(users)
        return hints("user", ids, score, score > FAR, hint, interactions=counts[users])
