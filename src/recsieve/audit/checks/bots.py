"""Bots: a machine-like pace, unusual bursts, or items that look random."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.audit.checks.base import hints, robust_z, sorted_times
from recsieve.audit.evidence import profile_fit
from recsieve.data.interactions import Interactions

FEWEST = 30  # interactions from which a pace is told
STEADY = 0.25  # spread of the gaps, as a part of their median, below which a pace is a machine's
FAR = 6.0  # robust deviations
BURST, FASTER = 20, 100.0  # interactions in a row, and times the speed of the fastest hundredth of the users
_HINTS = [
    pl.format("regular timing: the middle half of the gaps between {} interactions varies by {} % of their median",
              "interactions", (pl.col("spread") * 100).round(0).cast(pl.Int64, strict=False)),
    pl.format(f"a burst: {BURST} interactions within {{}}, faster than usual here", "fastest"),
    pl.format("{} items that hardly go together, as if chosen at random", "interactions"),
]  # fmt: skip


class Bots:
    """Users with a very regular pace, in bursts, or with items that do not go together."""

    title: ClassVar[str] = "Bursts and bots"
    about: ClassVar[str] = (
        f"Users with at least {FEWEST} interactions. Flagged: very regular timing (the middle half of the gaps "
        f"within {100 * STEADY:.0f} % of their median), bursts of {BURST} interactions {FASTER:.0f} times faster than "
        f"those of 99 of 100 users, and items that go together less than usual by {FAR:.0f} robust deviations."
    )
    subject: ClassVar[str] = "user"
    needs_time: ClassVar[bool] = True

    def find(self, data: Interactions) -> pl.DataFrame:
        counts = data.user_counts()
        users = np.flatnonzero(counts >= FEWEST)
        spread, fastest = _pace(data, users)
        signs = np.stack([-np.log((spread + 1e-3) / STEADY), _burst(fastest), _above(-_together(data, users))])
        strongest = signs.argmax(axis=0) if len(users) else np.zeros(0, np.int64)
        score = signs.max(axis=0)
        hint = pl.coalesce(pl.when(pl.col("sign") == n).then(text) for n, text in enumerate(_HINTS))
        return hints("user", data.user_ids.gather(users), score, score > 0, hint, interactions=counts[users],
                     spread=spread, fastest=fastest, sign=strongest).drop("sign")  # fmt: skip


def _burst(fastest: NDArray) -> NDArray[np.float64]:
    """How far, as a logarithm, a burst is beyond FASTER times the speed that one user in a hundred reaches."""
    usual = np.quantile(fastest, 0.01) if len(fastest) else 1.0
    return np.log(max(usual, 1e-3) / FASTER / (fastest + 1))


def _above(values: NDArray) -> NDArray[np.float64]:
    """The logarithm of how far values are beyond FAR deviations: above 0 for what is."""
    return np.log(np.maximum(robust_z(values), 1e-3) / FAR) if len(values) else values


def _pace(data: Interactions, users: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
    """The spread of the gaps between a user's interactions as a part of their median, and the shortest burst."""
    order, offsets = sorted_times(data, data.users, data.n_users)
    spread, fastest = np.full(len(users), np.inf), np.zeros(len(users), np.int64)
    for place, user in enumerate(users):
        times = data.time[order[offsets[user] : offsets[user + 1]]]  # type: ignore[index]
        low, middle, high = np.percentile(np.diff(times), [25, 50, 75])
        spread[place] = (high - low) / middle if middle > 0 else np.inf
        fastest[place] = (times[BURST - 1 :] - times[: -BURST + 1]).min()
    return spread, fastest


def _together(data: Interactions, users: NDArray[np.int64]) -> NDArray[np.float64]:
    """How well a user's items go together, as the logarithm of the mean fit, given how many they are.

    Not given how popular they are: items drawn at random are mostly rare ones, which tells bots from people.
    """
    counts = np.maximum(data.user_counts(), 1)
    fit = np.log(np.bincount(data.users, profile_fit(data), data.n_users) / counts + 1e-4)[users]
    length = np.log(counts[users])
    columns = np.stack([length, length**2, np.ones(len(users))], axis=1)
    return fit - columns @ np.linalg.lstsq(columns, fit, rcond=None)[0]
