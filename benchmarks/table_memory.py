"""Peak memory of each rank with whole and with sharded tables of many users.

python -m benchmarks.table_memory FILE [--users 4000000] [--factors 64] [--ranks 2]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from benchmarks.report import describe_machine
from recsieve.communicator import join
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.data.splitting import Split
from recsieve.denoisers import Truncated
from recsieve.evaluation import evaluate
from recsieve.models import GMF, Run
from recsieve.settings import Engine
from recsieve.training import Driver, TrainingPlan
from recsieve.training.checkpoint import save_checkpoint
from recsieve.training.learner import GradientLearner

N_ITEMS, N_INTERACTIONS, TEST_USERS = 20_000, 200_000, 1_000


def make_log(n_users: int) -> Interactions:
    random = np.random.default_rng(0)
    users = random.integers(0, n_users, N_INTERACTIONS, dtype=np.int32)
    items = (N_ITEMS * random.random(N_INTERACTIONS) ** 3).astype(np.int32)
    return Interactions(users, items, pl.Series(np.arange(n_users)), pl.Series(np.arange(N_ITEMS)))


def measure(folder: Path, n_users: int, factors: int, *, engine: Engine) -> None:
    """Train an epoch, validate, write a checkpoint; each rank writes down what it took at the most, in megabytes."""
    with join() as group:
        data = share_out(make_log(n_users), group)
        if engine == "torchrec":
            import torchrec  # noqa: F401 - what the library itself takes is not what tables take
        before = _peak()
        plan = TrainingPlan(epochs=1, batch_size=8192, engine=engine)
        run = Run(0, lambda context: Truncated(), group)
        fitting = GradientLearner(GMF, {"factors": factors}, plan).begin(Split.of_training(data), run)
        driver = Driver(fitting, patience=1)
        some = data.take(np.flatnonzero(data.users < TEST_USERS)).csr
        save = partial(save_checkpoint, folder / "checkpoint", group=group)
        for _ in driver.run(
            lambda fitting: evaluate(fitting.scorer(), some, None, [20], group=group).overall["ndcg@20"], save
        ):
            pass
        result = {"before the tables": before, "peak": _peak()}
        (folder / f"rank-{group.rank}.json").write_text(json.dumps(result))


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def in_ranks(options: argparse.Namespace, *, engine: Engine) -> list[Any]:
    with TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(options.ranks), "-m"]
        line += ["benchmarks.table_memory", folder, "--users", str(options.users), "--factors", str(options.factors)]
        line += ["--measure", "--engine", engine]
        subprocess.run(line, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True)
        return [json.loads((Path(folder) / f"rank-{rank}.json").read_text()) for rank in range(options.ranks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--users", type=int, default=4_000_000)
    parser.add_argument("--factors", type=int, default=64)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--measure", action="store_true", help="what each rank does, with a folder as FILE")
    parser.add_argument("--engine", choices=["auto", "torchrec"], default="auto", help="with --measure")
    options = parser.parse_args()
    if options.measure:
        measure(options.file, options.users, options.factors, engine=options.engine)
        return
    table = 4 * options.users * options.factors / 2**20
    result = {
        "command": f"python -m benchmarks.table_memory FILE --users {options.users} --factors {options.factors} "
        f"--ranks {options.ranks}",
        "machine": describe_machine(threads=1),
        "megabytes of the user table": round(table, 1),
        "megabytes of each rank, whole tables": in_ranks(options, engine="auto"),
        "megabytes of each rank, sharded tables": in_ranks(options, engine="torchrec"),
    }
    options.file.write_text(json.dumps(result, indent=1) + "\n")
    print(options.file.read_text())


if __name__ == "__main__":
    main()
