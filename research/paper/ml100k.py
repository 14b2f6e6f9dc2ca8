"""The published ml-100k numbers of the paper's strategies, reproduced under the protocol that produced them.

From the RecSys 2025 study "Are We Really Making Recommendations Robust?": the epoch with the lowest validation loss of
the method's own, on a split whose validation part overlaps the test (the overlap is masked out, as it was there).
These numbers can be compared with each other and with nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from recsieve.checking import make_settings
from recsieve.data.loading import load_split
from recsieve.data.splitting import Split
from recsieve.errors import ConfigError, DataError, did_you_mean
from recsieve.experiments.conclusions import spread
from recsieve.experiments.pool import Progress, run_all
from recsieve.experiments.run import TrainTask
from recsieve.files import write_text
from recsieve.settings import Settings
from recsieve.storage.run_folder import RunFolder

METRICS = ("recall@5", "recall@20", "recall@50", "ndcg@20")
STRATEGIES: dict[str, dict[str, Any]] = {
    "keep-all": {"denoiser": "keep-all"},
    "truncated": {"denoiser": "truncated", "denoiser_options": {"max_drop_rate": 0.2, "ramp_steps": 30_000}},
    "reweighted": {"denoiser": "reweighted", "denoiser_options": {"beta": 0.25}},
    "trimmed-validation": {"denoiser": "keep-all", "select_by": "trimmed-loss"},
}
MODEL_OPTIONS = {"lightgcn": {"factors": 32, "l2": 0.0}}  # the study's code adds no penalty to the cross-entropy
# Mean of three seeds, by model and strategy, in the order of METRICS; None where it is not known.
PUBLISHED: dict[str, dict[str, tuple[float | None, ...]]] = {
    "gmf": {
        "keep-all": (0.0433, 0.1178, 0.1972, 0.0738),
        "truncated": (0.0486, 0.1147, 0.2007, 0.0766),
        "reweighted": (0.0501, 0.1196, 0.2024, 0.0794),
        "trimmed-validation": (None, 0.1232, None, None),
    },
    "neumf": {
        "keep-all": (0.0439, 0.1179, 0.1966, 0.0728),
        "truncated": (0.0453, 0.1153, 0.1961, 0.0719),
        "reweighted": (0.0543, 0.1215, 0.2047, 0.0816),
    },
    "cdae": {
        "keep-all": (0.0418, 0.1148, 0.1895, 0.0727),
        "truncated": (0.0416, 0.1144, 0.1902, 0.0726),
        "reweighted": (0.0444, 0.1267, 0.2075, 0.0791),
    },
    "lightgcn": {
        "keep-all": (None, 0.1275, None, 0.0858),
        "truncated": (None, 0.1382, None, 0.0907),
        "reweighted": (None, 0.1241, None, 0.0838),
    },
}

# At most so many, and so many between validations. The study's code tests LightGCN after each tenth epoch alone. After
# 50 its validation loss still falls, and the published numbers are not reached: 300 is an assumption that fits them.
EPOCHS = {"gmf": 50, "neumf": 50, "cdae": 50, "lightgcn": 300}
EPOCHS_BETWEEN = {"lightgcn": 10}
STEPS_PER_EPOCH = 156  # 79,619 positives, each with a negative, in batches of 1,024


def reproduce(
    folder: Path,
    out: Path,
    seeds: int,
    models: Collection[str],
    progress: Progress | None = None,
    epochs: int | None = None,
) -> list[dict[str, Any]]:
    """Train every cell with every seed (those finished before are taken as they are) and set ours beside theirs."""
    for name in models:
        if name not in PUBLISHED:
            raise ConfigError(f"there is no published cell of '{name}': {did_you_mean(name, PUBLISHED)}")
    read_protocol_split(folder)  # what is wrong with it is told before anything starts
    wanted = [
        (model, strategy, [_task(folder, out, strategy, own) for own in runs])
        for model, strategy, runs in cells(seeds, models, epochs)
    ]
    tasks = [task for *_, tasks in wanted for task in tasks]
    run_all(tasks, None, progress, most=max(task.settings.epochs for task in tasks))
    return [
        _cell(model, strategy, tasks[0].settings.epochs, [RunFolder(task.folder).read_metrics() for task in tasks])
        for model, strategy, tasks in wanted
    ]


def add_cells(result: Path, command: str, cells: list[dict[str, Any]]) -> None:
    """Write cells to a file, in the place of their like; those of other models stay as they are."""
    known = json.loads(result.read_text(encoding="utf-8"))["cells"] if result.exists() else []
    new = {cell["model"] for cell in cells}
    every = [*(cell for cell in known if cell["model"] not in new), *cells]
    ordered = sorted(every, key=lambda cell: list(PUBLISHED).index(cell["model"]))
    write_text(result, json.dumps({"command": command, "cells": ordered}, indent=1) + "\n")


def read_protocol_split(folder: Path) -> Split:
    """The split as it stands: every rating is a positive, and the overlap of validation and test is left."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder: give the one with ml100k.train.rating and its two companions.")
    return load_split(folder, check=False)


def cells(
    seeds: int, models: Collection[str] = tuple(PUBLISHED), epochs: int | None = None
) -> Iterator[tuple[str, str, list[Settings]]]:
    """The settings of each published cell, one for each seed."""
    for model in models:
        longest = epochs or EPOCHS[model]
        for strategy in PUBLISHED[model]:
            common = {"model": model, "model_options": MODEL_OPTIONS.get(model, {}), "select_by": "own-loss"}
            common |= STRATEGIES[strategy]
            protocol = {"fidelity": "authors", "epochs": longest, "patience": longest}
            if model in EPOCHS_BETWEEN:
                protocol["validate_every"] = EPOCHS_BETWEEN[model] * STEPS_PER_EPOCH
            yield model, strategy, [make_settings({**common, **protocol, "seed": seed}) for seed in range(seeds)]


def _task(folder: Path, out: Path, strategy: str, settings: Settings) -> TrainTask:
    name = f"{settings.model}-{strategy}-{settings.epochs}-{settings.seed}"
    return TrainTask(name, partial(read_protocol_split, folder), {}, settings, out / name, ks=(5, 20, 50))


def _cell(model: str, strategy: str, epochs: int, runs: list[dict[str, Any]]) -> dict[str, Any]:
    ours = {metric: spread(run["test"][metric] for run in runs) for metric in METRICS}
    return {
        "model": model,
        "strategy": strategy,
        "published": {m: value for m, value in zip(METRICS, PUBLISHED[model][strategy], strict=True) if value},
        "ours": {metric: found["mean"] for metric, found in ours.items()},
        "deviation": {metric: found["sd"] for metric, found in ours.items()},
        "seeds": len(runs),
        "epochs": epochs,
        "selected_epochs": [round(run["selected"]["epoch"]) for run in runs],
        "fidelity": "authors",  # in the whole run
    }
