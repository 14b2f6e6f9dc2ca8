"""How well the audit finds noise, held against T-CE's own dropping, plain losses and the popularity of items.

python -m research.studies.audit findings/ml-100k.toml runs/audit/ml-100k findings/audit/ml-100k.json

The first argument is a comparison's configuration, of which the data is taken; the second a folder for what was
computed, which is not computed again; the third the result.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from recsieve.audit import find_noisy_interactions
from recsieve.audit.dynamics import Dynamics, observe_training
from recsieve.audit.logistic import calibration
from recsieve.cli.task_progress import task_progress
from recsieve.data.filtering import k_core
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.data.loading import find_parts
from recsieve.data.reading.formats import read_interactions
from recsieve.data.statistics import describe
from recsieve.denoisers import make_denoiser
from recsieve.evaluation.detection import TOP_SHARE, detection
from recsieve.experiments.config import read_config
from recsieve.experiments.pool import Progress, Reporter, run_all
from recsieve.experiments.settings import ComparisonConfig
from recsieve.experiments.source import DataSource
from recsieve.experiments.study import how_made, write_result
from recsieve.models import GMF
from recsieve.objectives import BCE
from recsieve.training import GradientFitting, InteractionMemory, TrainingPlan

SEEDS = 3
LABELS = (0.0, 0.01, 0.05, 0.2)
RAMP_EPOCHS = 5
FEWEST_EPOCHS = 10  # of T-CE, so that there are epochs after its ramp
PAPER = {"max_drop_rate": 0.2}  # of the batch: two fifths of the positives
TENTH = {"drop_positives": TOP_SHARE}  # as many as every other score selects


@dataclass(frozen=True)
class SeedTask:
    """The audits with one seed, one after the other, for they share trainings."""

    source: DataSource
    seed: int
    folder: Path

    @property
    def name(self) -> str:
        return f"seed {self.seed}"

    @property
    def files(self) -> dict[float, Path]:
        """What was found with each share of labels."""
        return {share: self.folder / f"seed-{self.seed}-labels-{share:g}.json" for share in LABELS}

    @property
    def finished(self) -> bool:
        return all(path.exists() for path in self.files.values())

    def run(self, reporter: Reporter) -> None:
        data = load_data(self.source)
        for done, (share, path) in enumerate(self.files.items(), start=1):
            if not path.exists():
                write_result(path, _measure(data, self.folder / f"seed-{self.seed}", self.seed, share))
            reporter.tell(done)


def run_study(
    config: ComparisonConfig, folder: Path, out: Path, command: str, progress: Progress | None = None
) -> dict[str, Any]:
    """Audit with every seed and share of labels, and write the result."""
    started = time.perf_counter()
    if config.data is None:
        raise ValueError("read_config gives a configuration with data")
    tasks = [SeedTask(config.data, seed, folder) for seed in range(SEEDS)]
    run_all(tasks, config.workers, progress, most=len(LABELS), unit="audit", noun="seeds")
    rows = [json.loads(path.read_text(encoding="utf-8")) for task in tasks for path in task.files.values()]
    facts = describe(load_data(config.data))
    result = how_made(config, command, started) | {"facts": facts, "top_share": TOP_SHARE, "rows": rows}
    write_result(out, result)
    return result


def load_data(source: DataSource) -> Interactions:
    asked = ("user", "item", "false_positive", "time", "weight", "header", "repeats")
    columns = {name: getattr(source, name) for name in asked}
    return k_core(read_interactions(find_parts(source.source)["train"], **columns), source.k_core)


def _measure(data: Interactions, cache: Path, seed: int, share: float) -> dict[str, Any]:
    """Audit with a random share of the labels, and judge every score on the interactions without one."""
    started = time.perf_counter()
    shown = np.random.default_rng([seed, 0xA0D17]).random(len(data)) < share
    flags = np.where(shown, data.is_false_positive, UNLABELLED).astype(np.int8)
    audit = find_noisy_interactions(replace(data, false_positive=flags), seed=seed, cache=cache)
    seconds = time.perf_counter() - started
    dynamics = observe_training(data, seed=seed, cache=cache)
    scores = {
        "audit": audit.scores,
        "popularity-adjusted": audit.table.sort("row")["popularity_adjusted"].to_numpy(),
        "T-CE as a ranking": _dropped(data, dynamics, cache / "t-ce-tenth.npy", seed, TENTH),
        "plain loss": np.nanmean(dynamics.full.curve, axis=0),
        "unpopularity": -data.item_counts()[data.items],
    }
    noise = data.is_false_positive[~shown]
    found = {name: _measures(detection(score[~shown], noise)) for name, score in scores.items()}
    found["T-CE"] = _of_drops(_dropped(data, dynamics, cache / "t-ce-paper.npy", seed, PAPER)[~shown], noise)
    estimated = audit.summary["noise_share"]
    return {
        "seed": seed,
        "labels": share,
        "labelled": int(shown.sum()),
        "labelled_noise": int(data.is_false_positive[shown].sum()),
        "method": audit.summary["method"],
        "base_rate": float(noise.mean()),
        "scores": found,
        "popularity_correlation": audit.summary["popularity_correlation"],
        "calibration": None if audit.probability is None else calibration(audit.probability[~shown], noise),
        "noise_share": None if estimated is None else {**estimated, "truth": float(data.is_false_positive.mean())},
        "seconds": round(seconds, 1),
    }


def _measures(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in ("roc_auc", "average_precision", "precision")}


def _of_drops(drops: NDArray[np.float32], noise: NDArray[np.bool_]) -> dict[str, float]:
    """The same measures, but the precision is that of all that was dropped, however much it is."""
    return _measures(detection(drops, noise)) | {"precision": float(drops[noise].sum() / drops.sum())}


def _dropped(
    data: Interactions, dynamics: Dynamics, path: Path, seed: int, hyperparameters: Mapping[str, float]
) -> NDArray[np.float32]:
    """In how many epochs after its ramp T-CE drops each interaction."""
    if path.exists():
        return np.load(path)
    epochs = max(dynamics.full.best_epoch, FEWEST_EPOCHS)
    memory = InteractionMemory(len(data), keep=range(RAMP_EPOCHS, epochs))
    model = GMF(data.csr, torch.Generator().manual_seed(seed))
    make = partial(make_denoiser, "truncated", {**hyperparameters, "ramp_epochs": RAMP_EPOCHS})
    training = GradientFitting(model, BCE(), data, TrainingPlan(epochs=epochs, seed=seed), make, memory)
    training.finish()
    dropped = memory.dropped.sum(axis=0)
    np.save(path, dropped)
    return dropped


if __name__ == "__main__":
    given, runs, target = map(Path, sys.argv[1:4])
    words = " ".join(["python -m research.studies.audit", *sys.argv[1:4]])
    with task_progress() as progress:
        run_study(read_config(given), runs, target, words, progress)
