"""Two ranks with a core each, beside one process with one core and with both: steps of gradients, and sweeps of iALS.

python -m benchmarks.ranks_speed FILE [--shape yelp] [--cases gmf-8192 ials-128] [--rounds 3]

The sides take turns, each in new processes. Of each counts the fastest run, by the mean of its steps or sweeps: single
steps do not tell, since what is sampled for one is often sampled while others are made. The sides have to come to the
same loss. Runs that the file has already stay there, and count too.
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

from benchmarks.inputs import load, prepare
from benchmarks.measure import Agreement
from benchmarks.models import CACHE
from benchmarks.report import describe_machine
from recsieve.communicator import Communicator, join
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll, Truncated
from recsieve.models import MODELS
from recsieve.models.ials import IALS
from recsieve.models.learner import Fitting, Run
from recsieve.training import TrainingPlan
from recsieve.training.learner import GradientLearner

CASES = {  # a model, and the rows of a batch or the factors
    "ials-128": ("ials", 128),
    "neumf-8192": ("neumf", 8_192),
    "gmf-65536": ("gmf", 65_536),
    "gmf-8192": ("gmf", 8_192),
}
SIDES = {  # ranks, and the cores of each
    "one process, one core": (1, 1),
    "one process, two cores": (1, 2),
    "two ranks, a core each": (2, 1),
}
SHARDED, SHARDED_CASE = "two ranks, sharded tables", "gmf-8192"  # by TorchRec: another optimiser, another loss
SWEEPS, EPOCH_PARTS = 5, 8  # that are measured, after one that compiles the kernels


def begin(case: str, train: Interactions, group: Communicator, *, sharded: bool = False) -> Fitting:
    """A training of which each `advance` is a sweep, or a twentieth of an epoch."""
    model, size = CASES[case]
    if model == "ials":
        run = Run(0, lambda context: KeepAll(), group)
        return IALS(factors=size, sweeps=SWEEPS + 1).begin(Split.of_training(train), run)
    plan = TrainingPlan(epochs=2, batch_size=size, engine="torchrec" if sharded else "fused")
    run = Run(0, lambda context: Truncated(0.2, 100), group)
    return GradientLearner(MODELS[model], plan=plan).begin(Split.of_training(train), run)


def measure(case: str, shape: str, group: Communicator, *, sharded: bool) -> dict[str, Any]:
    """The seconds of a sweep or step, and the last loss."""
    fitting = begin(case, share_out(load(prepare(shape, CACHE)), group), group, sharded=sharded)
    fitting.advance()
    group.total(0)  # begin together
    started, step = time.perf_counter(), fitting.step
    for _ in range(SWEEPS if CASES[case][0] == "ials" else EPOCH_PARTS):
        loss = fitting.advance()
    return {"seconds": (time.perf_counter() - started) / (fitting.step - step), "loss": loss}


def in_processes(side: str, case: str, shape: str) -> dict[str, Any]:
    """Measure one side in processes of its own."""
    ranks, cores = (SIDES | {SHARDED: (2, 1)})[side]
    with TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        line = [sys.executable, "-m"]
        line += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m"] if ranks > 1 else []
        line += ["benchmarks.ranks_speed", str(out), "--side", side, "--cases", case, "--shape", shape]
        environment = os.environ | {"OMP_NUM_THREADS": str(cores), "NUMBA_NUM_THREADS": str(cores)}
        subprocess.run(line, env=environment, check=True)
        return json.loads(out.read_text())


def compare(case: str, shape: str, rounds: int) -> dict[str, Any]:
    """The fastest run of each side."""
    found = [{side: in_processes(side, case, shape) for side in SIDES} for _ in range(rounds)]
    losses = [of_side["loss"] for of_round in found for of_side in of_round.values()]
    Agreement(f"the losses of {case}", max(losses) / min(losses) - 1, 5e-3)  # NeuMF makes much of the last bit
    fastest = {side: min(of_round[side]["seconds"] for of_round in found) for side in SIDES}
    if case == SHARDED_CASE:
        fastest[SHARDED] = in_processes(SHARDED, case, shape)["seconds"]
    return {
        "milliseconds": {side: round(1000 * seconds, 3) for side, seconds in fastest.items()},
        "largest difference of a loss": max(losses) / min(losses) - 1,
    }


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest of each side in some comparisons, and their ratios: what else a machine does makes a side slower."""
    times = [run["milliseconds"] for run in runs]
    fastest = {side: min(one[side] for one in times if side in one) for side in {**times[0], **times[-1]}}
    one, both, ranks = (fastest[side] for side in SIDES)
    return {
        "milliseconds": fastest,
        "two ranks against one core": round(one / ranks, 3),
        "two ranks against both cores": round(both / ranks, 3),
        "runs": runs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--shape", default="yelp")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=[*SIDES, SHARDED])
    options = parser.parse_args()
    if options.side is None:
        machine = describe_machine(2)
        prepare(options.shape, CACHE)
        known = json.loads(options.file.read_text())["cases"] if options.file.exists() else {}
        for case in options.cases:
            run = {**compare(case, options.shape, options.rounds), "machine": machine}
            known[case] = together([*(known[case]["runs"] if case in known else []), run])
        options.file.write_text(json.dumps({"shape": options.shape, "cases": known}, indent=1) + "\n")
        return
    if options.side == SHARDED or SIDES[options.side][1] == 1:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[int(os.environ.get("LOCAL_RANK", "0"))]})
    with join() as group:
        result = measure(options.cases[0], options.shape, group, sharded=options.side == SHARDED)
        if group.is_first:
            options.file.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
