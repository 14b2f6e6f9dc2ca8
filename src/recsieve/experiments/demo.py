"""The story in a minute: plain CE, T-CE and R-CE on a simulated shop whose noise is known."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from recsieve.data.simulation import simulate
from recsieve.data.worlds import demo_world, write_world
from recsieve.experiments.run import DataSource, RunResult, train_and_save
from recsieve.settings import make_settings
from recsieve.training import Event

STRATEGIES = {"keep-all": "CE (plain)", "truncated": "T-CE", "reweighted": "R-CE"}

Progress = Callable[[str], AbstractContextManager[Callable[[Event], None]]]


def run_demo(out: Path, seed: int, progress: Progress) -> dict[str, RunResult]:
    """Simulate a log and train GMF with each strategy; runs that are finished are taken as they are."""
    world = demo_world()
    data = out / "data"
    if not data.exists():
        write_world(simulate(world, seed), data)
    results = {}
    for strategy, name in STRATEGIES.items():
        settings = make_settings({"model": "gmf", "denoiser": strategy, "seed": seed})
        source = DataSource(data, false_positive=world.rule)
        with progress(name) as report:
            results[name] = train_and_save(source, settings, out / strategy, resume=True, progress=report)
    return results
