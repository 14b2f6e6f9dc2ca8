"""What refreshing is worth beside training anew: the last tenth of a log by time is added to a run of the rest.

python -m benchmarks.refresh [--data ml-1m movietweetings-2013-11] [--models ials mf gmf] [--seeds N] [--quiet]
                             [--result FILE]

Both end with the same training part. NDCG@20 is measured on the held-out tenth of the new interactions, and on all that
is held out, as means over seeds, of which each splits and trains anew: a thousand interactions tell little once. Times
count where nothing else ran on the machine, which --quiet says.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.new_users import REAL, ROOT, write_row
from recsieve import Recommender
from recsieve.data.interactions import Interactions
from recsieve.data.reading.formats import read_interactions
from recsieve.data.splitting import split_interactions
from recsieve.evaluation import evaluate

K = 20
MEANS = (
    "interactions", "new", "new_users", "new_items", "held_out", "before_new", "refreshed_new", "anew_new",
    "refreshed_all", "anew_all", "seconds", "anew_seconds", "measuring",
)  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refresh", description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["ml-1m", "movietweetings-2013-11"])
    parser.add_argument("--models", nargs="+", default=["ials", "mf", "gmf"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quiet", action="store_true", help="nothing else runs: times are worth keeping")
    parser.add_argument("--result", type=Path, default=ROOT / "benchmarks" / "results" / "refresh.json")
    options = parser.parse_args(arguments)
    for model in options.models:
        _warm_up(model)
    for name in options.data:
        old, new = by_time(read_interactions(REAL / name / "interactions.parquet"))
        for model in options.models:
            found = [measure(old, new, model, seed) for seed in range(options.seeds)]
            row = {"data": name, "model": model, **summary(found), "quiet": options.quiet}
            print(row, file=sys.stderr)
            write_row(options.result, row)


def by_time(data: Interactions) -> tuple[Interactions, Interactions]:
    """The first nine tenths, and the last: each with the ids that occur in it alone."""
    assert data.time is not None
    order = np.argsort(data.time, kind="stable")
    cut = len(order) * 9 // 10
    return tuple(  # type: ignore[return-value]
        read_interactions(data.take(np.sort(rows)).to_frame()) for rows in (order[:cut], order[cut:])
    )


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds; a share is that of the means, and its standard error over the seeds beside it."""
    row = {name: float(np.mean([one[name] for one in found])) for name in MEANS}
    for part in ("new", "all"):
        shares = [one[f"refreshed_{part}"] / one[f"anew_{part}"] for one in found]
        row[f"share_{part}"] = row[f"refreshed_{part}"] / row[f"anew_{part}"]
        row[f"share_{part}_error"] = float(np.std(shares, ddof=1) / len(shares) ** 0.5) if len(shares) > 1 else None
        row[f"shares_{part}"] = shares
    done = "; ".join(dict.fromkeys(one["done"] for one in found))
    return {"seeds": len(found), **row, "time_share": row["seconds"] / row["anew_seconds"], "done": done}


def measure(old: Interactions, new: Interactions, model: str, seed: int) -> dict[str, Any]:
    """Seconds and NDCG@20 of a refreshed run and of one that is trained from scratch on the same data."""
    before = Recommender(model=model, seed=seed).fit(split_interactions(old, seed=seed))
    started = time.perf_counter()
    after = before.refresh(new)
    report = after.refreshed
    assert report is not None
    assert report.seconds is not None
    measuring = time.perf_counter() - started - report.seconds
    split = after.split
    assert split is not None
    started = time.perf_counter()
    anew = Recommender(model=model, seed=seed).fit(split)
    anew_seconds = time.perf_counter() - started
    fresh = split.test.take(slice(len(split.test) - report.held_out, None))
    row: dict[str, Any] = {
        "interactions": sum(map(len, split.parts)), "new": report.interactions, "new_users": report.users,
        "new_items": report.items, "held_out": report.held_out, "done": "; ".join(report.models.values()),
    }  # fmt: skip
    for part, interactions in (("new", fresh), ("all", split.test)):
        for which, recommender in (("refreshed", after), ("anew", anew)):
            found = evaluate(recommender.trained(), interactions.csr, after.seen(), [K]).overall[f"ndcg@{K}"]
            row[f"{which}_{part}"] = found
    seconds = {"seconds": report.seconds, "anew_seconds": anew_seconds, "measuring": measuring}
    return {**row, "before_new": report.before, **seconds}


def _warm_up(model: str) -> None:
    """Compile what training takes, so that it is charged to nobody."""
    rng = np.random.default_rng(0)
    users, items = (rng.integers(0, 50, 400) for _ in range(2))
    split = split_interactions(read_interactions(pl.DataFrame({"user": users, "item": items})))
    Recommender(model=model, epochs=1).fit(split).refresh(pl.DataFrame({"user": users, "item": items + 1}))


if __name__ == "__main__":
    main()
