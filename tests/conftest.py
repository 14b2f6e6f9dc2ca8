"""What every test may ask for."""

import os
import pickle
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from recsieve.data.interactions import Interactions

# The first call of a compiled or polars function is slow, and so is a busy machine: neither is a failure.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data():
    """A function that gives a folder of real data, or skips the test where it is missing."""

    def folder(name: str) -> Path:
        if not (SHARED / name).exists():
            pytest.skip(f"needs the real data '{name}', which is not beside this clone")
        return SHARED / name

    return folder


@pytest.fixture(scope="session")
def small_data():
    """A function that makes small random interactions with flags, each pair once."""

    def make(n_users: int = 30, n_items: int = 20, share: float = 0.3, seed: int = 0) -> Interactions:
        rng = np.random.default_rng(seed)
        taken = rng.random((n_users, n_items)) < share
        taken[0, 0] = True
        users, items = (axis.astype(np.int32) for axis in taken.nonzero())
        flags = (rng.random(len(users)) < 0.2).astype(np.int8)
        user_ids = pl.Series([f"u{i}" for i in range(n_users)])
        item_ids = pl.Series([f"i{i}" for i in range(n_items)])
        return Interactions(users, items, user_ids, item_ids, flags)

    return make


@pytest.fixture(scope="session")
def tiny():
    """Options of a comparison that takes a second."""
    truncated = {"denoiser": "truncated", "denoiser_options": {"drop_positives": 0.2, "ramp_epochs": 1}}
    strategies = {"CE": {"denoiser": "keep-all"}, "T-CE": truncated}
    budget = {"seeds": 2, "epochs": 3, "batch_size": 64, "workers": 1}
    return {**budget, "metric": "ndcg@5", "strategies": strategies, "plain_models": []}


@pytest.fixture(scope="session")
def split(small_data):
    """A small split with flags."""
    from recsieve.data.splitting import split_interactions

    return split_interactions(small_data(40, 25, 0.4))


@dataclass
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def recsieve(capsys, monkeypatch):
    """A function that runs a command here, for a process takes seconds to start; gives its exit code and output."""
    from recsieve.cli import main

    def run(*words) -> Answer:
        monkeypatch.setattr(sys, "argv", ["recsieve", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Answer(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def in_this_process(monkeypatch):
    """Run tasks here instead of in processes, which take seconds to start; gives the names of those that were."""
    from recsieve.experiments import pool

    done = []

    def run(tasks, workers, progress):
        for task, begun in pickle.loads(pickle.dumps(tasks)):  # as it would reach them
            done.append(task.name)
            task.run(pool.Reporter(begun, progress))

    monkeypatch.setattr(pool, "_in_processes", run)
    return done


@pytest.fixture
def compare(in_this_process, split, tmp_path, tiny):
    """A function that compares the tiny strategies, with other options if they are given."""
    from recsieve.experiments.compare import run_comparison
    from recsieve.experiments.config import make_config

    def run(out="out", **options):
        return run_comparison(make_config({**tiny, **options}), tmp_path / out, split=split)

    return run


@pytest.fixture(scope="session")
def in_ranks():
    """A function that does work(group) on n ranks at once, in threads instead of processes; gives what each gave."""
    from threading import Barrier, BrokenBarrierError

    import torch

    from recsieve.communicator import SINGLE_PROCESS, Communicator
    from recsieve.errors import GroupError

    class Threads(Communicator):
        said: list
        barrier: Barrier

        def _exchange(self, value):
            try:
                self.said[self.rank] = value
                self.barrier.wait()
                all_said = list(self.said)
                self.barrier.wait()
            except BrokenBarrierError:
                raise GroupError(f"rank {self.rank} has lost the connection to the others") from None
            return all_said

        def all_gather(self, tensor):
            return self._exchange(tensor.clone())

        def all_reduce(self, tensor):
            tensor.copy_(torch.stack(self._exchange(tensor.clone())).sum(0))

        def exchange_parts(self, parts):
            for part, theirs in zip(parts, self._exchange(parts[self.rank].clone()), strict=True):
                part.copy_(theirs)

        def all_to_all(self, rows, counts):
            return torch.cat([parts.split(n)[self.rank] for parts, n in self._exchange((rows.clone(), counts))])

        def broadcast(self, tensor):
            return tensor.copy_(self._exchange(tensor.clone())[0])

        def gather_to_first(self, rows, at_once):
            parts = self._exchange(rows.clone())
            return (block for part in parts for block in part.split(at_once)) if self.is_first else iter(())

    def run(n, work):
        if n == 1:
            return [work(SINGLE_PROCESS)]
        said, barrier = [None] * n, Barrier(n, timeout=60)

        def one(rank):
            group = Threads(rank, n)
            object.__setattr__(group, "said", said)
            object.__setattr__(group, "barrier", barrier)
            try:
                return work(group)
            except BaseException:
                barrier.abort()
                raise

        with ThreadPoolExecutor(n) as threads:
            results = [threads.submit(one, rank) for rank in range(n)]
        errors = [result.exception() for result in results if result.exception() is not None]
        if errors:  # what went wrong, and not that others have noticed it
            raise min(errors, key=lambda error: isinstance(error, GroupError))
        return [result.result() for result in results]

    return run


@pytest.fixture(scope="session")
def start_ranks():
    """A function that starts the processes of a group as torchrun does, without the seconds that torchrun needs.

    Each rank is given as the module to run and its arguments, `hosts` as the words that lead there, and `address` is
    that of the first. Those that are still running at the end are killed.
    """
    started = []

    def start(ranks, *, address="127.0.0.1", hosts=None):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        group = {"WORLD_SIZE": str(len(ranks)), "MASTER_ADDR": address, "MASTER_PORT": str(port)}
        group |= {"TORCHELASTIC_RUN_ID": "test", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        for rank, words in enumerate(ranks):
            started.append(
                subprocess.Popen(
                    [*(hosts[rank] if hosts else []), sys.executable, "-m", *map(str, words)],
                    cwd=Path(__file__).parents[1],
                    text=True,
                    env=os.environ | group | {"RANK": str(rank)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            )
        return started[-len(ranks) :]

    yield start
    for process in started:
        process.kill()
        process.wait()
