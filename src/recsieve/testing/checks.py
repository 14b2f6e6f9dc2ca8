"""The contract of a check of an audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from recsieve.data.interactions import Interactions
from recsieve.testing.promises import promise


def check_check(check: type[Any]) -> None:
    """Check a check: its attributes, and the form and order of its table, also with little data."""
    for name, kind in {"title": str, "about": str, "subject": str, "needs_time": bool}.items():
        promise(
            isinstance(getattr(check, name, None), kind), f"a check says by `{name}`, a {kind.__name__}, what it is."
        )
    for n_users, n_items in ((60, 80), (3, 4)):
        data = _log(n_users, n_items)
        for given in (data,) if check.needs_time else (data, replace(data, time=None)):
            _check_table(check, given)


def _check_table(check: type[Any], data: Interactions) -> None:
    table = check().find(data)
    for name in (check.subject, "score", "flagged", "hint"):
        promise(name in table.columns, f"the table of a check has a column '{name}'.")
    promise(table["score"].is_sorted(descending=True), "the highest score comes first.")
    promise(table["score"].is_finite().all(), "scores are finite.")
    promise(
        (table["hint"].is_not_null() == table["flagged"]).all(), "what is flagged has a hint, and nothing else has."
    )
    promise(table[check.subject].n_unique() == table.height, f"a {check.subject} has one row.")
    promise(table.equals(check().find(data)), "the same data gives the same table.")


def _log(n_users: int, n_items: int) -> Interactions:
    rng = np.random.default_rng(0)
    users, items = (rng.random((n_users, n_items)) < 0.6).nonzero()
    ids = pl.Series([f"u{n}" for n in range(n_users)]), pl.Series(range(n_items))
    times = np.sort(rng.integers(0, 10**6, len(users)))
    return Interactions(users.astype(np.int32), items.astype(np.int32), *ids, time=rng.permutation(times))
