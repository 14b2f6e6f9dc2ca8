"""What larger batches cost in quality, and which learning rate they need: GMF with T-CE.

python -m research.studies.batches findings/ml-1m.toml findings/batches.json

The first argument is a comparison's configuration, of which the data is taken; the second the result, to which runs
that are missing are added. A learning rate is that of 1,024 rows times a power of how many times as large a batch is:
0 leaves it, 1/2 is the square-root rule, 1 the linear one. What T-CE drops, and by which epoch, stays the same.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from recsieve.data.splitting import Split
from recsieve.experiments.config import read_config
from recsieve.experiments.study import how_made, require_split, write_result
from recsieve.recommender import Recommender
from recsieve.settings import Settings

SEEDS = 3
BATCHES = (1_024, 8_192, 65_536)
POWERS = (0.0, 0.5, 1.0)
METRIC = "ndcg@20"
OPTIONS: dict[str, int | float | str] = {"drop_positives": 0.2, "ramp_epochs": 5}


def settings_of(batch: int, power: float, seed: int) -> Settings:
    """What one run is made with."""
    return Settings(
        model="gmf", denoiser="truncated", denoiser_options=OPTIONS, batch_size=batch, select_by=METRIC, seed=seed,
        learning_rate=0.001 * (batch / BATCHES[0]) ** power, epochs=40,
    )  # fmt: skip


def run_one(split: Split, batch: int, power: float, seed: int) -> dict[str, Any]:
    """Train, and give what it is worth on the test."""
    settings, started = settings_of(batch, power, seed), time.perf_counter()
    recommender = Recommender(**settings.model_dump()).fit(split)
    about = {"batch_size": batch, "power": power, "learning_rate": settings.learning_rate, "seed": seed}
    return about | {
        "validation": recommender.selected["score"],
        "test": recommender.evaluate(split, [20]).overall[METRIC],
        "epoch": recommender.selected["epoch"],
        "seconds": time.perf_counter() - started,
    }


def combinations() -> list[tuple[int, float, int]]:
    """Batch, power and seed of each run; the powers are the same for the smallest batch."""
    return [
        (batch, power, seed)
        for batch in BATCHES
        for power in (POWERS if batch > BATCHES[0] else POWERS[:1])
        for seed in range(SEEDS)
    ]


def main(config: str, out: str) -> None:
    path, started = Path(out), time.perf_counter()
    split = require_split(read_config(Path(config)).data, None, ("train", "validation", "test"), "batches are compared")
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    done = {(run["batch_size"], run["power"], run["seed"]) for run in runs}
    for batch, power, seed in combinations():
        if (batch, power, seed) not in done:
            runs.append(run_one(split, batch, power, seed))
            command = f"python -m research.studies.batches {config} {out}"
            made = how_made(settings_of(BATCHES[0], 0.0, 0), command, started)
            write_result(path, made | {"metric": METRIC, "runs": runs})


if __name__ == "__main__":
    main(*sys.argv[1:3])
