"""From data to the numbers of one result: train what is missing, then collect."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from recsieve.errors import ConfigError
from recsieve.experiments.machine import cores, machine, versions
from recsieve.experiments.pool import Progress, Reporter, cached_split, run_all
from recsieve.experiments.study import keep_split, rounded
from recsieve.files import write_text
from recsieve.storage.run_folder import RunFolder
from research.paper import TITLES, curves, figure6, figure8, table1, table3, table4, untrained
from research.paper.data_sets import DataSet
from research.paper.estimate import estimate
from research.paper.runs import Options, RunSpec, Study
from research.paper.training import train_run

FORMAT = 1
ASK_FOR_NOISE = ("table1", "figure3", "figure7", "figure9", "phenomenon")  # which say nothing without it


class Result(Protocol):
    """What is asked of a result."""

    def runs(self, study: Study) -> list[RunSpec]:
        """The runs that it needs on a data set; those that depend on others once these have ended."""

    def collect(self, study: Study) -> dict[str, Any]:
        """What it shows of a data set, in a form that JSON can hold."""


RESULTS: dict[str, Result] = {
    "table1": table1,
    "table2": untrained.TABLE2,
    "table3": table3,
    "table4": table4,
    "figure3": curves.FIGURE3,
    "figure4": curves.FIGURE4,
    "figure5": untrained.FIGURE5,
    "figure6": figure6,
    "figure7": curves.FIGURE7,
    "figure8": figure8,
    "figure9": curves.FIGURE9,
    "phenomenon": curves.PHENOMENON,
}


@dataclass(frozen=True)
class RunTask:
    """A run, the folder of its data and its own."""

    run_spec: RunSpec
    data: Path
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.data.parent.name} {self.run_spec.name}"

    @property
    def finished(self) -> bool:
        return RunFolder(self.folder).finished

    def run(self, reporter: Reporter) -> None:
        train_run(cached_split(self.data), self.run_spec, RunFolder(self.folder), reporter.take)


def reproduce_result(
    name: str,
    data_sets: Sequence[DataSet],
    options: Options,
    out: Path,
    *,
    command: str = "",
    workers: int | None = None,
    announce: Callable[[str], None] = lambda sentence: None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train what the result needs and is not in `out` yet, and write NAME.json there."""
    result, studies = RESULTS[name], [Study(data, options, out) for data in data_sets]
    _check(name, data_sets)
    for study in studies:  # for the processes that train; other data under the same name are refused
        keep_split(study.home / "data", study.data.split)
    _train(result, studies, workers or cores(), announce, progress)
    found = {
        **(untrained.reweighting() if name == "figure5" else {}),  # the only one that follows from a formula alone
        "format": FORMAT,
        "result": name,
        "title": TITLES[name],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "options": asdict(options),
        "machine": machine(),
        "versions": versions(),
        "data_sets": [{"data": study.data.facts(), **result.collect(study)} for study in studies],
    }
    found = rounded(found)
    write_text(out / f"{name}.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return found


def _train(
    result: Result,
    studies: Sequence[Study],
    workers: int,
    announce: Callable[[str], None],
    progress: Progress | None,
) -> None:
    """Train until nothing is missing: a sweep asks for more once its grid is trained."""
    trained = False
    while True:
        tasks = [
            RunTask(run, study.home / "data", study.path(run))
            for study in studies
            for run in dict.fromkeys(result.runs(study))
        ]
        todo = [task for task in tasks if not task.finished]
        if not todo:
            if tasks and not trained:
                announce(f"all {len(tasks)} runs are there already: nothing is left to train.")
            return
        announce(estimate([(task.run_spec, cached_split(task.data)) for task in todo], len(tasks) - len(todo), workers))
        run_all(tasks, workers, progress, most=max(task.run_spec.epochs for task in todo))
        trained = True


def _check(name: str, data_sets: Sequence[DataSet]) -> None:
    names = [data.name for data in data_sets]
    if len(set(names)) < len(names):
        raise ConfigError(f"two of the data sets are called alike ({', '.join(names)}): rename a file or folder.")
    for data in data_sets:
        if name in ASK_FOR_NOISE and not data.split.train.is_false_positive.any():
            raise ConfigError(
                f"{data.name} has no known false positive, but {name} is about them: give a rule by --false-positive."
            )
