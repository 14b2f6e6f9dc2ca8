"""Threads that share out work over the cores: each keeps torch to itself, and none waits busily for the others."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch


def thread_pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads in which torch uses one core and records no gradients."""
    return ThreadPoolExecutor(n_threads, initializer=_settle)


def _settle() -> None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)


@contextmanager
def one_thread() -> Iterator[int]:
    """Keep torch to one core, because its other threads wait busily on those that are needed; gives how many it had."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield n_threads
    finally:
        torch.set_num_threads(n_threads)
