"""How good the models are beside what people use, over seeds: clean-test NDCG@20, both sides tuned on validation.

python -m benchmarks.quality benchmarks/results/quality.json findings/ml-100k.toml findings/ml-1m.toml …

Each data set is split with seed 0, models are fitted on its training part alone and ranked by the same evaluation. A
side tries its grid with seed 0 on validation, and the best of it is fitted with every seed; what has no seed is fitted
once. `implicit` is installed by `pip install implicit`. A result is added to data set by data set.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import IMPLICIT_ALPHA, IMPLICIT_L2, SWEEPS, THREADS, Matrix, Product, plain_ease, profiles_of
from benchmarks.models import quality as test_quality
from benchmarks.report import describe_machine
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.evaluation import evaluate
from recsieve.experiments.config import read_config
from recsieve.experiments.study import load_split
from recsieve.models import MODELS, Scorer
from recsieve.recommender import Recommender

SEEDS = 5
Options = Mapping[str, Any]
Fit = Callable[[Split, Options, int], Scorer]


def ours(model: str) -> Fit:
    """A model of ours, as `recsieve train` fits it: settings are told from options of the model by their names."""

    def fit(split: Split, options: Options, seed: int) -> Scorer:
        own = {name: value for name, value in options.items() if name not in TRAINING}
        settings = {name: value for name, value in options.items() if name in TRAINING}
        return Recommender(model, "keep-all", model_options=own, seed=seed, **settings).fit(split).trained()

    return fit


def implicit_als(split: Split, options: Options, seed: int) -> Scorer:
    import implicit

    als = implicit.als.AlternatingLeastSquares(iterations=SWEEPS, num_threads=THREADS, random_state=seed, **options)
    als.fit(profiles_of(split), show_progress=False)
    return Product(als.user_factors, als.item_factors)


def implicit_bpr(split: Split, options: Options, seed: int) -> Scorer:
    import implicit

    bpr = implicit.bpr.BayesianPersonalizedRanking(64, num_threads=THREADS, random_state=seed, **options)
    bpr.fit(profiles_of(split), show_progress=False)
    return Product(bpr.user_factors, bpr.item_factors)


def implicit_neighbours(kind: str) -> Fit:
    def fit(split: Split, options: Options, seed: int) -> Scorer:
        import implicit

        model = getattr(implicit.nearest_neighbours, kind)(num_threads=THREADS, **options)
        model.fit(profiles_of(split), show_progress=False)
        return Matrix(profiles_of(split), model.similarity)

    return fit


def numpy_ease(split: Split, options: Options, seed: int) -> Scorer:
    profiles = profiles_of(split)
    return Matrix(profiles, plain_ease(profiles, options["l2"]))


TRAINING = {"objective", "negatives", "batch_size", "learning_rate", "epochs"}
NEIGHBOURS = (50, 100, 200)
BPR = {"objective": "bpr", "batch_size": 8192, "factors": 64}


def sides(train: Interactions) -> dict[str, tuple[str, Fit, list[Options], Fit, list[Options]]]:
    """By what is compared: the rival's name, our way and grid, the rival's way and grid."""
    l2s = [{"l2": options.get("l2", 5 * len(train) / train.n_items)} for options in MODELS["ease"].grid(train)]
    als = [{"factors": f, "regularization": r, "alpha": a} for f in (64, 128, 256) for r in IMPLICIT_L2
           for a in IMPLICIT_ALPHA]  # fmt: skip
    return {
        "EASE": ("NumPy", ours("ease"), l2s, numpy_ease, l2s),
        "iALS": ("implicit", ours("ials"), MODELS["ials"].grid(train), implicit_als, als),
        "item neighbours, BM25": (
            "implicit", ours("itemknn"), [{"neighbours": n} for n in NEIGHBOURS],
            implicit_neighbours("BM25Recommender"), [{"K": n} for n in NEIGHBOURS],
        ),
        "item neighbours, cosine": (
            "implicit", ours("itemknn"), [{"similarity": "cosine", "neighbours": n} for n in NEIGHBOURS],
            implicit_neighbours("CosineRecommender"), [{"K": n} for n in NEIGHBOURS],
        ),
        "MF, BPR": (
            "implicit", ours("mf"), [BPR | {"learning_rate": rate, "dropout": d} for rate in (2e-3, 5e-3)
                                     for d in (0.0, 0.3)],
            implicit_bpr, [{"learning_rate": rate, "regularization": r, "iterations": 100} for rate in (0.01, 0.05)
                           for r in (0.01, 0.05)],
        ),
    }  # fmt: skip


def measured(split: Split, fit: Fit, grid: Iterable[Options], seeds: int) -> dict[str, Any]:
    """The best options on validation, and their test score over seeds."""
    held_out, seen = split.validation.csr, split.train.csr
    tried = [
        (evaluate(fit(split, one, 0), held_out, seen, [20]).overall["ndcg@20"], -n, one) for n, one in enumerate(grid)
    ]
    score, _, options = max(tried, key=lambda one: one[:2])
    tests = [test_quality(fit(split, options, seed), split) for seed in range(seeds)]
    return {
        "options": dict(options), "validation": round(score, 4), "test": [round(one, 4) for one in tests],
        "mean": round(float(np.mean(tests)), 4), "sd": round(float(np.std(tests, ddof=1)), 4) if seeds > 1 else None,
    }  # fmt: skip


def compare(split: Split, tell: Callable[[str], None]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for what, (rival, ours_fit, our_grid, rival_fit, rival_grid) in sides(split.train).items():
        seeds = SEEDS if what in ("iALS", "MF, BPR") else 1
        mine, theirs = measured(split, ours_fit, our_grid, seeds), measured(split, rival_fit, rival_grid, seeds)
        change = mine["mean"] / theirs["mean"] - 1 if theirs["mean"] else None
        rows[what] = {"rival": rival, "ours": mine, "theirs": theirs, "change": change and round(change, 4)}
        tell(f"{what}: {mine['mean']} against {theirs['mean']} of {rival}")
    best = max(rows, key=lambda what: rows[what]["ours"]["validation"])
    return {"rows": rows, "best_on_validation": best, "its_test": rows[best]["ours"]["mean"]}


def main(out: Path, configs: list[Path]) -> None:
    found = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {"data": {}}
    words = "python -m benchmarks.quality benchmarks/results/quality.json findings/*.toml"
    found |= {"machine": describe_machine(THREADS), "command": words, "seeds": SEEDS}
    for path in configs:
        if path.stem in found["data"]:
            continue
        split = load_split(read_config(path).data, None, ("train", "validation", "test"), "models are compared")
        found["data"][path.stem] = compare(split, lambda line, name=path.stem: print(name, line, flush=True))
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
