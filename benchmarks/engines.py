"""The whole training of T-CE on ml-1m by every engine, and the time of an epoch on small data.

python -m benchmarks.engines [--epochs 10] [--data ../shared/data] [--result benchmarks/results/engines.json]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import median_of
from benchmarks.report import describe_machine
from recsieve.data.reading.formats import read_interactions
from recsieve.data.splitting import Split, split_interactions
from recsieve.denoisers import Truncated
from recsieve.evaluation import evaluate
from recsieve.files import write_text
from recsieve.models import MODELS
from recsieve.objectives import BCE
from recsieve.training import Driver, GradientFitting, TrainingPlan
from recsieve.training.steps import Engine

ROOT = Path(__file__).parents[1]
ENGINES: tuple[Engine, ...] = ("fused", "lazy", "dense")
KS = (5, 20, 50, 100)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--result", type=Path, default=ROOT / "benchmarks" / "results" / "engines.json")
    options = parser.parse_args()
    large, small = (_split(options.data / name / "interactions.parquet") for name in ("ml-1m", "ml-100k"))
    result = {
        "command": f"python -m benchmarks.engines --epochs {options.epochs}",
        "machine": describe_machine(torch.get_num_threads()),
        "ml-1m": {engine: metrics_of(large, engine, options.epochs) for engine in ENGINES},
        "ml-100k": {name: {engine: epoch_seconds(small, name, engine) for engine in ENGINES} for name in FUSED_MODELS},
    }
    write_text(options.result, json.dumps(result, indent=1) + "\n")
    print(json.dumps({key: result[key] for key in ("ml-1m", "ml-100k")}, indent=1))


FUSED_MODELS = ("gmf", "neumf", "cdae")


def _split(path: Path) -> Split:
    data = read_interactions(path, false_positive="rating < 3")
    return split_interactions(data, seed=0)


def metrics_of(split: Split, engine: Engine, epochs: int) -> dict[str, Any]:
    """The test metrics after so many epochs of GMF with T-CE, and how long they took."""
    driver = begin("gmf", split, engine, epochs)
    started = time.perf_counter()
    run(driver)
    seconds = time.perf_counter() - started
    seen = split.train.csr.union(split.validation.csr)
    overall = evaluate(driver.scorer(), split.test.csr, seen, KS).overall
    return {"seconds": round(seconds, 2), **{name: round(value, 6) for name, value in sorted(overall.items())}}


def epoch_seconds(split: Split, name: str, engine: Engine) -> float:
    """The time of an epoch on a warm cache, from the making of the model on."""

    def epoch() -> None:
        run(begin(name, split, engine, 1))

    epoch()
    return round(median_of(3, epoch).seconds, 4)


def begin(name: str, split: Split, engine: Engine, epochs: int) -> Driver:
    model = MODELS[name](split.train.csr, torch.Generator().manual_seed(0))
    plan = TrainingPlan(epochs=epochs, engine=engine)
    fitting = GradientFitting(model, BCE(), split.train, plan, lambda context: Truncated(0.1, ramp_steps=2_000))
    return Driver(fitting, patience=epochs)


def run(driver: Driver) -> None:
    for _ in driver.run(lambda fitting: float(fitting.step)):
        pass


if __name__ == "__main__":
    main()
