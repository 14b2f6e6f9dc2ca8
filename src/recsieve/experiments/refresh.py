"""Refreshing a run folder with new data into another run folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from recsieve.data.splitting import SPLITTERS, Split
from recsieve.data.statistics import fingerprint
from recsieve.errors import RunError
from recsieve.evaluation import evaluate
from recsieve.experiments.run import RunResult, check_out, write_metrics
from recsieve.lock import locked
from recsieve.recommender import Recommender
from recsieve.refresh.grow import new_parts
from recsieve.refresh.report import METRIC, K
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Event

log = logging.getLogger(__name__)

# What says which rows count and how; `refresh` asks for the rest of how a file is written.
NAMES = ("user", "item", "false_positive", "positive", "repeats", "time", "weight")


def refresh_and_save(
    source: Path,
    out: Path,
    data: Path | None = None,
    forget: Path | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    anew: bool = False,
    progress: Callable[[Event], None] | None = None,
) -> RunResult:
    """Refresh a run with new data; columns are those of the run unless `columns` says otherwise.

    With `anew`, a model is also trained from scratch, to compare the refreshed one with it.
    """
    run, begun = RunFolder(out), RunFolder(source)
    if run.path.resolve() == begun.path.resolve():
        raise RunError(f"{out} is the run to refresh: give another folder with --out.")
    _check_out(run)
    with locked(run.path):
        _check_out(run)  # again: another process may have been there between
        before = Recommender.load(source)
        about = begun.read_config().get("data", {})
        new = None if data is None else _read_new(data, before, about, columns or {})
        after = before.refresh(new, forget=forget, progress=progress)
        if anew and after.refreshed is not None and after.refreshed.held_out:
            _compare(before, after, progress)
        return _save(run, after, about | {"refreshed": str(source)})


def _read_new(data: Path, before: Recommender, about: Mapping[str, Any], columns: Mapping[str, Any]) -> Split:
    """New interactions, read and split as those of the run were; what had to be done to them is logged."""
    assert before.split is not None
    known = {name: about[name] for name in NAMES if name in about}
    how = about.get("split", "random")
    new = new_parts(
        data, before.split, known | dict(columns), how if how in SPLITTERS else "random", before.settings.seed
    )
    for line in new.report.lines() if new.report else ():
        log.warning("%s", line)
    return new


def _check_out(run: RunFolder) -> None:
    """Refuse a folder that holds something that would be damaged; a refreshing that was stopped starts again."""
    stopped = run.exists and not run.finished and "refreshed" in run.read_config().get("data", {})
    if run.begun and not stopped:
        raise RunError(f"{run.path} already holds a run: give another folder with --out.")
    check_out(run, resume=stopped)


def _compare(before: Recommender, after: Recommender, progress: Callable[[Event], None] | None) -> None:
    """Train from scratch on the same data, and put its worth into the report."""
    assert after.refreshed is not None
    assert after.split is not None
    started = time.perf_counter()
    other = Recommender(**before.settings.model_dump()).fit(after.split, progress=progress)
    seconds = round(time.perf_counter() - started, 2)
    test = after.split.test
    new = test.take(slice(len(test) - after.refreshed.held_out, None))  # they come behind those of before
    score = evaluate(other.trained(), new.csr, after.seen(), [K]).overall[METRIC]
    after.refreshed = replace(after.refreshed, anew=score, anew_seconds=seconds)


def _save(run: RunFolder, after: Recommender, about: dict[str, Any]) -> RunResult:
    split = after.split
    assert split is not None
    run.write_split(split)
    run.write_config(after.settings, about | {"fingerprint": fingerprint(split.train)})
    evaluation = after.evaluate(split) if len(split.test) else None
    after.save_results(run)
    return RunResult(run.path, write_metrics(run, after, evaluation))
