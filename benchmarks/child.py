"""Makes one measurement in a process of its own, so that memory peaks are apart and threads fresh.

python -m benchmarks.child SHAPE COMPARISON SIDE --cache FOLDER --threads 2     (or SHAPE prepare)
The last line on standard output is the result as JSON.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.catalogue import SHAPES, SIDES
from benchmarks.inputs import prepare
from benchmarks.measure import Case, Measure, Skipped, peak_mb
from benchmarks.ranking import Ranking
from benchmarks.reading import FileToEpoch, Reading
from benchmarks.sampling import Sampling
from benchmarks.training import CdaeEpoch, Epoch
from benchmarks.with_recbole import RecBoleEpoch, RecBolePairwiseEpoch

MEASURES: dict[str, Measure] = {
    "gmf-epoch": Epoch("gmf"),
    "neumf-epoch": Epoch("neumf"),
    "cdae-epoch": CdaeEpoch(),
    "recbole-neumf": RecBoleEpoch("NeuMF"),
    "recbole-cdae": RecBoleEpoch("CDAE"),
    "recbole-bpr": RecBolePairwiseEpoch("BPR", "mf"),
    "recbole-lightgcn": RecBolePairwiseEpoch("LightGCN", "lightgcn"),
    "gmf-ranking": Ranking("gmf", rank_all=True),
    "neumf-ranking": Ranking("neumf", rank_all=False),
    "reading": Reading(),
    "sampling": Sampling(),
    "file-to-epoch": FileToEpoch(),
}


def measure(shape: str, comparison: str, side: str, cache: Path) -> dict[str, Any]:
    """Make one measurement; what cannot be made says why."""
    try:
        case = Case(prepare(shape, cache), SHAPES[shape].effort)
        if comparison == "prepare":
            return {"users": case.data.n_users, "items": case.data.n_items, "interactions": len(case.data)}
        result = asdict(getattr(MEASURES[comparison], side)(case))
    except Skipped as reason:
        return {"skipped": str(reason)}
    return {**result, "peak_mb": result.get("peak_mb") or round(peak_mb())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("comparison", choices=["prepare", *MEASURES])
    parser.add_argument("side", choices=SIDES, nargs="?", default="agree")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(json.dumps(measure(options.shape, options.comparison, options.side, options.cache)))


if __name__ == "__main__":
    main()
