"""The solved models beside what people use: quality and seconds, both sides in one process, one after the other.

python -m benchmarks.models benchmarks/results/models.json findings/ml-100k.toml findings/ml-1m.toml …

Clean-test NDCG@20 on the split of each configuration, fitted on its training part alone. `implicit` minimises another
objective than iALS as Rendle et al. write it; its regularisation is chosen on validation, and it is held to quality
and time. It is installed by `pip install implicit`. Times are the smallest of three, after a run that compiles.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as implicit asks for; it has threads of its own

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from benchmarks.report import describe_machine
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll
from recsieve.evaluation import evaluate
from recsieve.experiments.config import read_config
from recsieve.experiments.study import load_split
from recsieve.models import EASE, IALS, ItemKNN, Run, Scorer
from recsieve.models.scorer import Factors

REPEATS, SWEEPS, NEIGHBOURS = 3, 16, 100
FACTORS = (64, 128, 256)
IMPLICIT_L2, IMPLICIT_ALPHA = (0.1, 3.0, 30.0, 100.0), (1.0, 10.0)
THREADS = torch.get_num_threads()


class Product(Scorer):
    """Vectors that another library has fitted."""

    def __init__(self, users: Any, items: Any) -> None:
        super().__init__()
        self.n_users, self.n_items = len(users), len(items)
        self._vectors = torch.from_numpy(np.asarray(users)), torch.from_numpy(np.asarray(items))

    def factors(self, users: Tensor) -> Factors:
        return Factors(self._vectors[0][users], self._vectors[1])


class Matrix(Scorer):
    """Profiles times a matrix from item to item."""

    def __init__(self, profiles: csr_matrix, weights: Any) -> None:
        super().__init__()
        self.n_users, self.n_items = profiles.shape
        self._profiles, self._weights = profiles, weights

    def score(self, users: Tensor) -> Tensor:
        scores = self._profiles[users.numpy()] @ self._weights
        return torch.from_numpy(np.asarray(scores.todense() if hasattr(scores, "todense") else scores, np.float32))


def smallest(work: Callable[[], Any]) -> tuple[float, Any]:
    """The smallest of several times, and what the last one gave."""
    made, times = work(), []
    for _ in range(REPEATS):
        started = time.perf_counter()
        made = work()
        times.append(time.perf_counter() - started)
    return min(times), made


def ours(learner: Any, split: Split) -> Callable[[], Any]:
    """Fit to the end, without validations between."""

    def fit() -> Any:
        fitting = learner.begin(split, Run(0, lambda context: KeepAll()))
        while fitting.step < fitting.total:
            fitting.advance()
        return fitting

    return fit


def profiles_of(split: Split) -> csr_matrix:
    train = split.train
    return csr_matrix((np.ones(len(train), np.float32), (train.users, train.items)), (train.n_users, train.n_items))


def plain_ease(profiles: csr_matrix, l2: float) -> np.ndarray:
    """Steck's ten lines."""
    gram = np.asarray((profiles.T @ profiles).todense(), np.float64)
    gram[np.diag_indices_from(gram)] += l2
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    weights[np.diag_indices_from(weights)] = 0
    return weights.astype(np.float32)


def tuned_als(split: Split, profiles: csr_matrix, factors: int) -> Any:
    """implicit's ALS with the regularisation and confidence that are best on validation: a fair rival."""
    import implicit

    tried = []
    for l2, alpha in product(IMPLICIT_L2, IMPLICIT_ALPHA):
        als = implicit.als.AlternatingLeastSquares(
            factors, regularization=l2, alpha=alpha, iterations=SWEEPS, num_threads=THREADS, random_state=0
        )
        als.fit(profiles, show_progress=False)
        scorer = Product(als.user_factors, als.item_factors)
        score = evaluate(scorer, split.validation.csr, split.train.csr, [20]).overall["ndcg@20"]
        tried.append((score, len(tried), als))
    return max(tried)[2]


def quality(scorer: Scorer, split: Split) -> float:
    seen = split.train.csr.union(split.validation.csr)
    return evaluate(scorer, split.test.csr, seen, [20]).overall["ndcg@20"]


def compare(split: Split) -> list[dict[str, Any]]:
    """A row for each model: seconds and NDCG@20 of both sides."""
    import implicit

    warnings.filterwarnings("ignore", module="implicit")
    rows, profiles = [], profiles_of(split)
    for factors in FACTORS:
        als = tuned_als(split, profiles, factors)
        theirs, _ = smallest(lambda als=als: als.fit(profiles, show_progress=False))
        mine, fitting = smallest(ours(IALS(factors=factors, sweeps=SWEEPS), split))
        rows.append(
            _row(f"iALS, {factors} factors, a sweep", mine / SWEEPS, theirs / SWEEPS, "implicit",
                 quality(fitting.scorer(), split), quality(Product(als.user_factors, als.item_factors), split))
        )  # fmt: skip
    knn = implicit.nearest_neighbours.BM25Recommender(K=NEIGHBOURS, num_threads=THREADS)
    theirs, _ = smallest(lambda: knn.fit(profiles, show_progress=False))
    mine, fitting = smallest(ours(ItemKNN(neighbours=NEIGHBOURS), split))
    rows.append(
        _row("item neighbours, BM25", mine, theirs, "implicit", quality(fitting.scorer(), split),
             quality(Matrix(profiles, knn.similarity), split))
    )  # fmt: skip
    theirs, weights = smallest(lambda: plain_ease(profiles, 500.0))
    mine, fitting = smallest(ours(EASE(l2=500.0), split))
    found = fitting.scorer().weights.numpy()
    difference = float(np.abs(found - weights).max())
    if difference > 1e-4:
        raise SystemExit(f"EASE differs from NumPy's by {difference:.3g}")
    rows.append(
        _row("EASE", mine, theirs, "NumPy", quality(fitting.scorer(), split), quality(Matrix(profiles, weights), split))
    )
    return rows


def _row(what: str, mine: float, theirs: float, rival: str, our_ndcg: float, their_ndcg: float) -> dict[str, Any]:
    return {
        "what": what, "rival": rival, "seconds": round(mine, 4), "rival_seconds": round(theirs, 4),
        "ratio": round(theirs / mine, 2), "ndcg@20": round(our_ndcg, 4), "rival_ndcg@20": round(their_ndcg, 4),
    }  # fmt: skip


def main(out: Path, configs: list[Path]) -> None:
    result: dict[str, Any] = {"machine": describe_machine(THREADS), "command": " ".join(["python -m benchmarks.models",
                              str(out), *map(str, configs)]), "data": {}}  # fmt: skip
    for path in configs:
        split = load_split(read_config(path).data, None, ("train", "test"), "models are compared")
        result["data"][path.stem] = compare(split)
        for row in result["data"][path.stem]:
            print(path.stem, json.dumps(row), flush=True)
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
