"""One run of a case. `fit` is all that touches the package's interface: adapt it there, and nowhere else."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import polars as pl
import torch

from recsieve import Recommender
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.data.splitting import Split
from recsieve.group import ALONE, Group
from recsieve.training import Trained, Validated
from tests.golden.cases import STRATEGIES, Case

# 36 is a multiple of 1, 2, 3 and 4 and 96 too: with up to 3 negatives no batch border falls into a group, also where
# batches are by user and somebody who has every item, and so no negatives, stands between others.
N_USERS, N_ITEMS, FULL_USERS = 60, 36, (0, 7)
SETTINGS = {"epochs": 2, "batch_size": 96, "negatives": 2, "learning_rate": 0.01, "seed": 3, "patience": 99}
STOP_AT = 5  # in the middle of the first epoch

Trace = dict[str, Any]


class Stopped(Exception):
    pass


def fit(
    case: Case, parts: tuple[Interactions, Interactions], group: Group, seen: Callable[[Any], None], **how: Any
) -> Iterable[torch.Tensor]:
    """Train as a case says on training and validation parts, telling what happens; gives the weights that are kept."""
    train, validation = (share_out(part, group) for part in parts)
    nothing = validation.take(slice(0))
    recommender = Recommender(
        case.model,
        case.strategy,
        denoiser_options=case.strategy_options or STRATEGIES[case.strategy],
        model_options={"factors": 8, **case.model_options},
        engine=case.engine,
        **SETTINGS | case.settings,
    )
    recommender.fit(Split(train, validation, nothing, nothing), progress=seen, **how)
    return recommender.trained().parameters()


def make_log(case: Case) -> tuple[Interactions, Interactions]:
    """Training and validation interactions, a fifth of them known to be noise."""
    random = np.random.default_rng(0)
    taken = random.random((N_USERS, N_ITEMS)) < random.random(N_ITEMS) * 0.25
    taken[list(FULL_USERS)] |= case.full_users
    users, items = (axis.astype(np.int32) for axis in taken.nonzero())
    order = random.permutation(len(users))
    flags = (random.random(len(users)) < 0.2).astype(np.int8)
    weights = random.random(len(users)).astype(np.float32) + np.float32(0.5)
    ids = pl.Series(np.arange(N_USERS)), pl.Series(np.arange(N_ITEMS))
    log = Interactions(users, items, *ids, flags, weights if case.weights else None).take(order)
    held_out = (random.random(len(log)) < 0.1) & ~np.isin(log.users, FULL_USERS) & case.validation
    return log.take(~held_out), log.take(held_out)


def run(case: Case, group: Group = ALONE, checkpoint: Path | None = None) -> Trace:
    """The trace of a case; with a checkpoint, a file to write, that of a run which was stopped and gone on with."""
    losses: dict[int, float] = {}
    scores: dict[int, float] = {}

    def seen(event: Any) -> None:
        if isinstance(event, Trained):  # one for each step, as an epoch has fewer than 40
            losses[event.step] = event.loss
        if isinstance(event, Validated):
            scores[event.step] = event.score

    def stop(event: Any) -> None:
        seen(event)
        if event.step > STOP_AT:
            raise Stopped

    parts, n_threads, how = make_log(case), torch.get_num_threads(), {}
    torch.set_num_threads(case.threads)
    try:
        if checkpoint is not None:
            case = replace(case, settings={**case.settings, "checkpoint_every": STOP_AT})
            try:
                fit(case, parts, group, stop, checkpoint=checkpoint)
            except Stopped:
                how = {"checkpoint": checkpoint, "resume": True}
        weights = fit(case, parts, group, seen, **how)
    finally:
        torch.set_num_threads(n_threads)
    assert list(losses) == list(range(1, len(losses) + 1))
    trace = {"losses": list(losses.values()), "weights": hash_of(weights)}
    return trace | ({"scores": scores} if case.validation else {})


def hash_of(weights: Iterable[torch.Tensor]) -> str:
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
