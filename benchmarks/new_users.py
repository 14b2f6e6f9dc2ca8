"""What folding in is worth: users who were left out of training wholly, beside the same users trained on.

python -m benchmarks.new_users [--data ml-1m steam-200k] [--models ease ials itemknn gmf mf] [--result FILE]

A twentieth of the users with five items or more is drawn: with more of them, what is missed is their data. Four fifths
of their items are their profile, the rest is what a list is measured on. "Trained on" has the profiles in the training
data; "folded in" is fitted without these users.
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

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "data"
REQUIRED = {"ease": 0.98, "ials": 0.98, "itemknn": 0.98, "gmf": 0.9, "mf": 0.9}
K, FEWEST_ITEMS, MOST_USERS = 20, 5, 1000


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.new_users", description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["ml-1m", "steam-200k"])
    parser.add_argument("--models", nargs="+", default=list(REQUIRED))
    parser.add_argument("--result", type=Path, default=ROOT / "benchmarks" / "results" / "new-users.json")
    options = parser.parse_args(arguments)
    for name in options.data:
        data = read_interactions(REAL / name / "interactions.parquet")
        for model in options.models:
            row = {"data": name, "model": model, **measure(data, model)}
            print(row, file=sys.stderr)
            write_row(options.result, row)


def write_row(path: Path, row: dict[str, Any]) -> None:
    """Put a row in the place of its like."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = [other for other in rows if (other["data"], other["model"]) != (row["data"], row["model"])]
    rows = sorted([*rows, row], key=lambda each: (each["data"], each["model"]))
    text = json.dumps({"machine": describe_machine(2), "rows": rows}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def measure(data: Interactions, model: str, seed: int = 0) -> dict[str, Any]:
    """NDCG@20 of the users who were left out, folded in and trained on."""
    rng = np.random.default_rng(seed)
    able = np.flatnonzero(data.user_counts() >= FEWEST_ITEMS)
    left_out = rng.choice(able, min(MOST_USERS, len(able) // 20), replace=False)
    theirs = np.isin(data.users, left_out)
    rest, own = data.take(~theirs), split_interactions(data.take(theirs), ratios=(0.8, 0.0, 0.2), seed=seed)
    others = split_interactions(rest, ratios=(0.9, 0.1, 0.0), seed=seed)
    profiles, held_out = own.train, own.test
    with_them = Interactions(
        *(np.concatenate([getattr(part, name) for part in (others.train, profiles)]) for name in ("users", "items")),
        data.user_ids, data.item_ids,
    )  # fmt: skip
    trained = _fit(model, others, with_them)
    users = np.sort(left_out)
    relevant, seen = held_out.csr.take(users), profiles.csr.take(users)
    of_trained = held_out.csr, profiles.csr
    folded = _fit(model, others, others.train).fold_in(_matrix(seen)).prepare()
    row = {
        "users": len(users),
        "trained_on": evaluate(trained, *of_trained, [K]).overall[f"ndcg@{K}"],
        "folded_in": evaluate(folded, relevant, seen, [K]).overall[f"ndcg@{K}"],
    }
    return {**row, "share": row["folded_in"] / row["trained_on"], "required": REQUIRED.get(model)}


def _fit(model: str, split: Split, train: Interactions) -> Any:
    plain = Interactions(train.users, train.items, train.user_ids, train.item_ids)
    nothing = plain.take(slice(0))
    return Recommender(model=model).fit(Split(plain, split.validation, nothing, nothing)).trained()


def _matrix(profiles: CSR) -> csr_array:
    ones = np.ones(len(profiles.items), np.float32)
    return csr_array((ones, profiles.items, profiles.offsets), shape=(profiles.n_users, profiles.n_items))


if __name__ == "__main__":
    main()
