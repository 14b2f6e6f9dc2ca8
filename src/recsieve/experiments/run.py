"""Training a recommender from a log to a run folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.splitting import Split
from recsieve.data.statistics import fingerprint
from recsieve.errors import DivergedError, RecsieveError, RunError
from recsieve.evaluation import Evaluation
from recsieve.experiments.pool import Reporter
from recsieve.experiments.source import DataSource
from recsieve.experiments.study import require_shared
from recsieve.lock import locked
from recsieve.preparation import check_possible
from recsieve.recommendations.filters import Filters
from recsieve.recommendations.frame import as_frame
from recsieve.recommender import DEFAULT_KS, Recommender
from recsieve.saved_models import settings_of
from recsieve.settings import Settings
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Event
from recsieve.training.steps import check_engine

log = logging.getLogger(__name__)

MOST_FOR_EXAMPLES = 5_000_000  # interactions
N_EXAMPLES, EXAMPLE_LENGTH = 4, 5


@dataclass(frozen=True)
class RunResult:
    """A finished run."""

    folder: Path
    metrics: dict[str, Any]
    examples: pl.DataFrame | None = None  # the lists of a few users, for a look


@dataclass(frozen=True)
class TrainTask:
    """A training from data to a run folder, for the pool; one that was stopped continues."""

    name: str
    load: Callable[[], Split]
    about: dict[str, Any]
    settings: Settings
    folder: Path
    ks: Sequence[int] = DEFAULT_KS

    @property
    def finished(self) -> bool:
        return RunFolder(self.folder).finished

    def run(self, reporter: Reporter) -> None:
        run = RunFolder(self.folder)
        train_split(self.load(), self.about, self.settings, run, ks=self.ks, resume=True, progress=reporter.take)


def train_and_save(
    data: DataSource,
    settings: Settings,
    out: Path,
    *,
    ks: Sequence[int] = DEFAULT_KS,
    resume: bool = False,
    progress: Callable[[Event], None] | None = None,
    group: Communicator = SINGLE_PROCESS,
    write_page: Callable[[RunResult], object] = lambda result: None,
) -> RunResult:
    """Train a recommender on a log and write its run folder; with `resume`, continue where it was stopped.

    In a group of ranks, each trains on its share, and only the first reads and writes the folder. `write_page` is
    passed in, because pages are a layer above; it is called before the lock of the folder is released.
    """
    run = RunFolder(out)
    # What `auto` has to choose among is shared out among the ranks, otherwise the interactions are.
    sharing = SINGLE_PROCESS if settings.chooses else group
    check_engine(settings.engine, sharing)  # before a long log is read
    with _writing(run, group, resume=resume):
        if resume and group.any(group.is_first and run.finished):
            if not group.is_first:
                return RunResult(run.path, {})
            run.require()
            check_same(run, settings)
            metrics = run.read_metrics()
            if "diverged" in metrics:
                raise DivergedError(
                    f"the training in {run.path} diverged: start again in another folder with --out, with a smaller "
                    "learning rate."
                )
            log.warning("the training in %s has already finished: there is nothing left to do.", run.path)
            result = RunResult(run.path, metrics)
        else:
            # The authors' code takes a given split as it stands, with what the test repeats.
            split = data.load(sharing, check=settings.fidelity == "paper")
            if settings.chooses and not group.is_first:
                _fit_ahead(settings, split, run, group)
                return RunResult(run.path, {})
            result = train_split(
                split, data.describe(), settings, run, ks=ks, resume=resume, progress=progress, group=group
            )
        if group.is_first:
            write_page(result)
        return result


@contextmanager
def _writing(run: RunFolder, group: Communicator, *, resume: bool) -> Iterator[None]:
    """Let the first rank be the only one who writes the run, if that damages nothing."""
    if not group.is_first:
        yield
        return
    check_out(run, resume=resume)
    with locked(run.path):
        check_out(run, resume=resume)  # again: another process may have been there between
        yield


def train_split(
    split: Split,
    about: dict[str, Any],
    settings: Settings,
    run: RunFolder,
    *,
    ks: Sequence[int] = DEFAULT_KS,
    resume: bool = False,
    progress: Callable[[Event], None] | None = None,
    group: Communicator = SINGLE_PROCESS,
) -> RunResult:
    """Train on a split that is read already, or on a rank's share of one.

    Where `auto` chooses, the split is whole, and the trainings are shared out among the group.
    """
    helpers, group = group, split.train.group
    check_possible(settings, split)
    about = about | {"fingerprint": fingerprint(split.train)}
    going_on = group.any(group.is_first and resume and run.exists)
    if going_on:
        if group.is_first:
            check_same(run, settings, about["fingerprint"])
    else:
        run.write_split(split)
        if group.is_first:
            run.write_config(settings, about)  # last of the three: a folder with a configuration has its data
    started = time.perf_counter()
    has_state = group.any(group.is_first and resume and run.checkpoint.exists())
    recommender = Recommender(**settings.model_dump())
    diverged: DivergedError | None = None
    try:
        if settings.chooses and helpers.size > 1:
            _fit_ahead(settings, split, run, helpers, resume=has_state)
        recommender.fit(split, progress=progress, checkpoint=run.checkpoint, resume=has_state)
    except RecsieveError as error:
        if not isinstance(error, DivergedError) or recommender.model is None:
            if group.is_first and not going_on:  # that things do not go together may be seen when they are made
                run.discard_beginning()
            raise
        diverged = error  # what was selected before it is written all the same
    evaluation = recommender.evaluate(split, ks) if split.test.all_reduce_length() else None
    recommender.save_results(run)
    if not group.is_first:
        return RunResult(run.path, {})
    ended = {} if diverged is None else {"diverged": {"step": diverged.step}}
    metrics = write_metrics(run, recommender, evaluation, seconds=round(time.perf_counter() - started, 1), **ended)
    if diverged is not None:
        raise diverged
    return RunResult(run.path, metrics, _examples(recommender, split))


def write_metrics(
    run: RunFolder, recommender: Recommender, evaluation: Evaluation | None, **more: Any
) -> dict[str, Any]:
    """Write the metrics of each user, and last of the folder metrics.json, which has more in it."""
    if evaluation is not None and recommender.split is not None:
        run.write_frame(run.per_user, evaluation.frame(recommender.split.train.user_ids))
    metrics = {
        "selected": recommender.selected,
        "test": evaluation.overall if evaluation else {},
        "test_users": len(evaluation.users) if evaluation else 0,
        **more,
        **recommender.choice_record(),
    }
    run.write_metrics(metrics)
    return metrics


def _fit_ahead(settings: Settings, split: Split, run: RunFolder, group: Communicator, *, resume: bool = False) -> None:
    """Fit a share of what `auto` has to choose among, where the first rank has begun a run that all see."""
    require_shared(run.path, group)
    Recommender(**settings.model_dump()).fit_ahead(split, run.checkpoint, group, resume=resume)


def _examples(recommender: Recommender, split: Split) -> pl.DataFrame | None:
    """What a few users have, and what they are recommended; not of a log so large that a look would take long."""
    train = split.train
    if train.group is not SINGLE_PROCESS or len(train) > MOST_FOR_EXAMPLES:
        return None
    users = pl.Series(train.user_ids[: train.users.max(initial=-1) + 1]).cast(pl.String).head(N_EXAMPLES).to_list()
    lists = recommender.ranker().for_users(users, EXAMPLE_LENGTH, Filters())
    best = as_frame(lists, train.user_ids, train.item_ids).with_columns(pl.col("user", "item").cast(pl.String))
    has = train.to_frame().select(pl.col("user", "item").cast(pl.String)).filter(pl.col("user").is_in(users))
    return (
        has.group_by("user", maintain_order=True)
        .agg(has=pl.col("item").head(EXAMPLE_LENGTH))
        .join(best.group_by("user", maintain_order=True).agg(recommended="item"), on="user")
    )


def check_out(run: RunFolder, *, resume: bool) -> None:
    """Refuse a folder with contents that would be damaged."""
    if run.begun and not resume:
        raise RunError(f"{run.path} already holds a run: continue it with --resume, or give another folder with --out.")
    if run.path.is_file():
        raise RunError(f"{run.path} is a file, but a run is a folder: give another name with --out.")
    if run.is_foreign:
        raise RunError(f"{run.path} holds files that are not a run of recsieve: give another folder with --out.")


def check_same(run: RunFolder, settings: Settings, data_fingerprint: str | None = None) -> None:
    """Refuse to continue a run with other settings or other data."""
    before, now = settings_of(run).model_dump(), settings.model_dump()
    for name, value in now.items():
        if before[name] != value:
            raise RunError(
                f"{run.path} was started with {name} = {before[name]!r}, and now it is {value!r}: "
                "give the same settings to continue, or another folder with --out."
            )
    if data_fingerprint and run.read_config()["data"].get("fingerprint") != data_fingerprint:
        raise RunError(f"the data has changed since {run.path} was started: start again in another folder with --out.")
