"""The solved models beside what people use: seconds, both sides in one process, turn by turn.

python -m benchmarks.models benchmarks/results/models.json ml-1m yelp [--threads 2]

The shapes are those of `benchmarks.run`, with weights of interactions from 0.5 to 1.5. `implicit` minimises another
objective than iALS as Rendle et al. write it, so what its sweeps are worth is in `benchmarks.quality`; EASE and NumPy's
have to give the same to 1e-4 first. A time is the smallest of three, after a round that compiles.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix

from benchmarks.inputs import load, prepare
from benchmarks.report import describe_machine
from benchmarks.rivals import plain_ease
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll
from recsieve.models import EASE, IALS, ItemKNN, Learner, Run

REPEATS, SWEEPS, NEIGHBOURS = 3, 4, 100
FACTORS = (64, 128, 256)
MOST_ITEMS = 10_000  # that EASE is solved for here
CACHE = Path(__file__).parents[1] / "build" / "bench"


def in_turns(mine: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """The smallest time of either, after one round that is not counted."""
    times = [(_seconds(mine), _seconds(theirs)) for _ in range(1 + REPEATS)][1:]
    return min(one for one, _ in times), min(other for _, other in times)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def ours(learner: Learner, train: Interactions) -> Callable[[], Any]:
    """Fit to the end, without validations between."""
    split = Split.of_training(train)

    def fit() -> Any:
        fitting = learner.begin(split, Run(0, lambda context: KeepAll()))
        while fitting.step < fitting.total:
            fitting.advance()
        return fitting

    return fit


def compare(train: Interactions, threads: int) -> Iterator[dict[str, Any]]:
    """A row for each model."""
    import implicit

    warnings.filterwarnings("ignore", module="implicit")
    profiles = csr_matrix((train.weight, (train.users, train.items)), (train.n_users, train.n_items))
    for factors in FACTORS:
        als = implicit.als.AlternatingLeastSquares(
            factors, regularization=30.0, alpha=10.0, iterations=SWEEPS, num_threads=threads, random_state=0
        )
        times = in_turns(ours(IALS(factors=factors, sweeps=SWEEPS), train), lambda als=als: _fit(als, profiles))
        yield _row(f"iALS, {factors} factors, a sweep", "implicit", *(seconds / SWEEPS for seconds in times))
    knn = implicit.nearest_neighbours
    for name, rival in (("bm25", knn.BM25Recommender), ("cosine", knn.CosineRecommender)):
        theirs = rival(K=NEIGHBOURS, num_threads=threads)
        learner = ItemKNN(similarity=name, neighbours=NEIGHBOURS)
        times = in_turns(ours(learner, train), lambda theirs=theirs: _fit(theirs, profiles))
        yield _row(f"item neighbours, {name}", "implicit", *times)
    if train.n_items <= MOST_ITEMS:
        yield _ease(replace(train, weight=None))


def _fit(rival: Any, profiles: csr_matrix) -> None:
    rival.fit(profiles, show_progress=False)


def _ease(train: Interactions) -> dict[str, Any]:
    profiles = csr_matrix((np.ones(len(train), np.float32), (train.users, train.items)), (train.n_users, train.n_items))
    fit, plain = ours(EASE(l2=500.0), train), lambda: plain_ease(profiles, 500.0)
    difference = float(np.abs(fit().scorer().weights.numpy() - plain()).max())
    if difference > 1e-4:
        raise SystemExit(f"EASE differs from NumPy's by {difference:.3g}")
    return _row("EASE", "NumPy", *in_turns(fit, plain)) | {"difference": difference}


def _row(what: str, rival: str, mine: float, theirs: float) -> dict[str, Any]:
    return {
        "what": what, "rival": rival, "seconds": round(mine, 4), "rival_seconds": round(theirs, 4),
        "ratio": round(theirs / mine, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("shapes", nargs="+", metavar="SHAPE")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = json.loads(options.result.read_text(encoding="utf-8")) if options.result.exists() else {"shapes": {}}
    found["command"] = "python -m benchmarks.models benchmarks/results/models.json ml-1m yelp"
    for shape in options.shapes:
        train = load(prepare(shape, CACHE))
        train = replace(train, weight=np.random.default_rng(0).uniform(0.5, 1.5, len(train)).astype(np.float32))
        size = {"users": train.n_users, "items": train.n_items, "interactions": len(train)}
        found["shapes"][shape] = size | {"machine": describe_machine(options.threads), "rows": []}
        for row in compare(train, options.threads):
            print(shape, json.dumps(row), flush=True)
            found["shapes"][shape]["rows"].append(row)
        options.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
