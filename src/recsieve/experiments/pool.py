"""Runs in parallel processes of one thread each, so that their numbers depend neither on how many there are nor on
which ends first."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from queue import Empty
from typing import Any

import numba
import torch

from recsieve.data.splitting import Split
from recsieve.errors import RecsieveError, RunError
from recsieve.experiments.plan import Cell
from recsieve.experiments.trial import run_trial
from recsieve.files import write_text
from recsieve.run_folder import RunFolder
from recsieve.training import Event, Validated

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: `seconds` since it began, `score` at its last validation."""

    name: str
    epoch: int
    score: float | None
    seconds: float
    finished: bool = False


@dataclass(frozen=True)
class Job:
    """A cell, the folder of its data and the folder of its run."""

    cell: Cell
    data: Path
    folder: Path


class Cancelled(Exception):
    """The comparison was stopped while this run went on."""


def run_all(jobs: Sequence[Job], metric: str, workers: int, progress: Callable[[RunProgress], None]) -> None:
    """Run every job; the first that fails, or an interruption, ends them all and leaves whole files."""
    context = get_context("spawn")  # a fork of a process with threads may hang
    messages, stop = context.Queue(), context.Event()
    with ProcessPoolExecutor(workers, context, _prepare, (messages, stop)) as pool:
        futures = {pool.submit(_run, job, metric): job for job in jobs}
        try:
            _follow(futures, messages, progress)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _follow(futures: dict[Future[RunProgress], Job], messages: Any, progress: Callable[[RunProgress], None]) -> None:
    """Pass on what the workers say until all have ended; a warning that many runs give is given once."""
    pending, warned = set(futures), set[str]()
    while pending:
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        for message in _drain(messages):
            if isinstance(message, RunProgress):
                progress(message)
            elif message not in warned:
                warned.add(message)
                log.warning("%s", message)
        for future in done:
            with _explaining(futures[future]):
                progress(future.result())


@contextmanager
def _explaining(job: Job) -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool:
        raise RunError(
            f"a worker process died during {job.cell.name}, perhaps for lack of memory: give fewer workers (runs that "
            "are finished stay). A script that compares has to do so under `if __name__ == '__main__':`."
        ) from None
    except RecsieveError as error:
        raise type(error)(f"the run {job.cell.name} failed: {error}") from None


def _drain(messages: Any) -> Iterator[RunProgress | str]:
    while True:
        try:
            yield messages.get_nowait()
        except Empty:
            return


# What follows happens in the worker processes.

_messages: Any
_stop: Any


def _prepare(messages: Any, stop: Any) -> None:
    global _messages, _stop
    _messages, _stop = messages, stop
    messages.cancel_join_thread()  # nobody may be left to read
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    logger = logging.getLogger("recsieve")
    logger.addHandler(_ToParent(logging.WARNING))
    logger.propagate = False
    threading.Thread(target=_end_with_parent, daemon=True).start()


class _ToParent(logging.Handler):
    """Sends warnings to the process that talks to the user."""

    def emit(self, record: logging.LogRecord) -> None:
        _messages.put(record.getMessage())


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@lru_cache(maxsize=1)
def _read_split(folder: Path) -> Split:
    return RunFolder(folder).read_split()


def _run(job: Job, metric: str) -> RunProgress:
    if _stop.is_set():
        raise Cancelled
    reporter = _Reporter(job.cell.name)
    try:
        _messages.put(reporter.progress())
        run_trial(_read_split(job.data), job.cell, job.folder, metric, reporter)
        return reporter.progress(finished=True)
    except (RecsieveError, Cancelled):
        raise
    except Exception as error:
        path = job.folder / "error.txt"
        write_text(path, traceback.format_exc())
        raise RunError(f"{type(error).__name__}: {error} (all of it in {path})") from None


class _Reporter:
    """Tells the parent how far a run is, and ends it when the parent says so."""

    def __init__(self, name: str) -> None:
        self._name, self._started = name, time.perf_counter()
        self._epoch = 0
        self._score: float | None = None

    def __call__(self, event: Event) -> None:
        if _stop.is_set():
            raise Cancelled
        if isinstance(event, Validated):
            self._epoch, self._score = event.epoch + 1, event.score
            _messages.put(self.progress())

    def progress(self, *, finished: bool = False) -> RunProgress:
        return RunProgress(self._name, self._epoch, self._score, time.perf_counter() - self._started, finished)
