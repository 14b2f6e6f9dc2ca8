"""Cross-fitted scores: what a model predicts for interactions that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from recsieve.audit.dynamics import Kept
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.models import fits_memory
from recsieve.models.scorer import Scorer
from recsieve.preparation import make_learner, make_run
from recsieve.progress import Advanced, Progress, unheard
from recsieve.settings import Settings

EPOCHS = 10  # of a model that is trained by gradients
BLOCK = 4_000_000  # scores at a time
MOST_ITEMS = 20_000  # up to which EASE takes a minute or two


def usual_models(data: Interactions) -> tuple[str, ...]:
    """The default models: EASE, or iALS if there are too many items for EASE."""
    return ("ease",) if data.n_items <= MOST_ITEMS and fits_memory("ease", data.n_items) else ("ials",)


def cross_fitted_scores(
    data: Interactions,
    fold: NDArray[np.int8],
    models: Sequence[str],
    *,
    seed: int = 0,
    cache: Path | None = None,
    progress: Progress = unheard,
) -> dict[str, NDArray[np.float32]]:
    """The scores of all interactions by each model, which is fitted without the fold of the interaction."""
    kept, n_folds = Kept(cache, data, seed), int(fold.max()) + 1

    def scores(number: int, name: str) -> dict[str, NDArray]:
        found = np.empty(len(data), np.float32)
        for one in range(n_folds):
            progress(Advanced(f"fitting {name}", number * n_folds + one, len(models) * n_folds))
            held_out = np.flatnonzero(fold == one)
            found[held_out] = _scores(_fitted(name, data.take(fold != one), seed), data.take(held_out))
        return {"scores": found}

    return {
        name: kept.get(f"scores-{name}", partial(scores, number, name))["scores"] for number, name in enumerate(models)
    }


def _fitted(name: str, train: Interactions, seed: int) -> Scorer:
    """A registered model with its usual options, fitted to the end."""
    split = Split.of_training(train)
    settings = Settings(model=name, denoiser="keep-all", seed=seed, epochs=EPOCHS)
    return make_learner(settings).begin(split, make_run(settings, split)).finish()


@torch.no_grad()
def _scores(scorer: Scorer, pairs: Interactions) -> NDArray[np.float32]:
    """The score of each pair, a block of users at a time."""
    found = np.empty(len(pairs), np.float32)
    order = np.argsort(pairs.users, kind="stable")
    users, starts = np.unique(pairs.users[order], return_index=True)
    size = max(1, BLOCK // max(1, scorer.n_items))
    for first in range(0, len(users), size):
        block = users[first : first + size]
        end = starts[first + size] if first + size < len(users) else len(order)
        rows = order[starts[first] : end]
        scores = scorer.score(torch.from_numpy(block.astype(np.int64)))
        found[rows] = scores.numpy()[np.searchsorted(block, pairs.users[rows]), pairs.items[rows]]
    return found
