"""The demo: the paper's losses, a strong plain model and `auto`, on a simulated shop with known noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recsieve.checking import make_settings
from recsieve.experiments.pool import Progress, run_all
from recsieve.experiments.run import TrainTask
from recsieve.experiments.source import DataSource
from recsieve.simulation.config import demo_world
from recsieve.simulation.simulate import simulate
from recsieve.simulation.world import write_world

# The options suit a quarter of noise, which is what this shop has. Nothing is fitted again with validation data, so
# that all are trained on the same.
RUNS: dict[str, dict[str, Any]] = {
    "GMF, CE": {"model": "gmf", "denoiser": "keep-all"},
    "GMF, T-CE": {"model": "gmf", "denoiser": "truncated", "denoiser_options": {"drop_positives": 0.2}},
    "GMF, R-CE": {"model": "gmf", "denoiser": "reweighted"},
    "EASE": {"model": "ease", "denoiser": "keep-all"},
    "auto": {"denoiser_options": {"labels": 0.05}, "candidates": ["ease", "ials"], "trials": 3, "final": False},
}


def run_demo(out: Path, seed: int, progress: Progress | None = None) -> dict[str, Path]:
    """Simulate a log and train each run; finished runs are reused."""
    world = demo_world()
    data = out / "data"
    if not data.exists():
        write_world(simulate(world, seed), data)
    source = DataSource(data, false_positive=world.rule)
    settings = {name: make_settings({"seed": seed, **given}) for name, given in RUNS.items()}
    folders = {name: out / f"{own.model}-{own.denoiser}" for name, own in settings.items()}
    tasks = [TrainTask(name, source.load, source.describe(), settings[name], folders[name]) for name in RUNS]
    run_all(tasks, None, progress, most=settings["GMF, CE"].epochs)
    return folders
