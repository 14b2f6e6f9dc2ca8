"""One run on the ranks of a group, for every model and strategy: the loss of each step, and the metrics at the end.

python -m benchmarks.ranks FILE [--steps 500] [--models neumf] [--engine exact]               one process
torchrun --nproc-per-node 3 -m benchmarks.ranks FILE [the same]                               three ranks
python -m benchmarks.ranks --compare FILE OTHER ...                                           how far they are apart
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from recsieve.communicator import Communicator, join
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.data.splitting import Split
from recsieve.denoisers import DENOISERS, Context, Denoiser, make_denoiser
from recsieve.evaluation import evaluate
from recsieve.models import MODELS, Run
from recsieve.training import TrainingPlan
from recsieve.training.learner import GradientLearner
from recsieve.training.steps import Engine

BATCH_SIZE, NEGATIVES, METRICS = 64, 2, ("recall@10", "ndcg@10", "coverage@10")
NETWORKS = ("gmf", "neumf", "cdae", "nmtr")  # those that were measured before others came
STRATEGIES = ("keep-all", "truncated", "reweighted", "random-drop", "least-popular-drop", "negative-feedback")


def make_log(n_users: int = 60, n_items: int = 40, seed: int = 0) -> tuple[Interactions, Interactions]:
    """Training and test interactions with flags and weights; two people have met everything."""
    random = np.random.default_rng(seed)
    taste = random.normal(size=(n_users, 4)) @ random.normal(size=(4, n_items))
    taken = taste + random.normal(size=taste.shape) > 1.2
    taken[[0, 7]] = True
    users, items = (axis.astype(np.int32) for axis in taken.nonzero())
    order = random.permutation(len(users))
    flags = (taste[users, items] < random.normal(size=len(users))).astype(np.int8)
    weights = random.random(len(users)).astype(np.float32) + np.float32(0.5)
    ids = pl.Series(np.arange(n_users)), pl.Series(np.arange(n_items))
    log = Interactions(users, items, *ids, flags, weights).take(order)
    held_out = random.random(len(log)) < 0.1
    return log.take(~held_out), log.take(held_out)


def train(
    model: str, strategy: str, steps: int, learning_rate: float, engine: Engine, group: Communicator
) -> dict[str, Any]:
    """Train on the group's shares of the log; what comes out is the same on each rank."""
    whole, test = make_log()
    data, test = share_out(whole, group), share_out(test, group)
    plan = TrainingPlan(
        epochs=10_000, batch_size=BATCH_SIZE, learning_rate=learning_rate, negatives=NEGATIVES, engine=engine
    )
    learner = GradientLearner(MODELS[model], plan=plan)
    fitting = learner.begin(Split.of_training(data), Run(1, partial(with_short_ramp, strategy), group))
    losses = [fitting.advance() for _ in range(steps)]
    found = evaluate(fitting.scorer(), test.csr, data.csr, [10], group=group).overall
    return {"losses": losses, "metrics": {name: found[name] for name in METRICS}}


def with_short_ramp(strategy: str, context: Context) -> Denoiser:
    """A strategy that drops all that it will drop after a few steps."""
    return make_denoiser(strategy, {}, replace(context, steps_per_epoch=1))


def compare(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The largest difference of a loss, and of a metric, in each run."""
    rows = {}
    for name in other["runs"]:
        run = one["runs"][name]
        losses = np.array(run["losses"]) - np.array(other["runs"][name]["losses"])
        metrics = [abs(value - other["runs"][name]["metrics"][metric]) for metric, value in run["metrics"].items()]
        rows[name] = {"loss": float(abs(losses).max()), "metric": max(metrics)}
    return rows


def _name(side: dict[str, Any]) -> str:
    return f"{side['ranks']} ranks" if side["ranks"] > 1 else f"one process with engine {side['engine']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--models", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES, choices=DENOISERS)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    if options.compare:
        one, *others = (json.loads(path.read_text()) for path in options.file)
        result = {_name(other): compare(one, other) for other in others}
        about = {name: one[name] for name in ("steps", "learning rate")}
        print(json.dumps(about | {f"largest difference from {_name(one)}": result}, indent=1))
        return
    torch.set_num_threads(1)
    with join() as group:
        names = [f"{model} {strategy}" for model, strategy in product(options.models, options.strategies)]
        how = options.steps, options.learning_rate, options.engine
        runs = {name: train(*name.split(), *how, group) for name in names}
        if group.is_first:
            about = {"ranks": group.size, "steps": options.steps, "learning rate": options.learning_rate}
            result = about | {"engine": options.engine, "runs": runs}
            options.file[0].write_text(json.dumps(result))


if __name__ == "__main__":
    main()
