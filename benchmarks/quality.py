"""How good the models are beside what people use: clean-test NDCG@20, both sides tuned on validation, over seeds.

python -m benchmarks.quality benchmarks/results/quality.json findings/ml-100k.toml findings/ml-1m.toml … [--only EASE …]

Each data set is split with seed 0, models are fitted on its training part alone and ranked by the same evaluation. A
side tries its grid with seed 0 on validation, and the best of it is fitted with every seed; what has no randomness is
fitted once. `implicit` is installed by `pip install implicit`, RecBole by `make recbole`. The result is added to row by
row; a row that is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import describe_machine
from benchmarks.rivals import MANY_FACTORS, Fit, Options, Rival, rivals_of
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.evaluation import evaluate
from recsieve.experiments.config import read_config
from recsieve.experiments.study import require_split
from recsieve.models import MODELS, Scorer
from recsieve.recommender import Recommender

SEEDS, PATIENCE = 5, 5
FEW_ITEMS = 5000  # up to which EASE is solved in seconds
TRAINING = {"objective", "negatives", "batch_size", "learning_rate", "epochs"}
BPR = {"objective": "bpr", "batch_size": 8192, "factors": 64}
NEIGHBOURS = (50, 100, 200)


def ours(model: str, validation_users: int | None) -> Fit:
    """A model of ours, as `recsieve train` fits it: settings are told from options of the model by their names."""

    def fit(split: Split, options: Options, seed: int) -> Scorer:
        own = {name: value for name, value in options.items() if name not in TRAINING}
        settings = {name: value for name, value in options.items() if name in TRAINING}
        settings |= {"seed": seed, "validation_users": validation_users, "patience": PATIENCE}
        return Recommender(model, "keep-all", model_options=own, **settings).fit(split).trained()

    return fit


def grids(train: Interactions) -> dict[str, tuple[str, Sequence[Options]]]:
    """By row: the name of our model, and what it tries."""
    usual = len(train) / train.n_items  # the mean item's interactions
    multiples = (0.5, 1, 1.5, 2, 3, 4, 5, 10, 20) if train.n_items <= FEW_ITEMS else (0.5, 1, 1.5, 5)
    ials = MODELS["ials"].grid(train)
    return {
        "EASE": ("ease", [{"l2": float(f"{times * usual:.3g}")} for times in multiples]),
        "iALS": ("ials", [*ials, *(one | {"factors": MANY_FACTORS} for one in ials)]),
        "item neighbours, BM25": ("itemknn", [{"neighbours": n} for n in NEIGHBOURS]),
        "item neighbours, cosine": ("itemknn", [{"similarity": "cosine", "neighbours": n} for n in NEIGHBOURS]),
        "RP3β": ("rp3beta", [{"alpha": a, "beta": b} for a in (0.6, 0.8) for b in (0.3, 0.5)]),
        "popularity": ("popularity", [{}]),
        "MF, BPR": ("mf", [BPR | {"learning_rate": 5e-3, "dropout": dropout} for dropout in (0.0, 0.3)]),
        "LightGCN, BPR": ("lightgcn", [{"objective": "bpr", "learning_rate": 5e-3, "batch_size": 4096, "factors": 64}]),
    }


def measured(split: Split, fit: Fit, grid: Sequence[Options], seeds: int) -> dict[str, Any]:
    """The best options on validation, and their test score over seeds."""
    fitted = [fit(split, options, 0) for options in grid]
    scores = [evaluate(one, split.validation.csr, split.train.csr, [20]).overall["ndcg@20"] for one in fitted]
    best = int(np.argmax(scores))
    seen = split.train.csr.union(split.validation.csr)
    scorers = (fitted[best], *(fit(split, grid[best], seed) for seed in range(1, seeds)))
    tests = [evaluate(scorer, split.test.csr, seen, [20]).overall["ndcg@20"] for scorer in scorers]
    return {
        "options": dict(grid[best]), "tried": len(grid), "validation": round(scores[best], 5),
        "test": [round(one, 5) for one in tests], "mean": round(float(np.mean(tests)), 5),
        "sd": round(float(np.std(tests, ddof=1)), 5) if seeds > 1 else None,
    }  # fmt: skip


def compare(split: Split, what: str, validation_users: int | None) -> dict[str, Any]:
    """One row: our model, and each rival of it."""
    name, grid = grids(split.train)[what]
    seeds = SEEDS if getattr(MODELS[name], "uses_seed", True) else 1
    mine = measured(split, ours(name, validation_users), grid, seeds)
    row: dict[str, Any] = {"ours": mine, "rivals": {}}
    for rival in rivals_of(what, split.train, mine["options"]):
        row["rivals"][rival.name] = _beside(split, mine, rival)
    return row


def _beside(split: Split, mine: Mapping[str, Any], rival: Rival) -> dict[str, Any]:
    theirs = measured(split, rival.fit, rival.grid, rival.seeds)
    return theirs | {"change": round(mine["mean"] / theirs["mean"] - 1, 5)}


def main() -> None:
    options = _parse()
    found = json.loads(options.result.read_text(encoding="utf-8")) if options.result.exists() else {"data": {}}
    found["command"] = "python -m benchmarks.quality benchmarks/results/quality.json findings/*.toml"
    for path in options.configs:
        config = read_config(path)
        split = require_split(config.data, None, ("train", "validation", "test"), "models are compared")
        rows = found["data"].setdefault(path.stem, {})
        for what in grids(split.train):
            if what in rows or what not in (options.only or [what]):
                continue
            rows[what] = compare(split, what, config.validation_users) | {"machine": describe_machine(1)}
            _tell(path.stem, what, rows[what])
            options.result.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _tell(name: str, what: str, row: Mapping[str, Any]) -> None:
    beside = ", ".join(f"{rival} {theirs['mean']}" for rival, theirs in row["rivals"].items())
    print(name, what, row["ours"]["mean"], "on validation", row["ours"]["validation"], "beside", beside, flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("configs", type=Path, nargs="+")
    parser.add_argument("--only", action="append", metavar="ROW", help="Measure this row alone; repeat for several.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
