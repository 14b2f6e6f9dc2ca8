"""The story in a minute: plain CE, T-CE and R-CE on a simulated shop whose noise is known."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from recsieve.data.simulation import simulate
from recsieve.data.world import write_world
from recsieve.data.world_config import demo_world
from recsieve.experiments.run import DataSource, RunResult, train_and_save
from recsieve.settings import make_settings
from recsieve.training import Event

# The knobs suit a quarter of noise, which is what this shop has.
STRATEGIES: dict[str, dict[str, Any]] = {
    "CE (plain)": {"denoiser": "keep-all"},
    "T-CE": {"denoiser": "truncated", "denoiser_options": {"drop_positives": 0.2}},
    "R-CE": {"denoiser": "reweighted"},
}

Progress = Callable[[str], AbstractContextManager[Callable[[Event], None]]]


def run_demo(out: Path, seed: int, progress: Progress) -> dict[str, RunResult]:
    """Simulate a log and train GMF with each strategy; runs that are finished are taken as they are."""
    world = demo_world()
    data = out / "data"
    if not data.exists():
        write_world(simulate(world, seed), data)
    results = {}
    for name, strategy in STRATEGIES.items():
        settings = make_settings({"model": "gmf", "seed": seed, **strategy})
        source = DataSource(data, false_positive=world.rule)
        with progress(name) as report:
            results[name] = train_and_save(source, settings, out / settings.denoiser, resume=True, progress=report)
    return results
