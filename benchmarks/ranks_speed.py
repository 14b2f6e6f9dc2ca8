"""Steps a second on two ranks with a core each, beside one process with two cores.

python -m benchmarks.ranks_speed FILE [--steps 100] [--batch-size 8192] [--model gmf]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import torch

from benchmarks.report import describe_machine
from recsieve.communicator import Communicator, join
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.denoisers import Truncated
from recsieve.models import MODELS
from recsieve.objectives import BCE
from recsieve.training import Driver, GradientFitting, Trained, TrainingPlan
from recsieve.training.steps import Engine

N_USERS, N_ITEMS, N_INTERACTIONS = 50_000, 20_000, 1_000_000
WARM_UP = 10  # steps, in which kernels are compiled
SIDES: dict[str, tuple[int, Engine]] = {
    "one process, two cores": (1, "auto"),
    "one process, two cores, without fused kernels": (1, "lazy"),
    "two ranks, a core each": (2, "auto"),
}


def make_log() -> Interactions:
    """Random interactions with popular items."""
    random = np.random.default_rng(0)
    users = random.integers(0, N_USERS, N_INTERACTIONS, dtype=np.int32)
    items = (N_ITEMS * random.random(N_INTERACTIONS) ** 3).astype(np.int32)
    return Interactions(users, items, pl.Series(np.arange(N_USERS)), pl.Series(np.arange(N_ITEMS)))


def measure(model: str, engine: Engine, steps: int, batch_size: int, group: Communicator) -> float:
    """Steps a second, after a few that do not count."""
    data = share_out(make_log(), group)
    network = MODELS[model](data.csr, torch.Generator().manual_seed(0))
    plan = TrainingPlan(epochs=1_000, batch_size=batch_size, engine=engine)
    fitting = GradientFitting(network, BCE(), data, plan, lambda context: Truncated(0.2, 100))
    times = []
    for event in Driver(fitting, plan.epochs).run(lambda fitting: float(fitting.step)):
        if isinstance(event, Trained) and event.step >= WARM_UP:
            times.append((event.step, time.perf_counter()))
            if event.step >= WARM_UP + steps:
                break
    (first, started), (last, ended) = times[0], times[-1]
    return (last - first) / (ended - started)


def in_processes(side: str, options: argparse.Namespace) -> float:
    """Measure one side in processes of its own."""
    ranks, _ = SIDES[side]
    with TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        line = [sys.executable, "-m"]
        line += ["torch.distributed.run", "--nproc-per-node", str(ranks), "-m"] if ranks > 1 else []
        line += ["benchmarks.ranks_speed", str(out), "--side", side, "--steps", str(options.steps)]
        line += ["--batch-size", str(options.batch_size), "--model", options.model]
        threads = str(2 // ranks)
        environment = os.environ | {"OMP_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
        subprocess.run(line, env=environment, check=True)
        return json.loads(out.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=8192)
    parser.add_argument("--model", default="gmf")
    parser.add_argument("--side", choices=SIDES)
    options = parser.parse_args()
    if options.side is None:
        speeds = {side: round(in_processes(side, options), 2) for side in SIDES}
        one, plain, two = speeds.values()
        result: Any = {
            "model": options.model, "batch size": options.batch_size, "interactions": N_INTERACTIONS,
            "machine": describe_machine(2), "steps a second": speeds,
            "two ranks against one process": round(two / one, 3),
            "two ranks against one process without fused kernels": round(two / plain, 3),
        }  # fmt: skip
        options.file.write_text(json.dumps(result, indent=1) + "\n")
        return
    with join() as group:
        speed = measure(options.model, SIDES[options.side][1], options.steps, options.batch_size, group)
        if group.is_first:
            options.file.write_text(json.dumps(speed))


if __name__ == "__main__":
    main()
