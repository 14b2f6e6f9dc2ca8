"""`python -m trust.metrics [LISTS]`: our metrics beside those of ir-measures, on random lists."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures import RR, P, R, Success, nDCG

from recsieve.data.interactions import CSR
from recsieve.evaluation.metrics import ranking_metrics
from recsieve.files import write_text

RESULT = Path(__file__).parent / "results" / "metrics.json"
KS = (1, 3, 10, 20)
THEIRS = {"recall": R, "ndcg": nDCG, "precision": P, "hit_rate": Success, "mrr": RR}
BLOCK = 5_000  # lists at once


def largest_difference(lists: int, seed: int) -> dict[str, float]:
    """Of each metric and length over random lists, some short, with ties of nothing and with anything relevant."""
    rng = np.random.default_rng(seed)
    n_items = 60
    places = np.argsort(rng.random((lists, n_items)), axis=1)[:, : max(KS)].astype(np.int32)
    lengths = rng.integers(1, max(KS) + 1, lists)
    places[np.arange(max(KS)) >= lengths[:, None]] = -1
    relevant = rng.random((lists, n_items)) < rng.choice([0.02, 0.1, 0.5], (lists, 1))
    relevant[np.arange(lists), rng.integers(0, n_items, lists)] = True
    users, items = (axis.astype(np.int32) for axis in relevant.nonzero())
    ours = ranking_metrics(places, np.arange(lists, dtype=np.int32), CSR.from_pairs(users, items, lists, n_items), KS)
    qrels = {str(user): {} for user in range(lists)}
    for user, item in zip(users.tolist(), items.tolist(), strict=True):
        qrels[str(user)][str(item)] = 1
    run = {
        str(user): {str(item): float(-rank) for rank, item in enumerate(row) if item >= 0}
        for user, row in enumerate(places.tolist())
    }
    wanted = {measure @ k: f"{name}@{k}" for name, measure in THEIRS.items() for k in KS}
    differences = dict.fromkeys(wanted.values(), 0.0)
    for metric in ir_measures.iter_calc(list(wanted), qrels, run):
        name = wanted[metric.measure]
        differences[name] = max(differences[name], abs(float(ours[name][int(metric.query_id)]) - metric.value))
    return differences


def compare(lists: int) -> dict[str, Any]:
    worst = dict.fromkeys((f"{name}@{k}" for name in THEIRS for k in KS), 0.0)
    for number in range(-(-lists // BLOCK)):
        found = largest_difference(min(BLOCK, lists - number * BLOCK), seed=number)
        worst = {name: max(value, found[name]) for name, value in worst.items()}
    return {"lists": lists, "largest_difference": max(worst.values()), "by_metric": worst}


def main(words: list[str]) -> None:
    lists = int(words[0]) if words else 100_000
    result = {"command": f"python -m trust.metrics {lists}", "oracle": f"ir-measures {ir_measures.__version__}"}
    write_text(RESULT, json.dumps(result | compare(lists), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
