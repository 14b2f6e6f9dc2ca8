"""What more time buys `auto`, and whether it keeps to the time it was given.

python -m research.studies.budget findings/ml-1m.toml findings/budget/ml-1m.json 10s

The first argument is a comparison's configuration, of which the data is taken; the second the result, to which a run
with the budget of the third is added, or in which it takes the place of an earlier one. Nothing else should run at the
time. With 5 % labels and seed 0, over all models, as `recsieve train` would choose.
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
from recsieve.settings import Settings, parse_duration

METRIC = "ndcg@20"


def run_budget(split: Split, budget: str, command: str) -> dict[str, Any]:
    """One choice with its refits, by the clock, and what it is worth on the test."""
    started = time.perf_counter()
    recommender = Recommender(budget=budget, denoiser_options={"labels": 0.05}).fit(split)
    taken = time.perf_counter() - started
    choice = recommender.choice
    assert choice is not None  # without a model it chooses
    told = {
        "budget": parse_duration(budget),
        "taken": taken,
        "tried": choice.tried,
        "planned": choice.planned,
        "chosen": choice.chosen.name,
        "validation": choice.chosen.score,
        "level": recommender.evaluate(ks=[20]).overall[METRIC],
    }
    return told | how_made(Settings(budget=budget), command, started)


def add_run(path: Path, run: dict[str, Any]) -> None:
    """Write a run beside those of other budgets, the shortest first."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    others = [one for one in runs if one["budget"] != run["budget"]]
    write_result(path, {"metric": METRIC, "runs": sorted([*others, run], key=lambda one: one["budget"])})


if __name__ == "__main__":
    config, out, budget = sys.argv[1:4]
    split = require_split(
        read_config(Path(config)).data, None, ("train", "validation", "test"), "what time buys is measured"
    )
    add_run(Path(out), run_budget(split, budget, " ".join(["python -m research.studies.budget", *sys.argv[1:]])))
