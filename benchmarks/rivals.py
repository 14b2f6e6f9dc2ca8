"""What our models are held against: `implicit`, RecBole, and the plain formulas in NumPy, each as a scorer."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as implicit asks for; it has threads of its own

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.evaluation import evaluate
from recsieve.models import IALS, Scorer
from recsieve.models.scorer import Factors

SWEEPS = 16
MANY_FACTORS = 512  # of iALS, beside those that suit the size of the data
THREADS = torch.get_num_threads()
Options = Mapping[str, Any]
Fit = Callable[[Split, Options, int], Scorer]


class Rival(NamedTuple):
    """Another way to the same model, and what it tries on validation."""

    name: str
    fit: Fit
    grid: Sequence[Options]
    seeds: int = 1


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


def rivals_of(what: str, train: Interactions, chosen: Options) -> list[Rival]:
    """The rivals of a row. The plain formulas take the options that ours chose: they are to give the same."""
    strengths = [{"regularization": r, "alpha": 10.0} for r in (3.0, 10.0, 30.0, 100.0)]
    strengths += [{"regularization": r, "alpha": 3.0} for r in (10.0, 30.0)]
    als = [one | {"factors": n} for n in (IALS().settled(train).factors, MANY_FACTORS) for one in strengths]
    neighbours = [{"K": n} for n in (50, 100, 200)]
    bpr = [
        {"learning_rate": rate, "regularization": strength, "iterations": n}
        for rate, n in ((0.01, 30), (0.01, 100), (0.003, 300))
        for strength in (0.01, 0.03)
    ]
    recbole = [{"learning_rate": 5e-3, "epochs": 60}]
    return {
        "EASE": [Rival("NumPy", numpy_ease, [chosen])],
        "iALS": [Rival("implicit", implicit_als, als, 5)],
        "item neighbours, BM25": [Rival("implicit", implicit_neighbours("BM25Recommender"), neighbours)],
        "item neighbours, cosine": [Rival("implicit", implicit_neighbours("CosineRecommender"), neighbours)],
        "RP3β": [Rival("NumPy", numpy_rp3beta, [chosen])],
        "popularity": [Rival("NumPy", numpy_popularity, [{}])],
        "MF, BPR": [Rival("implicit", implicit_bpr, bpr, 5), *_recbole("BPR", train, recbole)],
        "LightGCN, BPR": _recbole("LightGCN", train, recbole),
    }[what]


def profiles_of(train: Interactions) -> csr_matrix:
    return csr_matrix((np.ones(len(train), np.float32), (train.users, train.items)), (train.n_users, train.n_items))


def plain_ease(profiles: csr_matrix, l2: float) -> np.ndarray:
    """Steck's ten lines."""
    gram = np.asarray((profiles.T @ profiles).todense(), np.float64)
    gram[np.diag_indices_from(gram)] += l2
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    weights[np.diag_indices_from(weights)] = 0
    return weights.astype(np.float32)


def numpy_ease(split: Split, options: Options, seed: int) -> Scorer:
    profiles = profiles_of(split.train)
    return Matrix(profiles, plain_ease(profiles, options["l2"]))


def numpy_rp3beta(split: Split, options: Options, seed: int) -> Scorer:
    """The walk as dense matrices; of each column the 200 largest, divided by popularity."""
    profiles = profiles_of(split.train)
    counts = np.asarray(profiles.sum(0)).ravel()
    to_items = profiles.multiply(1 / profiles.sum(1)).tocsr().power(options["alpha"])
    to_users = profiles.T.multiply(1 / counts.clip(1)[:, None]).tocsr().power(options["alpha"])
    walks = np.asarray((to_users @ to_items).todense())
    np.fill_diagonal(walks, 0)
    if len(walks) > 200:
        walks[walks < np.partition(walks, -200, axis=0)[-200]] = 0
    return Matrix(profiles, walks / counts.clip(1) ** options["beta"])


def numpy_popularity(split: Split, options: Options, seed: int) -> Scorer:
    counts = np.bincount(split.train.items, minlength=split.train.n_items).astype(np.float32)
    return Product(np.ones((split.train.n_users, 1), np.float32), counts[:, None])


def implicit_als(split: Split, options: Options, seed: int) -> Scorer:
    import implicit

    als = implicit.als.AlternatingLeastSquares(iterations=SWEEPS, num_threads=THREADS, random_state=seed, **options)
    als.fit(profiles_of(split.train), show_progress=False)
    return Product(als.user_factors, als.item_factors)


def implicit_bpr(split: Split, options: Options, seed: int) -> Scorer:
    import implicit

    bpr = implicit.bpr.BayesianPersonalizedRanking(64, num_threads=THREADS, random_state=seed, **options)
    bpr.fit(profiles_of(split.train), show_progress=False)
    return Product(bpr.user_factors, bpr.item_factors)


def implicit_neighbours(kind: str) -> Fit:
    def fit(split: Split, options: Options, seed: int) -> Scorer:
        import implicit

        model = getattr(implicit.nearest_neighbours, kind)(num_threads=THREADS, **options)
        model.fit(profiles_of(split.train), show_progress=False)
        return Matrix(profiles_of(split.train), model.similarity)

    return fit


SCRIPT = Path(__file__).with_name("recbole_side.py")
PYTHON = Path(os.environ.get("RECBOLE_PYTHON", Path(__file__).parents[1] / "build" / "recbole" / "bin" / "python"))
RECBOLE_SIZE = 100_000  # interactions, above which RecBole takes too long here


def _recbole(name: str, train: Interactions, grid: Sequence[Options]) -> list[Rival]:
    if len(train) > RECBOLE_SIZE or not PYTHON.exists():
        return []
    return [Rival("RecBole", recbole(name), grid, 3)]


def recbole(name: str) -> Fit:
    """RecBole's model by RecBole's trainer, of which the epoch that is best on validation is taken, as of ours."""

    def fit(split: Split, options: Options, seed: int) -> Scorer:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            np.save(folder / "users.npy", split.train.users)
            np.save(folder / "items.npy", split.train.items)
            own = ["fit", work, name, work + "/out.npz", options["epochs"], options["learning_rate"], seed]
            subprocess.run([PYTHON, "-P", "-W", "ignore", SCRIPT, *map(str, own)], check=True)
            with np.load(folder / "out.npz") as arrays:
                epochs = [Product(users, items) for users, items in zip(arrays["users"], arrays["items"], strict=True)]
        held_out, seen = split.validation.csr, split.train.csr
        return max(epochs, key=lambda one: evaluate(one, held_out, seen, [20]).overall["ndcg@20"])

    return fit
