"""How iALS and item neighbours grow: seconds and the peak of memory at 1 to 100 million interactions.

python -m benchmarks.growth_models [MILLIONS ...] [--threads 2] [--result FILE] [--note TEXT]

The log is that of `benchmarks.growth`, made beforehand and removed afterwards. A process of its own reads and splits
it, makes one sweep of iALS, and finds the neighbours of all items, up to 10 million interactions; peaks are those of
the whole process in each stage.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import torch

from benchmarks.growth import MILLION, ROOT, run_module, write_size
from benchmarks.growth_stages import RULE, WARM_UP, Stages
from benchmarks.large_log import LargeLog
from benchmarks.report import describe_machine
from recsieve.data.loading import load_split
from recsieve.denoisers import KeepAll
from recsieve.models import IALS, ItemKNN, Run

MILLIONS = (1.0, 3.0, 10.0)
FACTORS, NEIGHBOURS = 64, 200
MOST_FOR_NEIGHBOURS = 10_000_000  # interactions: their products grow faster than everything else
DATA = ROOT / "build" / "growth"


def measure(log: Path | pl.DataFrame) -> dict[str, Any]:
    """Both models on a log, stage by stage."""
    stages = Stages()
    split = stages("read and split", lambda: load_split(log, false_positive=RULE))
    run = Run(0, lambda context: KeepAll())
    sweeps = stages("begin iALS", lambda: IALS(factors=FACTORS, sweeps=1).begin(split, run))
    stages("a sweep of iALS", sweeps.advance)
    del sweeps
    about: dict[str, Any] = {}
    if len(split.train) <= MOST_FOR_NEIGHBOURS:
        found = stages("item neighbours", lambda: ItemKNN(neighbours=NEIGHBOURS).solve(split.train))
        about = {"neighbours": NEIGHBOURS, "neighbours_found": len(found.state_dict()["values"])}
    return {
        "users": split.train.n_users,
        "items": split.train.n_items,
        "train_interactions": len(split.train),
        "factors": FACTORS,
        **about,
        "stages": stages.records,
    }


def main() -> None:
    options = _parse()
    torch.set_num_threads(options.threads)
    if options.log is not None:
        measure(LargeLog(WARM_UP).part(0))  # compiles everything before the clock starts
        print(json.dumps(measure(options.log)))
        return
    for millions in options.millions:
        log = DATA / f"{millions:g}M"
        if not log.exists():
            LargeLog(round(millions * MILLION)).write(log)
        machine = describe_machine(options.threads)
        out = run_module(
            "benchmarks.growth_models", "--log", str(log), "--threads", str(options.threads), threads=options.threads
        )
        about = {"millions": millions, "command": f"python -m benchmarks.growth_models {millions:g}"}
        size = {**about, "note": options.note, **json.loads(out.splitlines()[-1]), "machine": machine}
        write_size(options.result, size)
        print(millions, json.dumps(size["stages"]))
        if not options.keep:
            shutil.rmtree(log)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth_models", description=__doc__.splitlines()[0])
    parser.add_argument("millions", nargs="*", type=float, default=list(MILLIONS), metavar="MILLIONS")
    parser.add_argument("--log", type=Path, help="measure this log, in this process")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--result", type=Path, default=ROOT / "benchmarks" / "results" / "growth-models.json")
    parser.add_argument("--note", default="", help="what else is to be known of the machine, e.g. that it was quiet")
    parser.add_argument("--keep", action="store_true", help="do not remove the logs afterwards")
    return parser.parse_args()


if __name__ == "__main__":
    main()
