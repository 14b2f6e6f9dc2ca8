"""A folder of runs that several results share: what one has trained, the next does not train again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recsieve.data.statistics import describe
from recsieve.experiments.pool import Reporter, cached_split
from recsieve.experiments.study import keep_split
from recsieve.storage.run_folder import RunFolder
from research.paper.data_sets import DataSet
from research.paper.runs import Options, RunSpec, Study
from research.paper.training import train_run


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


class Store:
    """The data and the runs under one folder: DATA/data and DATA/runs/RUN."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def study(self, data: DataSet, options: Options) -> Study:
        return Study(data, options, self._of(data) / "runs")

    def add_data(self, data: DataSet) -> None:
        """Write the split for the processes that train; refuse other data under the same name."""
        keep_split(self._of(data) / "data", data.split)

    def tasks(self, study: Study, runs: Iterable[RunSpec]) -> list[RunTask]:
        """The runs as tasks, each once."""
        return [RunTask(run, self._of(study.data) / "data", study.path(run)) for run in dict.fromkeys(runs)]

    def _of(self, data: DataSet) -> Path:
        return self._folder / re.sub(r"[^\w.-]+", "_", data.name)


def data_facts(data: DataSet) -> dict[str, Any]:
    """What is worth writing down of a data set; its path as it was given."""
    split = data.split
    return {
        "name": data.name, "source": data.source, "about": data.about, "preset": data.preset,
        "is_papers": data.is_papers, "cutoffs": list(data.cutoffs), "steps_per_epoch": data.steps_per_epoch,
        "catalogue": {"users": split.train.n_users, "items": split.train.n_items},
        "validation": len(split.validation), "test": len(split.test), **describe(split.train),
    }  # fmt: skip
