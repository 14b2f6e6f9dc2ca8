"""LazyAdam against torch's Adam on batches of Yelp's shape: first that they agree, then the time of a step.

python benchmarks/lazy_adam.py [--steps 4000] [--threads 2] [--crossover] [--out results.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from recsieve.data.interactions import CSR
from recsieve.models import GMF
from recsieve.optim import compile_kernels, make_adam

USERS, ITEMS, BATCH, FACTORS = 45_548, 57_396, 1_024, 32
LIST_USERS, LIST_LENGTH = 300, 100
TURN = 100  # steps; long enough for the caches to be one's own
OPTIMIZERS = {
    "torch.optim.Adam": lambda model: torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True),
    "torch.optim.Adam(fused=True)": lambda model: torch.optim.Adam(model.parameters(), lr=1e-3, fused=True),
    "LazyAdam": lambda model: make_adam(model, lr=1e-3, kind="lazy"),
}


def new_model() -> GMF:
    """The same model every time, with dense gradients."""
    nobody = np.zeros(0, np.int32)
    model = GMF(CSR.from_pairs(nobody, nobody, USERS, ITEMS), torch.Generator().manual_seed(0), factors=FACTORS)
    model.user.sparse = model.item.sparse = False
    return model


def batches(steps: int, seed: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Positives of the users' own range of items, some items far more often than others, and uniform negatives."""
    generator = torch.Generator().manual_seed(seed)
    half = BATCH // 2
    labels = torch.cat([torch.ones(half), torch.zeros(half)])
    for _ in range(steps):
        users = torch.randint(USERS, (half,), generator=generator)
        popular = (ITEMS * torch.rand(half, generator=generator) ** 3).long()
        liked = (popular * 7 + users % 7) % ITEMS
        items = torch.cat([liked, torch.randint(ITEMS, (half,), generator=generator)])
        yield torch.cat([users, users]), items, labels


def timed_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, ...]) -> tuple[float, float]:
    """The loss of a batch and the milliseconds of a whole step on it."""
    users, items, labels = batch
    start = time.perf_counter()
    loss = binary_cross_entropy_with_logits(model(users, items), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), 1e3 * (time.perf_counter() - start)


def compare(steps: int) -> dict[str, dict[str, float]]:
    """Train the same model with each optimiser, some steps of each in turn; assert agreement, give the times."""
    models = {name: new_model() for name in OPTIMIZERS}
    optimizers = {name: make(models[name]) for name, make in OPTIMIZERS.items()}
    records: dict[str, list[tuple[float, float]]] = {name: [] for name in OPTIMIZERS}
    for turn in range(steps // TURN):  # taking turns, so that each meets the same noise of the machine
        for name in OPTIMIZERS:
            records[name] += [timed_step(models[name], optimizers[name], batch) for batch in batches(TURN, seed=turn)]
    losses, times = np.moveaxis([records[name] for name in OPTIMIZERS], 2, 0)  # (optimiser, step)
    optimizers["LazyAdam"].flush()
    results = {}
    for place, name in enumerate(OPTIMIZERS):
        identical, score_gap = compare_lists(models["torch.optim.Adam"], models[name])
        results[name] = {
            "ms": float(np.median(times[place])),
            "largest_loss_difference": float(np.abs(losses[place] - losses[0]).max()),
            "identical_lists": identical,
            "largest_score_gap": score_gap,
        }
    assert results["LazyAdam"]["largest_loss_difference"] <= 1e-6, results
    assert results["LazyAdam"]["largest_score_gap"] <= 1e-6, results
    return results


def compare_lists(reference: GMF, model: GMF) -> tuple[float, float]:
    """The share of users whose top-100 lists are identical, and how far apart items are that took each other's place.

    The second is by the reference's scores: items with the same score to rounding may stand in either order.
    """
    scores = reference.score(torch.arange(LIST_USERS))
    expected, found = (one.score(torch.arange(LIST_USERS)).topk(LIST_LENGTH).indices for one in (reference, model))
    gap = (scores.gather(1, expected) - scores.gather(1, found)).abs().max().item()
    return (expected == found).all(dim=1).float().mean().item(), gap


def crossover(steps: int = 1_500) -> dict[int, float]:
    """How many times faster lazy rows are than fused Adam over the whole table, by the number of rows."""
    ratios = {}
    for rows in (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000):
        tables = {kind: nn.Embedding(rows, FACTORS) for kind in ("dense", "lazy")}
        optimizers = {kind: make_adam(table, lr=1e-3, kind=kind) for kind, table in tables.items()}
        times: dict[str, list[float]] = {kind: [] for kind in tables}
        for _ in range(steps):
            batch = torch.randint(rows, (BATCH,))
            for kind, table in tables.items():
                start = time.perf_counter()
                optimizers[kind].zero_grad()
                table(batch).square().sum().backward()
                optimizers[kind].step()
                times[kind].append(time.perf_counter() - start)
        dense, lazy = (np.median(times[kind][steps // 2 :]) for kind in ("dense", "lazy"))  # after the first steps
        ratios[rows] = float(dense / lazy)
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--crossover", action="store_true", help="also measure from how many rows on lazy is faster")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    compile_kernels()
    results = compare(options.steps)
    slowest = results["torch.optim.Adam"]["ms"]
    print(f"{'one GMF step':30} {'ms':>8} {'ratio':>7} {'loss differs by':>16} {'same top-100':>13}")
    for name, row in results.items():
        difference, same = row["largest_loss_difference"], row["identical_lists"]
        print(f"{name:30} {row['ms']:8.2f} {slowest / row['ms']:6.1f}× {difference:16.1e} {same:13.1%}")
    report: dict[str, object] = {"steps": options.steps, "threads": options.threads, "optimizers": results}
    if options.crossover:
        report["crossover"] = crossover()
        for rows, ratio in report["crossover"].items():
            print(f"{rows:7,} rows of {FACTORS}, {BATCH:,} looked up: lazy is {ratio:.2f}× as fast as fused")
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
