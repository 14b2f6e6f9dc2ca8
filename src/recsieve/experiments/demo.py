"""The story in a minute: plain CE, T-CE and R-CE on a simulated shop whose noise is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recsieve.checking import make_settings
from recsieve.data.simulation import simulate
from recsieve.data.world import write_world
from recsieve.data.world_config import demo_world
from recsieve.experiments.pool import Progress, run_all
from recsieve.experiments.run import TrainTask
from recsieve.experiments.source import DataSource

# The options suit a quarter of noise, which is what this shop has.
STRATEGIES: dict[str, dict[str, Any]] = {
    "CE (plain)": {"denoiser": "keep-all"},
    "T-CE": {"denoiser": "truncated", "denoiser_options": {"drop_positives": 0.2}},
    "R-CE": {"denoiser": "reweighted"},
}


def run_demo(out: Path, seed: int, progress: Progress | None = None) -> dict[str, Path]:
    """Simulate a log and train GMF with each strategy; runs that are finished are taken as they are."""
    world = demo_world()
    data = out / "data"
    if not data.exists():
        write_world(simulate(world, seed), data)
    source = DataSource(data, false_positive=world.rule)
    settings = {name: make_settings({"model": "gmf", "seed": seed, **given}) for name, given in STRATEGIES.items()}
    folders = {name: out / own.denoiser for name, own in settings.items()}
    tasks = [TrainTask(name, source.load, source.describe(), settings[name], folders[name]) for name in STRATEGIES]
    run_all(tasks, None, progress, most=settings["CE (plain)"].epochs)
    return folders
