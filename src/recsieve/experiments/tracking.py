"""Sends runs to TensorBoard or MLflow: curves, settings and results.

The libraries are extras, and are imported only if they are used.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from recsieve.errors import ConfigError, did_you_mean
from recsieve.experiments.trial import VALIDATIONS
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Began, Event, Trained, Validated

LOSSES = ("true_positive_loss", "false_positive_loss", "positive_loss", "negative_loss")
CRITERIA = {"noisy": "validation/score", "clean": "validation/clean score", "own_loss": "validation/loss",
            "test": "test/score"}  # fmt: skip

Point = tuple[int, dict[str, float]]  # a step, and what was measured there


class Tracker(Protocol):
    """The destination of the numbers of runs, one run after the other."""

    def knows(self, name: str) -> bool: ...

    def begin(self, name: str) -> None: ...

    def add(self, points: Iterable[Point]) -> None: ...

    def end(self, settings: Mapping[str, Any], results: Mapping[str, float]) -> None: ...


class TensorBoard:
    """A folder of events for each run, for `tensorboard --logdir`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "tensorboard"

    def knows(self, name: str) -> bool:
        return (self._folder / name).exists()

    def begin(self, name: str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(self._folder / name), flush_secs=5)

    def add(self, points: Iterable[Point]) -> None:
        for step, values in points:
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)

    def end(self, settings: Mapping[str, Any], results: Mapping[str, float]) -> None:
        self._writer.add_hparams(dict(settings), dict(results), run_name=".")  # into the folder of the run itself
        self._writer.close()


class MLflow:
    """An MLflow run for each, in an experiment named after the folder, at MLFLOW_TRACKING_URI."""

    MOST = 1000  # metrics in a request

    def __init__(self, folder: Path) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient()
        name = folder.resolve().name
        found = self._client.get_experiment_by_name(name)
        self._experiment = found.experiment_id if found else self._client.create_experiment(name)

    def knows(self, name: str) -> bool:
        wanted = f"attributes.run_name = '{name}' and attributes.status = 'FINISHED'"
        return bool(self._client.search_runs([self._experiment], wanted))

    def begin(self, name: str) -> None:
        self._run = self._client.create_run(self._experiment, run_name=name).info.run_id

    def add(self, points: Iterable[Point]) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(_plain(name), value, now, step) for step, values in points for name, value in values.items()]
        for start in range(0, len(metrics), self.MOST):
            self._client.log_batch(self._run, metrics=metrics[start : start + self.MOST])

    def end(self, settings: Mapping[str, Any], results: Mapping[str, float]) -> None:
        from mlflow.entities import Param

        self._client.log_batch(self._run, params=[Param(name, str(value)) for name, value in settings.items()])
        self.add([(0, dict(results))])
        self._client.set_terminated(self._run)


def _plain(name: str) -> str:
    """A name without the signs that MLflow does not take."""
    return re.sub(r"[^/\w.\- :]", "_", name.replace("@", " at "))


TRACKERS: dict[str, type[TensorBoard] | type[MLflow]] = {"tensorboard": TensorBoard, "mlflow": MLflow}


def make_tracker(kind: str, folder: Path) -> Tracker:
    """A tracker by name, for the runs of a folder; an error if its library is missing."""
    if kind not in TRACKERS:
        raise ConfigError(f"there is no log '{kind}': {did_you_mean(kind, TRACKERS)}")
    if find_spec(kind) is None:
        raise ConfigError(f"{kind} is not installed: install it by `pip install 'recsieve[{kind}]'`, or leave out log.")
    return TRACKERS[kind](folder)


class Follower:
    """Sends the loss and the validation score of a training while it runs, and the rest at the end."""

    def __init__(self, tracker: Tracker, run: RunFolder) -> None:
        self._tracker, self._run = tracker, run
        self._waiting: list[Point] = []
        self._begun = False
        self._which = ""  # of several trainings

    def take(self, event: Event) -> None:
        """Take an event of a training; events are sent at validations, because a request takes time."""
        if not self._begun:
            self._tracker.begin(self._run.path.name)
            self._begun = True
        match event:
            case Began():
                self._which = f"{event.name}/"
            case Trained():
                self._waiting.append((event.step, {f"{self._which}training/loss": event.loss}))
            case Validated():
                if not math.isnan(event.score):
                    self._waiting.append((event.step, {self._which + CRITERIA["noisy"]: event.score}))
                self._tracker.add(self._waiting)
                self._waiting.clear()

    def end(self) -> None:
        """Send the results of the finished run; nothing if no training took place."""
        if self._begun:
            conclude(self._tracker, self._run)


@contextmanager
def logging_to(kind: str | None, folder: Path, progress: Callable[[Event], None]) -> Iterator[Callable[[Event], None]]:
    """A callback for one training that also sends its events and, at the end, its results.

    The run belongs to the folder that contains its own folder.
    """
    if kind is None:
        yield progress
        return
    follower = Follower(make_tracker(kind, folder.parent), RunFolder(folder))

    def take(event: Event) -> None:
        follower.take(event)
        progress(event)

    yield take
    follower.end()


def log_run(tracker: Tracker, run: RunFolder) -> None:
    """Send a run that was trained without a tracker, if it has finished and was not sent yet."""
    if not run.finished or tracker.knows(run.path.name):
        return
    tracker.begin(run.path.name)
    tracker.add(_points(run.read_frame(run.history), {"loss": "training/loss"}))
    tracker.add(_points(run.read_frame(run.path / VALIDATIONS), CRITERIA))
    conclude(tracker, run)


def conclude(tracker: Tracker, run: RunFolder) -> None:
    """Send the results of a finished run: losses of each kind, settings and test metrics."""
    tracker.add(_points(run.read_frame(run.history), {name: f"training/{name.replace('_', ' ')}" for name in LOSSES}))
    results = {f"test/{name}": value for name, value in run.read_metrics()["test"].items() if value is not None}
    tracker.end(_flat(run.read_config()["settings"]), results)


def _points(frame: pl.DataFrame, names: Mapping[str, str]) -> Iterable[Point]:
    """The columns of a record under other names; what is not known is left out, as the losses of what has none."""
    columns = [name for name in names if name in frame.columns]
    for row in frame.select("step", *columns).to_dicts() if columns else []:
        known = {names[column]: row[column] for column in columns if row[column] is not None}
        yield int(row["step"]), {name: value for name, value in known.items() if not math.isnan(value)}


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters beside the other settings, and names with commas between."""
    nested = {name: value for name, value in settings.items() if isinstance(value, Mapping)}
    flat = {
        name: ",".join(value) if isinstance(value, list) else value
        for name, value in settings.items()
        if name not in nested
    }
    return flat | {f"{name}.{option}": value for name, options in nested.items() for option, value in options.items()}
