"""Whether the audit's check for bots finds bots, and how many users the checks flag in public data as it is.

python -m research.studies.checks findings/checks.json findings/ml-1m.toml findings/ml-100k.toml

The first argument is the result; bots are injected into the data of the first configuration, and all are checked as
they are.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.audit.checks import CHECKS, run_checks
from recsieve.data.interactions import Interactions, concatenated
from recsieve.experiments.config import read_config
from recsieve.experiments.source import DataSource
from recsieve.experiments.study import write_result
from research.studies.audit import load_data

SEEDS = 3
TOP = 50
KINDS = ("steady pace, any items", "steady pace, popular items", "irregular pace, any items")
BOTS_OF_A_KIND = 20


def inject_bots(data: Interactions, seed: int) -> Interactions:
    """The data and bots of three kinds, with ids from `bot-0` on."""
    rng = np.random.default_rng([seed, 0xB075])
    counts = data.item_counts()
    chances = {True: counts / counts.sum(), False: np.full(data.n_items, 1 / data.n_items)}
    parts: list[tuple[NDArray, ...]] = []
    ids: list[str] = []
    for kind in KINDS:
        for _ in range(BOTS_OF_A_KIND):
            n = int(rng.integers(50, min(400, data.n_items // 2)))
            items = rng.choice(data.n_items, n, replace=False, p=chances["popular" in kind]).astype(np.int32)
            gap = float(rng.choice([2.0, 30.0, 600.0]))  # seconds
            gaps = rng.uniform(0.9, 1.1, n) * gap if "steady" in kind else rng.exponential(gap, n)
            start = int(rng.integers(data.time.min(), data.time.max()))  # type: ignore[union-attr]
            users = np.full(n, data.n_users + len(ids), np.int32)
            ids.append(f"bot-{len(ids)}")
            parts.append((users, items, (start + np.cumsum(gaps)).astype(np.int64)))
    users, items, times = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    user_ids = pl.concat([data.user_ids.cast(pl.String), pl.Series(ids, dtype=pl.String)]).alias("user")
    bots = Interactions(users, items, user_ids, data.item_ids, time=times)
    return concatenated([replace(data, user_ids=user_ids, false_positive=None, weight=None), bots])


def bots_found(data: Interactions, seed: int) -> dict[str, Any]:
    """How many of the first users in the table of bots are bots."""
    table = run_checks(inject_bots(data, seed), {"bots": CHECKS["bots"]})["bots"].table
    if table is None:
        raise ValueError("bots are looked for in data with time")
    is_bot = table["user"].str.starts_with("bot-").to_numpy()
    flagged = table["flagged"].to_numpy()
    return {
        "seed": seed,
        "bots": len(KINDS) * BOTS_OF_A_KIND,
        "precision_in_top": float(is_bot[:TOP].mean()),
        "bots_flagged": int((is_bot & flagged).sum()),
        "others_flagged": int((~is_bot & flagged).sum()),
    }


def as_it_is(data: Interactions) -> dict[str, Any]:
    """What each check flags, and the share of all users that any check flags."""
    findings = run_checks(data, CHECKS)
    users = [
        table.filter("flagged")["user"]
        for finding in findings.values()
        if (table := finding.table) is not None and finding.subject == "user"
    ]
    flagged = pl.concat(users).n_unique() if users else 0
    sentences = {name: finding.sentence for name, finding in findings.items()}
    return {"users": data.n_users, "users_flagged": flagged, "share": flagged / data.n_users, "checks": sentences}


def _source(config: Path) -> DataSource:
    source = read_config(config).data
    assert source is not None  # a file names its data
    return source


def run(out: Path, configs: list[Path], command: str) -> dict[str, Any]:
    """Inject bots into the first data, check all as they are, and write both."""
    logs = {config.stem: load_data(_source(config)) for config in configs}
    first = next(iter(logs.values()))
    result = {
        "command": command,
        "top": TOP,
        "kinds": KINDS,
        "bots_in": configs[0].stem,
        "bots": [bots_found(first, seed) for seed in range(SEEDS)],
        "as_they_are": {name: as_it_is(log) for name, log in logs.items()},
    }
    write_result(out, result)
    return result


if __name__ == "__main__":
    words = " ".join(["python -m research.studies.checks", *sys.argv[1:]])
    run(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]], words)
