"""Strategies × models × seeds on one data set, with controls and verdicts: does denoising help here, and how much?"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from recsieve.checking import accepts, make_settings
from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.splitting import Split
from recsieve.data.statistics import describe
from recsieve.experiments.conclusions import JUDGEMENTS, conclude, runs_of_seeds
from recsieve.experiments.config import run_settings
from recsieve.experiments.machine import cores_each, ranks_here
from recsieve.experiments.noise import with_noise
from recsieve.experiments.plan import Cell, plan, tell_left_out
from recsieve.experiments.pool import Progress, run_all
from recsieve.experiments.settings import ComparisonConfig, Noise
from recsieve.experiments.study import (
    check_folder,
    how_made,
    keep_split,
    require_shared,
    require_split,
    write_result,
    writing,
)
from recsieve.experiments.tables import write_tables
from recsieve.experiments.trial import TrialTask
from recsieve.experiments.wording import answer, sentences
from recsieve.memory import free_memory
from recsieve.models import fits_memory
from recsieve.preparation import check_possible
from recsieve.storage.run_folder import RunFolder

log = logging.getLogger(__name__)

RESULT = "comparison.json"


@dataclass(frozen=True)
class Prepared:
    """A split that is saved, and facts about it."""

    folder: Path
    fingerprint: str
    has_flags: bool
    facts: dict[str, Any]
    memory: int  # bytes of a process that trains on it


def run_comparison(
    config: ComparisonConfig,
    out: Path,
    *,
    split: Split | None = None,
    command: str = "",
    progress: Progress | None = None,
    write_page: Callable[[Path], object] = lambda folder: None,
    group: Communicator = SINGLE_PROCESS,
) -> dict[str, Any]:
    """Train what is not trained yet, compare, and write comparison.json and the tables into `out`.

    In a group, each rank trains a share, and only the first has a result.
    """
    started = time.perf_counter()
    with writing(out, partial(check_folder, what="comparison"), group):
        config, prepared = _begin(config, out, split, group)
        cells = plan(config, {noise: prepared[noise.name].has_flags for noise in config.noise})
        tasks = [_task(cell, prepared[cell.noise], out, config) for cell in cells]
        workers = _workers(config, prepared, len(tasks))
        run_all(tasks, workers, progress, most=config.epochs, group=group)
        if not group.is_first:
            return {}
        found = _conclusions(config, cells, out, prepared)
        result = how_made(config, command, started) | {"workers": workers} | found
        write_result(out / RESULT, result)
        write_page(out)
    return result


def _begin(
    config: ComparisonConfig, out: Path, split: Split | None, group: Communicator
) -> tuple[ComparisonConfig, dict[str, Prepared]]:
    """Write down the data on the first rank, and tell the others what it has found."""
    told: dict[str, Any] = {}
    if group.is_first:
        split = require_split(config.data, split, ("train", "validation", "test"), "strategies are compared")
        config = _affordable(config, split)
        prepared = _prepare(config, out, split)
        told = {"plain_models": config.plain_models, "prepared": {name: asdict(one) for name, one in prepared.items()}}
    told = json.loads(group.broadcast_bytes(json.dumps(told, default=str).encode()))
    require_shared(out, group)
    prepared = {name: Prepared(**one | {"folder": Path(one["folder"])}) for name, one in told["prepared"].items()}
    return config.model_copy(update={"plain_models": told["plain_models"]}), prepared


def _affordable(config: ComparisonConfig, split: Split) -> ComparisonConfig:
    """Leave out the plain models that nobody asked for and that do not fit into memory, and say so."""
    kept = [name for name in config.plain_models if fits_memory(name, split.train.n_items)]
    for name in config.plain_models:
        if name not in kept:
            log.warning("%s needs more memory than is free for %d items and is left out.", name, split.train.n_items)
    return config.model_copy(update={"plain_models": kept})


def _prepare(config: ComparisonConfig, out: Path, split: Split) -> dict[str, Prepared]:
    """Write one split for each kind of noise."""
    for strategy in config.strategies.values():
        for model in config.models:
            if accepts(model, strategy.denoiser):
                check_possible(make_settings(run_settings(config, model, strategy, seed=0)), split)
    tell_left_out(config)
    return {noise.name: _prepare_noise(split, noise, out) for noise in config.noise}


def _prepare_noise(split: Split, noise: Noise, out: Path) -> Prepared:
    noisy = with_noise(split, noise)
    folder = out / "data" / noise.name.replace(" ", "")
    mark = keep_split(folder, noisy, begun=_any_begun(out / "runs"))
    facts = describe(noisy.train) | {"test": len(noisy.test), "validation": len(noisy.validation)}
    return Prepared(folder, mark, noisy.train.has_flags, facts, _memory(noisy))


def _task(cell: Cell, data: Prepared, out: Path, config: ComparisonConfig) -> TrialTask:
    folder = out / "runs" / cell.name
    return TrialTask(cell, data.folder, data.fingerprint, folder, config.metric, config.validation_users)


def _any_begun(runs: Path) -> bool:
    return runs.exists() and any(RunFolder(folder).begun for folder in runs.iterdir())


def _memory(split: Split) -> int:
    """Bytes of a process that trains on a split, roughly: libraries, columns, tables with Adam's, scores of a block."""
    columns = 100 * (len(split.train) + len(split.validation) + len(split.test))
    tables = 6 * 4 * 200 * (split.train.n_users + split.train.n_items)
    return (700 << 20) + columns + tables


def _workers(config: ComparisonConfig, prepared: Mapping[str, Prepared], runs: int) -> int:
    """As many processes as cores and memory allow, and never more than there are runs."""
    need = max(entry.memory for entry in prepared.values())
    budget = 0.8 * free_memory() / ranks_here()
    fitting = int(budget // need)
    if not fitting:
        log.warning("a run needs about %.1f GB, more than the %.1f GB allowed.", need / 2**30, budget / 2**30)
    return max(1, min(config.workers or cores_each(), fitting, runs))


def _conclusions(
    config: ComparisonConfig, cells: list[Cell], out: Path, prepared: Mapping[str, Prepared]
) -> dict[str, Any]:
    """What the runs say together; the tables are written beside."""
    compared = runs_of_seeds(cells, out / "runs")
    rows = conclude(compared, config.metric)
    write_tables(out / "tables", compared, rows)
    return {
        "data": {name: entry.facts | {"fingerprint": entry.fingerprint} for name, entry in prepared.items()},
        "training_seconds": round(sum(row["seconds"]["mean"] * row["seeds"] for row in rows), 1),
        "comparisons": sum(kind in row for row in rows for kind in JUDGEMENTS),
        "answer": answer(rows, config.metric),
        "conclusions": sentences(rows, config.metric),
        "rows": rows,
    }
