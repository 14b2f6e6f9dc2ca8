"""The runs of a comparison, including its controls."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from recsieve.checking import accepts, make_settings
from recsieve.denoisers import DENOISERS
from recsieve.errors import ConfigError
from recsieve.experiments.config import run_settings
from recsieve.experiments.settings import DEFAULT_STRATEGIES, ComparisonConfig, Noise, Strategy
from recsieve.models import MODELS
from recsieve.registry import options_of
from recsieve.settings import AUTO, Settings, auto_options

log = logging.getLogger(__name__)

Role = Literal["baseline", "strategy", "random control", "popularity control", "oracle", "plain model"]

PLAIN = Strategy(denoiser="keep-all")
RATE_OPTIONS = ("max_drop_rate", "drop_positives", "ramp_steps", "ramp_epochs", "fidelity")
CONTROLS = ("random-drop", "least-popular-drop")
ORACLE = "clean training (oracle)"


@dataclass(frozen=True)
class Contender:
    """A strategy in a comparison, and its role."""

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

    @property
    def title(self) -> str:
        """A readable name, e.g. "GMF, T-CE, seed 0"."""
        model = MODELS[self.settings.model]
        seed = [f"seed {self.settings.seed}"] if getattr(model, "uses_seed", True) else []
        noise = [] if self.noise == "natural" else [f"{self.noise} noise"]
        name = getattr(model, "__name__", self.settings.model)
        return ", ".join([name, self.contender.name, *noise, *seed])


def plan(config: ComparisonConfig, flags: Mapping[Noise, bool]) -> list[Cell]:
    """Every run, seed by seed, so that early results are balanced; `flags` says whether noise is known."""
    cells = [
        Cell(noise.name, contender, make_settings(run_settings(config, model, contender.strategy, seed)))
        for seed in range(config.seeds)
        for noise in config.noise
        for model, contender in _rows(config, noise_is_known=flags[noise])
        if seed == 0 or getattr(MODELS[model], "uses_seed", True)
    ]
    if len({cell.name for cell in cells}) < len(cells):
        raise ConfigError("two of the strategies or kinds of noise have the same name: give each its own name.")
    return cells


def _rows(config: ComparisonConfig, *, noise_is_known: bool) -> Iterator[tuple[str, Contender]]:
    """Models with strategies and controls, and then the plain models that nobody has to ask for."""
    for model in config.models:
        strategies = {name: s for name, s in config.strategies.items() if accepts(model, s.denoiser)}
        every = contenders(strategies, noise_is_known=noise_is_known)
        made = [one for one in every if accepts(model, one.strategy.denoiser)]
        names = {one.name for one in made}
        yield from ((model, one if one.control in names else replace(one, control=None)) for one in made)
    for model in config.plain_models:
        if model not in config.models:
            yield model, Contender("plain", PLAIN, "plain model")


def tell_left_out(config: ComparisonConfig) -> None:
    """Report the given strategies that have no effect on a model."""
    for model in config.models:
        for name, strategy in config.strategies.items():
            if not accepts(model, strategy.denoiser):
                log.warning("the strategy %s does not work with %s: it is left out there.", name, model)


def contenders(strategies: Mapping[str, Strategy], *, noise_is_known: bool) -> list[Contender]:
    """The given strategies, plain CE first, then the controls."""
    plain = next((name for name, strategy in strategies.items() if strategy.denoiser == PLAIN.denoiser), None)
    baseline = Contender(plain or "CE (plain)", strategies.get(plain or "", PLAIN), "baseline")
    others = {name: strategy for name, strategy in strategies.items() if name != plain}
    chosen = {name: s for name, s in others.items() if noise_is_known and _looks_at_labels(s)}
    paces = _paces({name: strategy for name, strategy in others.items() if name not in chosen})
    leaders = {name: _leader(pace, paces, others) for name, pace in paces.items()}
    popularity = {name: _popularity_name(leader, others[leader]) for name, leader in leaders.items()}
    popularity |= {name: _choice_control(name) for name in chosen}
    denoising = [Contender(name, s, "strategy", popularity.get(name)) for name, s in others.items()]
    controls = [made for name in dict.fromkeys(leaders.values()) for made in _controls(name, others[name], paces[name])]
    controls += [_control_of_choice(name, strategy) for name, strategy in chosen.items()]
    oracle = [Contender(ORACLE, baseline.strategy, "oracle")] if noise_is_known else []
    return [baseline, *denoising, *controls, *oracle]


@dataclass(frozen=True)
class Pace:
    """How much is dropped and how fast, and the training: what a strategy and its control share."""

    rate: tuple[tuple[str, int | float | str], ...]
    learning_rate: float | None
    model_options: tuple[tuple[str, int | float | str], ...]

    def drop(self, denoiser: str) -> Strategy:
        """A control at this pace."""
        return Strategy(
            denoiser=denoiser,
            denoiser_options=dict(self.rate),
            learning_rate=self.learning_rate,
            model_options=dict(self.model_options),
        )


def _paces(strategies: Mapping[str, Strategy]) -> dict[str, Pace]:
    """The pace of each strategy that denoises; one that drops nothing, as R-CE, is given that of the first that does.

    A control that drops has to drop some share, and where nobody names one it is T-CE's default.
    """
    denoising = {name: s for name, s in strategies.items() if s.denoiser not in (PLAIN.denoiser, *CONTROLS)}
    lent = _rate(next((s for s in denoising.values() if _drops(s)), DEFAULT_STRATEGIES["T-CE"]))
    return {
        name: Pace(_rate(s) if _drops(s) else lent, s.learning_rate, tuple(sorted(s.model_options.items())))
        for name, s in denoising.items()
    }


def _leader(pace: Pace, paces: Mapping[str, Pace], strategies: Mapping[str, Strategy]) -> str:
    """The strategy after which the controls of a pace are named: the first that drops, or else the first."""
    alike = [name for name, other in paces.items() if other == pace]
    return next((name for name in alike if _drops(strategies[name])), alike[0])


def _controls(name: str, strategy: Strategy, pace: Pace) -> list[Contender]:
    """Dropping by popularity at the pace of a strategy, and at random if it drops itself."""
    random, popular = (pace.drop(control) for control in CONTROLS)
    by_popularity = Contender(_popularity_name(name, strategy), popular, "popularity control")
    at_random = Contender(f"random drop as {name}", random, "random control")
    return [at_random, by_popularity] if _drops(strategy) else [by_popularity]


def _popularity_name(name: str, strategy: Strategy) -> str:
    return f"least popular drop {'as' if _drops(strategy) else 'beside'} {name}"


def _looks_at_labels(strategy: Strategy) -> bool:
    """Whether it is `auto` with labels, and no control itself."""
    if strategy.denoiser != AUTO:
        return False
    options = auto_options(strategy.denoiser_options)
    return options.labels > 0 and options.evidence == "labels"


def _choice_control(name: str) -> str:
    return f"P by popularity as {name}"


def _control_of_choice(name: str, strategy: Strategy) -> Contender:
    """The same choice, with the probabilities of noise handed out by unpopularity alone."""
    options = strategy.denoiser_options | {"evidence": "popularity"}
    made = strategy.model_copy(update={"denoiser_options": options})
    return Contender(_choice_control(name), made, "popularity control")


def _drops(strategy: Strategy) -> bool:
    """Whether it drops a growing share, as T-CE does."""
    if strategy.denoiser == AUTO:
        return False
    options = set(options_of(DENOISERS[strategy.denoiser]))
    return {"max_drop_rate", "ramp_steps"} <= options


def _rate(strategy: Strategy) -> tuple[tuple[str, int | float | str], ...]:
    return tuple(sorted((name, value) for name, value in strategy.denoiser_options.items() if name in RATE_OPTIONS))
