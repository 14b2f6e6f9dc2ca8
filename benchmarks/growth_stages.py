"""Read, split, train an epoch and evaluate in this process, with the time and the peak of memory of each stage.

python -m benchmarks.growth_stages FOLDER [--users 10000] [--threads 2]
The last line on standard output is the result as JSON. Peaks are those of the whole process, which has no children.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import polars as pl
import torch

from benchmarks.large_log import LargeLog
from benchmarks.measure import peak_mb
from recsieve.data.interactions import CSR
from recsieve.data.loading import load_split
from recsieve.data.splitting import Split
from recsieve.data.statistics import fingerprint
from recsieve.denoisers import Truncated
from recsieve.evaluation import Evaluation, evaluate
from recsieve.evaluation.groups import some_users
from recsieve.models import GMF
from recsieve.objectives import BCE
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Driver, GradientFitting, TrainingPlan, Validated
from recsieve.training.checkpoint import save_checkpoint

Result = TypeVar("Result")
RULE, KS = "rating < 3", (20, 100)
DROP_RATE, RAMP_STEPS, BATCH, FACTORS = 0.1, 10_000, 1024, 32
WARM_UP = 20_000  # interactions, to compile with


@dataclass
class Stages:
    """Clocks the stages of some work, and how high memory goes in each."""

    records: dict[str, dict[str, float]] = field(default_factory=dict)

    def __call__(self, name: str, work: Callable[[], Result]) -> Result:
        gc.collect()
        forget_peak()
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
        self.records[name] = {
            "seconds": round(seconds, 2),
            "peak_mb": round(peak_now()),
            "after_mb": round(_now("VmRSS")),
        }
        return result


def measure(log: Path | pl.DataFrame, users: int, threads: int) -> dict[str, Any]:
    """All that `recsieve train` does with a log, for one epoch."""
    stages = Stages()
    started_mb = _now("VmRSS")
    split = stages("read and split", lambda: load_split(log, false_positive=RULE))
    with TemporaryDirectory(dir=log.parent if isinstance(log, Path) else None) as folder:
        run = RunFolder(Path(folder) / "run")
        stages("fingerprint", lambda: fingerprint(split.train))
        stages("write the split", lambda: run.write_split(split))
        training = stages("make the model", lambda: make_training(split))
        driver = Driver(training, patience=1)
        train_epoch(driver, split, users, run.checkpoint, stages)
        seen = stages("what was seen", lambda: split.train.csr.union(split.validation.csr))
        tested = stages("test", lambda: test(training.model, split, seen, users))
        stages("write the model", lambda: run.write_weights(training.model.state_dict()))
    epoch = stages.records["epoch"]["seconds"]
    rows = training.sampler.rows_per_epoch
    return {
        "rows_read": sum(map(len, (split.train, split.validation, split.test, split.test_false_positives)))
        + split.report.repeated_in_train,
        "users": split.train.n_users,
        "items": split.train.n_items,
        "train_interactions": len(split.train),
        "rows_per_epoch": rows,
        "steps": training.steps_per_epoch,
        "batch_size": BATCH,
        "factors": FACTORS,
        "users_ranked": len(tested.users),
        "seconds": round(sum(stage["seconds"] for stage in stages.records.values()), 1),
        "epoch_seconds": epoch,
        "rows_per_second_per_core": round(rows / epoch / threads),
        "started_mb": round(started_mb),
        "peak_mb": max(stage["peak_mb"] for stage in stages.records.values()),
        "held_bytes": held_bytes(training, driver, split),
        "loss": training.history()["loss"][-1],
        "test": {name: tested.overall[name] for name in ("ndcg@20", "recall@100", "coverage@100")},
        "stages": stages.records,
    }


def make_training(split: Split) -> GradientFitting:
    model = GMF(split.train.csr, torch.Generator().manual_seed(0), factors=FACTORS)
    plan = TrainingPlan(epochs=2, batch_size=BATCH)  # of which one is made: after the last, no weights are set aside
    return GradientFitting(model, BCE(), split.train, plan, lambda context: Truncated(DROP_RATE, RAMP_STEPS))


def train_epoch(driver: Driver, split: Split, users: int, checkpoint: Path, stages: Stages) -> None:
    """One epoch, one validation and one checkpoint, each a stage."""
    training = driver.fitting
    relevant = some_users(split.validation, users).csr
    course = driver.run(lambda fitting: 0.0)
    stages("epoch", lambda: next(event for event in course if isinstance(event, Validated)))
    stages("validation", lambda: evaluate(training.scorer(), relevant, split.train.csr, [20]))
    stages("checkpoint", lambda: save_checkpoint(checkpoint, driver.state_dict()))
    first, last = (training.history()["loss"][row] for row in (0, -1))
    if not last < min(first, math.log(2)):  # a time counts only if something was learned in it
        raise RuntimeError(f"the loss was {first:.4f} at first and {last:.4f} at last: nothing was learned.")


def test(model: GMF, split: Split, seen: CSR, users: int) -> Evaluation:
    return evaluate(model, some_users(split.test, users).csr, seen, KS)


def held_bytes(training: GradientFitting, driver: Driver, split: Split) -> dict[str, float]:
    """What is held in memory while training, for each interaction, user and item; ids are not counted."""
    train, csr, model = split.train, split.train.csr, training.model
    columns = [train.users, train.items, train.false_positive, csr.items]
    # And a byte by which the record of losses tells kinds of interactions apart.
    held = {"interaction": 1 + sum(column.nbytes for column in columns if column is not None) / len(train)}
    for name, table in (("user", model.user.weight), ("item", model.item.weight)):
        state = training.optimizer.state[table]
        moments = sum(state[key].nbytes for key in ("exp_avg", "exp_avg_sq", "last_step"))
        marks = training.optimizer.rows_of(table).marks.nbytes
        best = driver.stopping.weights[f"{name}.weight"].nbytes
        held[name] = (table.nbytes + moments + marks + best) / len(table)
    held["user"] += csr.offsets.nbytes / train.n_users
    return {name: round(value, 2) for name, value in held.items()}


def forget_peak() -> None:
    """Let the peak of memory start again, where the system can do that."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5")


def peak_now() -> float:
    """The highest that memory was since `forget_peak`, in MB."""
    return _now("VmHWM") or peak_mb()


def _now(field: str) -> float:
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth_stages", description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    measure(LargeLog(WARM_UP).part(0), 100, options.threads)  # compiles everything before the clock starts
    print(json.dumps(measure(options.log, options.users, options.threads)))


if __name__ == "__main__":
    main()
