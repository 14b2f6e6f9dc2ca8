"""The runner of all experiments: unfinished tasks, in parallel processes of one thread each, so that results depend
neither on the number of processes nor on their order.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from queue import Empty
from typing import Any, Protocol

import numba
import torch

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.splitting import Split
from recsieve.errors import RecsieveError, RunError
from recsieve.experiments.machine import cores_each
from recsieve.files import write_text
from recsieve.progress import Advanced, unheard
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Event, Validated

log = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds, at what other ranks have finished


@dataclass(frozen=True)
class Started:
    """What is about to be done; reported once, before the first task."""

    tasks: int
    finished: int  # those that were done before
    workers: int
    noun: str  # what the tasks are called


Progress = Callable[[Started | Advanced], None]


class Cancelled(Exception):
    """Everything was stopped while this task was running."""


class Reporter:
    """Reports the progress of a task to the parent, and ends the task if the parent says so."""

    def __init__(
        self, begun: Advanced, send: Callable[[Advanced], None], stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._last, self._send, self._stopped = begun, send, stopped
        self.tell(0)

    def take(self, event: Event) -> None:
        """Report an event of a training."""
        self.check()
        if isinstance(event, Validated):
            self.tell(event.epoch + 1, event.score)

    def check(self) -> None:
        if self._stopped():
            raise Cancelled

    def tell(self, done: int, score: float | None = None) -> None:
        self.check()
        self._last = replace(self._last, done=done, note="" if score is None else f"{score:.4f}")
        self._send(self._last)

    def end(self) -> Advanced:
        return replace(self._last, ended=True)


class Task(Protocol):
    """A task for a process; it must be picklable, and leave complete files whenever it is ended.

    Its result is in its folder, so that it is found to be `finished` the next time.
    """

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> Path: ...

    @property
    def finished(self) -> bool: ...

    def run(self, reporter: Reporter) -> None: ...


def run_all(
    tasks: Sequence[Task],
    workers: int | None,
    progress: Progress | None,
    *,
    most: int,
    unit: str = "epoch",
    noun: str = "runs",
    group: Communicator = SINGLE_PROCESS,
) -> None:
    """Run every task that is not finished; the first failure, or an interruption, ends them all.

    There are as many processes as cores where `workers` does not say, and `most` units in a task. In a group, each rank
    runs a share, in folders that all of them see, and the first waits until all are finished; the others do not.
    """
    report = progress or unheard
    todo = _unfinished(tasks, group)
    begun = {task.name: Advanced(task.name, 0, most, unit) for task in todo}
    own = todo[group.rank :: group.size]
    workers = max(1, min(workers or cores_each(), len(own)))
    report(Started(len(tasks), len(tasks) - len(todo), min(workers * group.size, max(len(todo), 1)), noun))
    if own:
        _in_processes([(task, begun[task.name]) for task in own], workers, report)
    if group.is_first:
        for task in _finishing([task for place, task in enumerate(todo) if place % group.size]):
            report(replace(begun[task.name], done=most, ended=True))


def _unfinished(tasks: Sequence[Task], group: Communicator) -> list[Task]:
    """As the first rank sees it, so that all mean the same, whatever the others have finished meanwhile."""
    numbers = [number for number, task in enumerate(tasks) if not task.finished] if group.is_first else []
    return [tasks[number] for number in json.loads(group.broadcast_bytes(json.dumps(numbers).encode()))]


def _finishing(tasks: Sequence[Task]) -> Iterator[Task]:
    """The tasks of other ranks, as they are finished; a rank that is lost ends this one too, by torchrun."""
    left = list(tasks)
    while left:
        for task in [task for task in left if task.finished]:
            left.remove(task)
            yield task
        if left:
            time.sleep(LOOK_EVERY)


@lru_cache(maxsize=1)
def cached_split(folder: Path) -> Split:
    """The split in a folder, cached because the next task of this process probably needs it again."""
    return RunFolder(folder).read_split()


def _in_processes(tasks: Sequence[tuple[Task, Advanced]], workers: int, progress: Progress) -> None:
    context = get_context("spawn")  # a fork of a process with threads may hang
    messages, stop = context.Queue(), context.Event()
    with ProcessPoolExecutor(workers, context, _prepare, (messages, stop)) as pool:
        try:
            with _interrupts_held():
                futures = {pool.submit(_run, task, begun): task for task, begun in tasks}
            _follow(futures, messages, progress)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait; a process that is started meanwhile never sees it, not even while it still imports torch."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow(futures: dict[Future[Advanced], Task], messages: Any, progress: Progress) -> None:
    """Pass on what the workers say until all have ended; a warning that many tasks give is given once."""
    pending, warned = set(futures), set[str]()
    while pending:
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        for message in _drain(messages):
            if isinstance(message, Advanced):
                progress(message)
            elif message not in warned:
                warned.add(message)
                log.warning("%s", message)
        for future in done:
            with _explaining(futures[future]):
                progress(future.result())


@contextmanager
def _explaining(task: Task) -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool:
        raise RunError(
            f"a worker process died during {task.name}, perhaps because of too little memory: use fewer workers "
            "(finished runs are kept). In a script, call this under `if __name__ == '__main__':`."
        ) from None
    except RecsieveError as error:
        raise type(error)(f"{task.name} failed: {error}") from None


def _drain(messages: Any) -> Iterator[Advanced | str]:
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


def _run(task: Task, begun: Advanced) -> Advanced:
    try:
        reporter = Reporter(begun, _messages.put, _stop.is_set)
        task.run(reporter)
        return reporter.end()
    except (RecsieveError, Cancelled):
        raise
    except Exception as error:
        path = task.folder / "error.txt"
        write_text(path, traceback.format_exc())
        raise RunError(f"{type(error).__name__}: {error} (details in {path})") from None
