"""Does the interval of the noise share hold the truth as often as it says? On simulated logs, where it is known.

python -m research.studies.audit_coverage findings/audit-coverage.json
"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from recsieve.audit import find_noisy_interactions
from recsieve.audit.summary import LEVEL
from recsieve.data.interactions import UNLABELLED
from recsieve.data.reading.formats import read_interactions
from recsieve.experiments.study import write_result
from recsieve.simulation.config import WorldConfig
from recsieve.simulation.simulate import simulate

SEEDS = 100
LABELS = 0.1
WORLD = WorldConfig(n_users=150, n_items=100, n_interactions=2_500, n_false_positives=500)


def cover(seed: int) -> dict[str, float]:
    """Simulate a log, label a random part of it, and estimate how much of it is noise."""
    data = read_interactions(simulate(WORLD, seed=seed).log, false_positive=WORLD.rule)
    rng = np.random.default_rng([seed, 0xC0FE])
    shown = rng.random(len(data)) < LABELS
    flags = np.where(shown, data.is_false_positive, UNLABELLED).astype(np.int8)
    found = find_noisy_interactions(replace(data, false_positive=flags), seed=seed).summary["noise_share"]
    truth = float(data.is_false_positive.mean())
    return {"seed": seed, **found, "truth": truth, "holds": found["low"] <= truth <= found["high"]}


def run(out: Path, command: str) -> dict[str, Any]:
    """Estimate with every seed, and write how often the interval held the truth."""
    rows = [cover(seed) for seed in range(SEEDS)]
    held = sum(row["holds"] for row in rows)
    result = {
        "command": command, "world": asdict(WORLD), "labels": LABELS, "level": LEVEL, "seeds": SEEDS, "held": held,
        "rows": rows,
    }  # fmt: skip
    write_result(out, result)
    return result


if __name__ == "__main__":
    run(Path(sys.argv[1]), f"python -m research.studies.audit_coverage {sys.argv[1]}")
