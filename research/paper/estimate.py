"""How long a reproduction will take, from a few steps of each model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import torch

from recsieve.data.splitting import Split
from recsieve.evaluation import rank_items
from recsieve.evaluation.groups import some_users
from recsieve.experiments.wording import duration
from recsieve.models import Fitting
from recsieve.recommender import Recommender
from research.paper.runs import CUTOFFS, SELECTIONS, RunSpec
from research.paper.training import validation_users

STEPS = 15  # timed, after as many that compile and warm up
USERS = 16


def estimate(runs: Sequence[tuple[RunSpec, Split]], done: int, workers: int) -> str:
    """One sentence: how many runs are to be trained, and about how long that takes."""
    known: dict[tuple[str, int], Stopwatch] = {}
    seconds, workers = 0.0, min(workers, len(runs))
    for run, split in runs:
        kind = run.settings().model, id(split)
        if kind not in known:
            known[kind] = time_model(run, split)
        seconds += known[kind].whole_run(run, split)
    already = f" ({done} more are there already)" if done else ""
    return f"{len(runs)} runs to train{already}: about {duration(max(1, seconds / workers))} with {workers} at a time."


class TimedEnough(Exception):
    """The stopwatch has seen what it needs."""


class Stopwatch:
    """Takes the place of a validation: times the steps between its first and its second call, and some rankings."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self._began: float | None = None
        self.step = self.ranking = 0.0  # seconds
        self.steps_per_epoch = 0

    def __call__(self, fitting: Fitting) -> float:
        model = fitting.scorer()
        users = np.arange(min(USERS, model.n_users), dtype=np.int32)
        if self._began is None:
            rank_items(model, users[:1], max(CUTOFFS), self._split.train.csr)  # compiles
            self._began = time.perf_counter()
            return 0.0
        self.step = (time.perf_counter() - self._began) / STEPS
        started = time.perf_counter()
        rank_items(model, users, max(CUTOFFS), self._split.train.csr)
        self.ranking = (time.perf_counter() - started) / len(users)
        self.steps_per_epoch = fitting.steps_per_epoch
        raise TimedEnough

    def whole_run(self, run: RunSpec, split: Split) -> float:
        """What a run will take on one core: its steps, and the lists at each validation and in both tests."""
        steps = run.epochs * self.steps_per_epoch
        validated = min(validation_users(split), len(np.unique(split.validation.users)))
        tested = len(np.unique(some_users(split.test, run.users).users))
        return steps * self.step + self.ranking * (steps / run.every * validated + len(SELECTIONS) * tested)


def time_model(run: RunSpec, split: Split) -> Stopwatch:
    """Train for a moment, on one thread as the processes do."""
    watch, threads = Stopwatch(split), torch.get_num_threads()
    torch.set_num_threads(1)
    settings = run.settings().model_copy(
        update={"validate_every": STEPS, "denoiser": "keep-all", "denoiser_options": {}}
    )
    with suppress(TimedEnough):
        Recommender(**settings.model_dump()).fit(split, validate=watch)
    torch.set_num_threads(threads)
    return watch
