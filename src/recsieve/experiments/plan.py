"""The runs of a comparison, with the controls that nobody has to ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from recsieve.denoisers import DENOISERS
from recsieve.errors import ConfigError
from recsieve.experiments.config import ComparisonConfig, Noise, Strategy, run_settings
from recsieve.settings import Settings, make_settings

Role = Literal["baseline", "strategy", "random control", "popularity control", "oracle"]

PLAIN = Strategy(denoiser="keep-all")
RATE_KNOBS = ("max_drop_rate", "drop_positives", "ramp_steps", "ramp_epochs")
CONTROLS = ("random-drop", "least-popular-drop")
ORACLE = "clean training (oracle)"


@dataclass(frozen=True)
class Contender:
    """A strategy in a comparison, and what it is there for."""

    name: str
    strategy: Strategy
    role: Role
    control: str | None = None  # the popularity control that it has to beat


@dataclass(frozen=True)
class Cell:
    """One run."""

    noise: str
    contender: Contender
    settings: Settings

    @property
    def name(self) -> str:
        """The name of its folder."""
        parts = (self.noise, self.settings.model, self.contender.name, str(self.settings.seed))
        return "-".join(re.sub(r"[^\w.+]+", "_", part).strip("_") for part in parts)


def plan(config: ComparisonConfig, flags: Mapping[Noise, bool]) -> list[Cell]:
    """Every run, seed by seed, so that what is finished early is balanced; `flags` says where noise is known."""
    cells = [
        Cell(noise.name, contender, make_settings(run_settings(config, model, contender.strategy, seed)))
        for seed in range(config.seeds)
        for noise in config.noise
        for model in config.models
        for contender in contenders(config.strategies, noise_is_known=flags[noise])
    ]
    if len({cell.name for cell in cells}) < len(cells):
        raise ConfigError("two of the strategies or kinds of noise are named alike: give each a name of its own.")
    return cells


def contenders(strategies: Mapping[str, Strategy], *, noise_is_known: bool) -> list[Contender]:
    """The given strategies, plain CE first, then the controls."""
    plain = next((name for name, strategy in strategies.items() if strategy.denoiser == PLAIN.denoiser), None)
    baseline = Contender(plain or "CE (plain)", strategies.get(plain or "", PLAIN), "baseline")
    others = {name: strategy for name, strategy in strategies.items() if name != plain}
    droppers = [name for name, strategy in others.items() if _drops(strategy)]
    popularity = {name: f"least popular drop as {_first_alike(name, others)}" for name in droppers}
    fallback = next(iter(popularity.values()), None)
    denoising = [Contender(name, s, "strategy", popularity.get(name, fallback)) for name, s in others.items()]
    oracle = [Contender(ORACLE, baseline.strategy, "oracle")] if noise_is_known else []
    return [baseline, *denoising, *_controls(others), *oracle]


def _controls(strategies: Mapping[str, Strategy]) -> list[Contender]:
    """Dropping at random and by popularity, at the same rate and ramp as each strategy that drops."""
    made: list[Contender] = []
    for name, strategy in strategies.items():
        if not _drops(strategy) or _first_alike(name, strategies) != name:
            continue
        random, popular = (
            strategy.model_copy(update={"denoiser": control, "denoiser_options": _rate(strategy)})
            for control in CONTROLS
        )
        made += [
            Contender(f"random drop as {name}", random, "random control"),
            Contender(f"least popular drop as {name}", popular, "popularity control"),
        ]
    return made


def _drops(strategy: Strategy) -> bool:
    """Whether it drops a growing share, as T-CE does, and is not a control itself."""
    if strategy.denoiser in CONTROLS:
        return False
    knobs = {field.name for field in fields(DENOISERS[strategy.denoiser])}
    return {"max_drop_rate", "ramp_steps"} <= knobs


def _rate(strategy: Strategy) -> dict[str, int | float | str]:
    return {name: value for name, value in strategy.denoiser_options.items() if name in RATE_KNOBS}


def _first_alike(name: str, strategies: Mapping[str, Strategy]) -> str:
    """The first strategy with the same rate and ramp: one pair of controls is enough for all of them."""
    wanted = strategies[name]
    return next(
        other
        for other, strategy in strategies.items()
        if _drops(strategy) and (_rate(strategy), strategy.learning_rate) == (_rate(wanted), wanted.learning_rate)
    )
