"""Threads that divide work over the cores. Each keeps torch to one thread, and none busy-waits for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch


def thread_pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads in which torch uses one core and records no gradients."""
    return ThreadPoolExecutor(n_threads, initializer=_settle)


def _settle() -> None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)


class InThisThread(Executor):
    """Runs work in the calling thread and leaves torch's threads unchanged."""

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **options: Any) -> Iterator[Any]:
        return map(fn, *iterables)


@contextmanager
def all_cores() -> Iterator[Executor]:
    """As many such threads as torch had."""
    with one_thread() as n_threads, thread_pool(n_threads) as cores:
        yield cores


@contextmanager
def one_thread() -> Iterator[int]:
    """Limit torch to one core, because its other threads busy-wait on cores that are needed; yields the previous
    number.
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield n_threads
    finally:
        torch.set_num_threads(n_threads)
