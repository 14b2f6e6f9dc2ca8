"""One run of a case. Only `fit` (and `ranks.main`) knows the package's interface: adapt it there alone."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding
import numba
import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve import Recommender
from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.data.splitting import Split
from recsieve.training import Event, Trained, Validated
from tests.golden.cases import STRATEGIES, Case

# 36 is a multiple of 1, 2, 3 and 4 and 96 too: with up to 3 negatives no batch border falls into a group, also where
# batches are by user and somebody who has every item, and so no negatives, stands between others.
N_USERS, N_ITEMS, FULL_USERS = 60, 36, (0, 7)
SETTINGS = {"epochs": 2, "batch_size": 96, "negatives": 2, "learning_rate": 0.01, "seed": 3, "patience": 99}
STOP_AT = 5  # in the middle of the first epoch

Trace = dict[str, Any]  # losses of all steps, SHA-256 of the weights, validation scores by step


class Log(NamedTuple):
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    is_noise: NDArray[np.bool_]
    weights: NDArray[np.float32] | None
    held_out: NDArray[np.bool_]  # for validation


class Stopped(Exception):
    pass


def fit(
    case: Case, log: Log, group: Communicator, seen: Callable[[int, str, float], None], **how: Any
) -> Iterable[Tensor]:
    """Train as a case says, telling the loss and the score at each step; gives the weights that are kept."""

    def progress(event: Event) -> None:
        if isinstance(event, Trained):  # one for each step, as an epoch has fewer than 40
            seen(event.step, "losses", event.loss)
        elif isinstance(event, Validated):
            seen(event.step, "scores", event.score)

    ids = pl.Series(np.arange(N_USERS)), pl.Series(np.arange(N_ITEMS))
    whole = Interactions(log.users, log.items, *ids, log.is_noise.astype(np.int8), log.weights)
    train, validation = (share_out(whole.take(rows), group) for rows in (~log.held_out, log.held_out))
    nothing = validation.take(slice(0))
    recommender = Recommender(
        case.model,
        case.strategy,
        denoiser_options=case.strategy_options or STRATEGIES[case.strategy],
        model_options={"factors": 8, **case.model_options},
        engine=case.engine,
        **SETTINGS | case.settings,
    )
    recommender.fit(Split(train, validation, nothing, nothing), progress=progress, **how)
    return recommender.trained().parameters()


def make_log(case: Case) -> Log:
    """Interactions in a random order, a fifth of them known to be noise."""
    random = np.random.default_rng(0)
    taken = random.random((N_USERS, N_ITEMS)) < random.random(N_ITEMS) * 0.25
    taken[list(FULL_USERS)] |= case.full_users
    users, items = random.permutation(np.argwhere(taken)).astype(np.int32).T.copy()
    is_noise = random.random(len(users)) < 0.2
    weights = random.random(len(users)).astype(np.float32) + np.float32(0.5)
    held_out = (random.random(len(users)) < 0.1) & ~np.isin(users, FULL_USERS) & case.validation
    return Log(users, items, is_noise, weights if case.weights else None, held_out)


def run(case: Case, group: Communicator = SINGLE_PROCESS, checkpoint: Path | None = None) -> Trace:
    """The trace of a case; with a checkpoint, a file to write, that of a run which was stopped and gone on with."""
    seen: dict[str, dict[int, float]] = {"losses": {}, "scores": {}}

    def note(step: int, what: str, value: float) -> None:
        seen[what][step] = value

    def note_and_stop(step: int, what: str, value: float) -> None:
        note(step, what, value)
        if step > STOP_AT:
            raise Stopped

    log, how = make_log(case), {}
    with threads(case.threads):
        if checkpoint is not None:
            case = replace(case, settings={**case.settings, "checkpoint_every": STOP_AT})
            with suppress(Stopped):
                fit(case, log, group, note_and_stop, checkpoint=checkpoint)
            how = {"checkpoint": checkpoint, "resume": True}
        weights = fit(case, log, group, note, **how)
    losses, scores = seen["losses"], seen["scores"]
    assert list(losses) == list(range(1, len(losses) + 1))
    trace = {"losses": list(losses.values()), "weights": hash_of(weights)}
    return trace | ({"scores": {str(step): score for step, score in scores.items()}} if case.validation else {})


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let torch have some threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def hash_of(weights: Iterable[Tensor]) -> str:
    """SHA-256 of tensors, whatever their names and order."""
    each = [
        hashlib.sha256(f"{weight.dtype} {tuple(weight.shape)} ".encode() + weight.detach().numpy().tobytes()).digest()
        for weight in weights
    ]
    return hashlib.sha256(b"".join(sorted(each))).hexdigest()


def fingerprint() -> dict[str, str]:
    """What decides about the last bit: the processor as LLVM and torch see it, torch and numba."""
    features = llvmlite.binding.get_host_cpu_features().flatten()
    return {
        "processor": f"{platform.machine()} {llvmlite.binding.get_host_cpu_name()}",
        "features": hashlib.sha256(features.encode()).hexdigest()[:16],
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "numba": numba.__version__,
    }
