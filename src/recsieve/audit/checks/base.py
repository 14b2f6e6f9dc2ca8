"""The contract of a check: a log in, a table of hints out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.codes import offsets_of
from recsieve.data.interactions import Interactions

KEPT = 1_000  # rows of a table, the most striking ones


class Check(Protocol):
    """Looks for one kind of problem in a log, and gives hints, not verdicts.

    `find` returns a table, the most striking row first: a column named like `subject` (user, item or period), a score,
    `flagged`, and a `hint` in words for flagged rows. It gets interactions without repeated pairs. A check that needs
    timestamps is skipped if there are none.
    """

    title: ClassVar[str]
    about: ClassVar[str]  # what is looked for, and from where on it is flagged
    subject: ClassVar[str]
    needs_time: ClassVar[bool]

    def find(self, data: Interactions) -> pl.DataFrame: ...


@dataclass(frozen=True)
class Finding:
    """What a check found, or why it could not be run."""

    title: str
    about: str
    subject: str
    table: pl.DataFrame | None
    flagged: int = 0
    looked_at: int = 0

    def summary(self) -> dict[str, str | int | bool]:
        """The entry in audit.json."""
        return {
            "title": self.title,
            "about": self.about,
            "subject": self.subject,
            "made": self.table is not None,
            "flagged": self.flagged,
            "looked_at": self.looked_at,
            "sentence": self.sentence,
        }

    @property
    def sentence(self) -> str:
        """The finding in one line."""
        if self.table is None:
            return f"{self.title}: not checked, because the log has no timestamps."
        return f"{self.title}: {self.flagged:,} of {self.looked_at:,} {self.subject}s stand out."


def run_checks(data: Interactions, checks: Mapping[str, type[Check]]) -> dict[str, Finding]:
    """Run every check that the columns of the log allow."""
    return {name: _run(check, data) for name, check in checks.items()}


def _run(check: type[Check], data: Interactions) -> Finding:
    if check.needs_time and (data.time is None or np.ptp(data.time) == 0):
        return Finding(check.title, check.about, check.subject, None)
    table = check().find(data)
    flagged, looked_at = int(table["flagged"].sum()), len(table)
    return Finding(check.title, check.about, check.subject, table.head(KEPT), flagged, looked_at)


def hints(subject: str, ids: pl.Series, score: NDArray, flagged: NDArray[np.bool_], hint: pl.Expr,
          **facts: NDArray | pl.Series) -> pl.DataFrame:  # fmt: skip
    """The table of a check, the highest score first; rows that are not flagged have no hint."""
    columns = {subject: ids, "score": score.astype(np.float64), "flagged": flagged, **facts}
    table = pl.DataFrame(columns).with_columns(hint=pl.when("flagged").then(hint))
    return table.sort("score", descending=True, maintain_order=True)


def robust_z(values: NDArray) -> NDArray[np.float64]:
    """How many deviations a value is above the median, based on the median absolute deviation."""
    away = values - np.median(values)
    return away / (1.4826 * np.median(np.abs(away)) + 1e-9)


def sorted_times(data: Interactions, codes: NDArray[np.int32], n: int) -> tuple[NDArray, NDArray[np.int64]]:
    """The rows of each user or item in time order: (rows, offsets)."""
    assert data.time is not None  # a check that needs it is not asked without
    order = np.lexsort((data.time, codes))
    return order, offsets_of(np.bincount(codes, minlength=n))
