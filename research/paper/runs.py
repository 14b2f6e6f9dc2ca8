"""What a run of the reproduction is, and what is read back from one that has ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.checking import make_settings
from recsieve.errors import ConfigError, did_you_mean
from recsieve.fidelity import Fidelity
from recsieve.settings import Settings
from recsieve.storage.run_folder import RunFolder
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.methods import METHODS

OWN_LOSS, NDCG = "own-loss", "ndcg@20"  # as result files call them
SELECTIONS = (OWN_LOSS, NDCG)
PROBES = "probes.parquet"
VALIDATIONS = "validations.parquet"
PER_USER = {select_by: f"per_user-{select_by}.parquet" for select_by in SELECTIONS}
CUTOFFS = (3, 20, 50, 100)


@dataclass(frozen=True)
class Options:
    """What the person who asks for a result may decide."""

    seeds: int = 3
    epochs: int = published.EPOCHS
    fidelity: Fidelity = "paper"
    models: tuple[str, ...] = ()  # empty: those of the paper's table or figure
    select_by: str = OWN_LOSS
    users: int | None = None  # rank for at most so many test users, the same in every run
    sweep: bool = False

    def __post_init__(self) -> None:
        for name, given, allowed in (
            ("fidelity", [self.fidelity], ("paper", "authors")),
            ("select_by", [self.select_by], SELECTIONS),
            ("model", self.models, published.MODELS),
        ):
            for value in given:
                if value not in allowed:
                    raise ConfigError(f"{name} is '{value}': {did_you_mean(value, allowed)}")


@dataclass(frozen=True)
class RunSpec:
    """One training; equal specs are the same run, whichever result asks for it."""

    model: str
    method: str
    seed: int
    epochs: int
    fidelity: Fidelity
    users: int | None
    every: int  # steps from one validation to the next
    hyperparameters: tuple[tuple[str, int | float | str], ...] = ()
    steps: int | None = None  # what is selected is no later; None: the last

    @property
    def name(self) -> str:
        """The name of its folder."""
        hyperparameters = [f"{value:g}" for _, value in self.hyperparameters if not isinstance(value, str)]
        users = [] if self.users is None else [f"u{self.users}"]
        return "-".join(
            [self.model, self.method, *hyperparameters, self.fidelity, f"e{self.epochs}", *users, f"seed{self.seed}"]
        )

    @property
    def check_every(self) -> int:
        """Steps from one look at the losses to the next: ten for each validation, for much happens in the first."""
        return max(1, self.every // 10)

    def with_hyperparameters(self, **changes: int | float | str) -> RunSpec:
        """The same run with other hyperparameters."""
        return replace(self, hyperparameters=tuple((dict(self.hyperparameters) | changes).items()))

    def settings(self) -> Settings:
        """How it is trained: to the end, for selection looks back."""
        method = METHODS[self.method]
        return make_settings({
            **method.settings(self.model), "denoiser": method.denoiser, "denoiser_options": dict(self.hyperparameters),
            "select_by": OWN_LOSS, "epochs": self.epochs, "patience": 1_000_000, "batch_size": published.BATCH,
            "seed": self.seed, "validate_every": self.check_every, "fidelity": self.fidelity,
        })  # fmt: skip


def spec(data: DataSet, options: Options, model: str, method: str, seed: int) -> RunSpec:
    """A run with the settings behind the published cell, or those of the preset for other data."""
    chosen = published.preset(data.preset, model)
    hyperparameters = METHODS[method].hyperparameters(data, chosen, options.epochs)
    authors = options.fidelity == "authors" and data.is_papers
    every = published.validation_steps(data.preset) if authors else data.steps_per_epoch
    run = RunSpec(
        model, method, seed, options.epochs, options.fidelity, options.users, every, tuple(hyperparameters.items())
    )
    return _as_many_steps(run, data) if method == "clean" else run


def _as_many_steps(run: RunSpec, data: DataSet) -> RunSpec:
    """Clean training has fewer interactions, and so takes more epochs to as many steps as normal training."""
    steps, train = run.epochs * data.steps_per_epoch, data.split.train
    own_steps = data.steps_of(len(train) - int(train.is_false_positive.sum()))
    return replace(run, epochs=-(-steps // max(own_steps, 1)), steps=steps)


@dataclass(frozen=True)
class Record:
    """A run that has ended."""

    spec: RunSpec
    folder: RunFolder = field(repr=False)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        return self.folder.read_metrics()

    def test(self, select_by: str) -> dict[str, float]:
        """Its test metrics under a way to select."""
        return self.metrics["test"][select_by]

    def history(self) -> pl.DataFrame:
        return self.folder.read_frame(self.folder.history)

    def per_user(self, select_by: str) -> pl.DataFrame:
        """The test metrics of each user under a way to select."""
        return self.frame(PER_USER[select_by])

    def frame(self, name: str) -> pl.DataFrame:
        return self.folder.read_frame(self.folder.path / name)


@dataclass(frozen=True)
class Study:
    """A result on a data set: what was asked for, and the runs that have ended, looked up by what they are."""

    data: DataSet
    options: Options
    out: Path  # with DATA/data and DATA/runs/RUN, which all results share

    @property
    def home(self) -> Path:
        return self.out / re.sub(r"[^\w.-]+", "_", self.data.name)

    def models(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The models that were asked for, or those of the paper's table or figure."""
        return self.options.models or usual

    def grid(self, models: tuple[str, ...], methods: Sequence[str]) -> list[RunSpec]:
        """Every model with every method and seed, seed by seed, so that what is finished early is balanced."""
        return [
            spec(self.data, self.options, model, method, seed)
            for seed in range(self.options.seeds)
            for model in self.models(models)
            for method in methods
        ]

    def seeds(self, model: str, method: str) -> list[RunSpec]:
        """The runs of a cell, one for each seed."""
        return [spec(self.data, self.options, model, method, seed) for seed in range(self.options.seeds)]

    def ended(self, model: str, method: str) -> list[Record]:
        """The same, once they have ended."""
        return [self[run] for run in self.seeds(model, method)]

    def path(self, run: RunSpec) -> Path:
        return self.home / "runs" / run.name

    def finished(self, run: RunSpec) -> bool:
        return RunFolder(self.path(run)).finished

    def __getitem__(self, run: RunSpec) -> Record:
        return Record(run, RunFolder(self.path(run)))


def mean_over_seeds(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Curves of several seeds as one, step by step."""
    together = pl.concat(frames).fill_nan(None)
    return together.group_by("step", maintain_order=True).mean().sort("step")


MOST_POINTS = 60  # of a curve: more is not seen


def thinned(curve: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a curve, not all of them where there are very many; the last is always there."""
    every = max(1, -(-curve.height // MOST_POINTS))
    kept = curve.with_row_index("row").filter((pl.col("row") % every == 0) | (pl.col("row") == curve.height - 1))
    return kept.drop("row").to_dicts()
