"""Strategies × models × seeds on one data set, with controls and verdicts: does denoising help here, and how much?"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recsieve.data.splitting import Split
from recsieve.data.statistics import describe, fingerprint
from recsieve.errors import ConfigError, RunError
from recsieve.experiments.conclusions import conclude, group_runs
from recsieve.experiments.config import ComparisonConfig, Noise, cores
from recsieve.experiments.noise import with_noise
from recsieve.experiments.plan import Cell, plan
from recsieve.experiments.pool import Progress, Started, run_all
from recsieve.experiments.run import check_same
from recsieve.experiments.study import check_folder, how_made, load_split, write_result
from recsieve.experiments.tables import write_tables
from recsieve.experiments.trial import TrialTask
from recsieve.experiments.wording import answer, sentences
from recsieve.memory import free_memory
from recsieve.run_folder import RunFolder

log = logging.getLogger(__name__)

RESULT = "comparison.json"


@dataclass(frozen=True)
class Prepared:
    """A split that is written down, and what is known of it."""

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
) -> dict[str, Any]:
    """Train what is not trained yet, compare, and write comparison.json and the tables into `out`."""
    report = progress or (lambda event: None)
    started = time.perf_counter()
    check_folder(out, "comparison")
    prepared = _prepare(config, out, split)
    cells = plan(config, {noise: prepared[noise.name].has_flags for noise in config.noise})
    tasks = [
        TrialTask(cell, prepared[cell.noise].folder, out / "runs" / cell.name, config.metric, config.validation_users)
        for cell in cells
    ]
    todo = [task for task in tasks if not _is_finished(task, prepared[task.cell.noise].fingerprint)]
    workers = _workers(config, prepared, len(tasks))
    report(Started(len(tasks), len(tasks) - len(todo), workers, "epoch", config.epochs))
    if todo:
        run_all(todo, workers, report)
    found = _conclusions(config, cells, out, prepared)
    result = how_made(config, command, started) | {"workers": workers} | found
    write_result(out / RESULT, result)
    return result


def _prepare(config: ComparisonConfig, out: Path, split: Split | None) -> dict[str, Prepared]:
    """Read the data once, and write one split for each kind of noise."""
    split = load_split(config.data, split, ("train", "validation", "test"), "strategies are compared")
    if config.select_by.startswith("clean-") and not split.validation.has_flags:
        raise ConfigError(f"select_by is '{config.select_by}', but it is not known which interactions are noise.")
    return {noise.name: _prepare_noise(split, noise, out) for noise in config.noise}


def _prepare_noise(split: Split, noise: Noise, out: Path) -> Prepared:
    noisy = with_noise(split, noise)
    run = RunFolder(out / "data" / noise.name.replace(" ", ""))
    mark = fingerprint(noisy.train)
    if run.interactions.exists():
        if fingerprint(run.read_split().train) != mark:
            raise RunError(f"the data has changed since {out} was begun: begin anew in another folder.")
    else:
        run.write_split(noisy)
    facts = describe(noisy.train) | {"test": len(noisy.test), "validation": len(noisy.validation)}
    return Prepared(run.path, mark, noisy.train.has_flags, facts, _memory(noisy))


def _memory(split: Split) -> int:
    """Bytes of a process that trains on a split, roughly: libraries, columns, tables with Adam's, scores of a block."""
    columns = 100 * (len(split.train) + len(split.validation) + len(split.test))
    tables = 6 * 4 * 200 * (split.train.n_users + split.train.n_items)
    return (700 << 20) + columns + tables


def _workers(config: ComparisonConfig, prepared: Mapping[str, Prepared], runs: int) -> int:
    """As many processes as cores and memory allow, and never more than there are runs."""
    need = max(entry.memory for entry in prepared.values())
    budget = config.memory_gb * 2**30 if config.memory_gb else 0.8 * free_memory()
    fitting = int(budget // need)
    if not fitting:
        log.warning("a run needs about %.1f GB, more than the %.1f GB allowed.", need / 2**30, budget / 2**30)
    return max(1, min(config.workers or cores(), fitting, runs))


def _is_finished(task: TrialTask, mark: str) -> bool:
    """Whether the run is there; one that was begun with other settings is refused."""
    run = RunFolder(task.folder)
    if run.exists:
        check_same(run, task.cell.settings, mark)
        users = run.read_config()["data"].get("validation_users")
        if users != task.validation_users:
            raise RunError(
                f"{run.path} was begun with validation_users = {users}, and now it is {task.validation_users}: "
                "give the same settings to go on, or another folder by --out."
            )
    return run.finished


def _conclusions(
    config: ComparisonConfig, cells: list[Cell], out: Path, prepared: Mapping[str, Prepared]
) -> dict[str, Any]:
    """What the runs say together; the tables are written beside."""
    groups = group_runs(cells, out / "runs")
    rows = conclude(groups, config.metric)
    write_tables(out / "tables", groups, rows)
    return {
        "data": {name: entry.facts | {"fingerprint": entry.fingerprint} for name, entry in prepared.items()},
        "training_seconds": round(sum(row["seconds"]["mean"] * row["seeds"] for row in rows), 1),
        "comparisons": sum(kind in row for row in rows for kind in ("against_baseline", "against_popularity")),
        "answer": answer(rows),
        "conclusions": sentences(rows, config.metric),
        "rows": rows,
    }
