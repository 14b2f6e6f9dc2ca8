"""What folding in is worth: users who were left out of training wholly, beside the same users trained on.

python -m benchmarks.new_users [--data ml-1m steam-200k] [--models ease ials itemknn gmf mf 'mf as auto']
    [--left-out 0.05] [--draws 1] [--result FILE]

A share of the users with five items or more is drawn: with many of them, what is missed is also their data. Four fifths
of their items are their profile, the rest is what a list is measured on. "Trained on" has the profiles in the training
data; "folded in" is fitted without these users. What the latter misses is partly their data: "folded into all" folds
the profiles into the model that was trained on them, so that only folding in itself makes a difference. Models have
their defaults; "mf as auto" is MF with the objective and the dropout that `auto` gives it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.report import describe_machine
from recsieve import Recommender
from recsieve.data.interactions import CSR, Interactions
from recsieve.data.reading.formats import read_interactions
from recsieve.data.splitting import Split, split_interactions
from recsieve.evaluation import evaluate
from recsieve.models import MODELS

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "data"
REQUIRED = {"ease": 0.98, "ials": 0.98, "itemknn": 0.98, "gmf": 0.9, "mf": 0.9, "mf as auto": 0.9}
SETTINGS: dict[str, Any] = {"mf as auto": {"model": "mf", **MODELS["mf"].suits, "model_options": {"dropout": 0.5}}}
K, FEWEST_ITEMS = 20, 5


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.new_users", description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["ml-1m", "steam-200k"])
    parser.add_argument("--models", nargs="+", default=list(REQUIRED))
    parser.add_argument("--left-out", type=float, default=0.05, help="share of the users that is left out")
    parser.add_argument("--draws", type=int, default=1, help="of such users, each with trainings of its own")
    parser.add_argument("--result", type=Path, default=ROOT / "benchmarks" / "results" / "new-users.json")
    options = parser.parse_args(arguments)
    for name in options.data:
        data = read_interactions(REAL / name / "interactions.parquet")
        for model in options.models:
            found = [measure(data, model, options.left_out, seed) for seed in range(options.draws)]
            row = {"data": name, "model": model, "left_out": options.left_out, "draws": options.draws}
            row |= {**summary(*np.concatenate(found, axis=1)), "required": REQUIRED[model]}
            print(row, file=sys.stderr)
            write_row(options.result, row, ("data", "model", "left_out"))


def write_row(path: Path, row: dict[str, Any], key: tuple[str, ...] = ("data", "model")) -> None:
    """Put a row in the place of its like."""

    def place(one: dict[str, Any]) -> list[Any]:
        return [one[name] for name in key]

    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = sorted([*(other for other in rows if place(other) != place(row)), row], key=place)
    text = json.dumps({"machine": describe_machine(2), "rows": rows}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def measure(data: Interactions, model: str, left_out: float, seed: int) -> np.ndarray:
    """NDCG@20 of each user who was left out: trained on, folded in, and folded into the model that was trained on."""
    rng = np.random.default_rng(seed)
    able = np.flatnonzero(data.user_counts() >= FEWEST_ITEMS)
    users = np.sort(rng.choice(able, round(len(able) * left_out), replace=False))
    theirs = np.isin(data.users, users)
    rest, own = data.take(~theirs), split_interactions(data.take(theirs), ratios=(0.8, 0.0, 0.2), seed=seed)
    others = split_interactions(rest, ratios=(0.9, 0.1, 0.0), seed=seed)
    with_them = Interactions(
        *(np.concatenate([getattr(part, name) for part in (others.train, own.train)]) for name in ("users", "items")),
        data.user_ids, data.item_ids,
    )  # fmt: skip
    profiles, relevant = own.train.csr.take(users), own.test.csr.take(users)
    with_all, without = _fit(model, others, with_them), _fit(model, others, others.train)
    found = [evaluate(with_all, own.test.csr, own.train.csr, [K])]
    found += [
        evaluate(scorer.fold_in(_matrix(profiles)).prepare(), relevant, profiles, [K]) for scorer in (without, with_all)
    ]
    return np.stack([one.per_user[f"ndcg@{K}"] for one in found])


def summary(trained: np.ndarray, folded: np.ndarray, into_all: np.ndarray) -> dict[str, Any]:
    """The means, their ratios, and the standard error of the first ratio over users."""
    share = folded.mean() / trained.mean()
    error = (folded - share * trained).std(ddof=1) / len(trained) ** 0.5 / trained.mean()
    return {
        "users": len(trained), "trained_on": trained.mean(), "folded_in": folded.mean(), "share": share,
        "share_error": error, "folded_into_all": into_all.mean(), "share_into_all": into_all.mean() / trained.mean(),
    }  # fmt: skip


def _fit(model: str, split: Split, train: Interactions) -> Any:
    plain = Interactions(train.users, train.items, train.user_ids, train.item_ids)
    nothing = plain.take(slice(0))
    recommender = Recommender(**SETTINGS.get(model, {"model": model}))
    return recommender.fit(Split(plain, split.validation, nothing, nothing)).trained()


def _matrix(profiles: CSR) -> csr_array:
    ones = np.ones(len(profiles.items), np.float32)
    return csr_array((ones, profiles.items, profiles.offsets), shape=(profiles.n_users, profiles.n_items))


if __name__ == "__main__":
    main()
