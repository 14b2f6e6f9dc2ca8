"""Whole studies in one call: run, conclude, and write the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.splitting import Split
from recsieve.display import Displayed, Shown
from recsieve.experiments.compare import run_comparison
from recsieve.experiments.config import make_config
from recsieve.experiments.pool import Progress, Started
from recsieve.experiments.search import make_tuning
from recsieve.experiments.settings import ComparisonConfig, Noise, Strategy, TuningConfig
from recsieve.experiments.source import DataSource
from recsieve.experiments.tracking import log_run, make_tracker
from recsieve.experiments.tune import run_tuning
from recsieve.progress import Advanced
from recsieve.reporting.comparison import write_comparison_page
from recsieve.reporting.comparison_tables import summary_rows
from recsieve.reporting.tuning import best_rows, write_tuning_page
from recsieve.settings import Engine
from recsieve.storage.run_folder import RunFolder


@dataclass(frozen=True, repr=False)
class ComparisonResult(Displayed):
    """A finished comparison: the contents of comparison.json, and where it and the page are."""

    folder: Path
    result: dict[str, Any]

    @property
    def answer(self) -> str:
        """Whether any strategy is better than the same model without it, and than the best plain model."""
        return str(self.result["answer"])

    @property
    def conclusions(self) -> list[str]:
        """A plain sentence for each comparison."""
        return list(self.result["conclusions"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Metrics and verdicts of each strategy, model and kind of noise."""
        return list(self.result["rows"])

    def shown(self) -> Shown:
        """The answer, and a row for each model and strategy."""
        return Shown(self.answer, *summary_rows(self.result))

    @property
    def summary(self) -> pl.DataFrame:
        """The rows as a flat table."""
        return pl.read_parquet(self.folder / "tables" / "summary.parquet", glob=False)

    @property
    def page(self) -> Path:
        return self.folder / "report.html"


def compare(
    data: Path | str | DataSource | Split,
    out: Path | str = "runs/comparison",
    *,
    false_positive: str | None = None,
    progress: Progress | None = None,
    log: str | None = None,
    models: Sequence[str] | None = None,
    model_options: Mapping[str, Mapping[str, int | float | str]] | None = None,
    strategies: Mapping[str, Strategy | Mapping[str, Any]] | None = None,
    plain_models: Sequence[str] | None = None,
    noise: Sequence[Noise | Mapping[str, Any]] | None = None,
    seeds: int | None = None,
    metric: str | None = None,
    objective: str | None = None,
    objective_options: Mapping[str, int | float | str] | None = None,
    select_by: str | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    negatives: int | None = None,
    validation_users: int | None = None,
    engine: Engine | None = None,
    workers: int | None = None,
) -> ComparisonResult:
    """Train strategies and their controls with several seeds, and say which of them differ from plain CE.

    `data` is a path (with `false_positive` to mark noise), a `DataSource` or a `Split`. Model options are given by
    model, and strategies by the name to show. Finished runs in `out` are not repeated. With `log`, each run is also
    sent to "tensorboard" or "mlflow". For the defaults, see `ComparisonConfig`. In a script, call it under `if __name__
    == "__main__":`, because it starts processes.
    """
    given = {name: value for name, value in locals().items() if name in ComparisonConfig.model_fields}
    source, split = _source(data, false_positive)
    config = make_config(_given(given) | {"data": source})
    return compare_by(config, Path(out), split=split, progress=progress, log=log)


def _source(
    data: Path | str | DataSource | Split, false_positive: str | None
) -> tuple[DataSource | None, Split | None]:
    """Where the data comes from, or the split that it is already."""
    if isinstance(data, Split):
        return None, data
    return data if isinstance(data, DataSource) else DataSource(Path(data), false_positive=false_positive), None


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def compare_by(
    config: ComparisonConfig,
    out: Path,
    *,
    split: Split | None = None,
    command: str = "recsieve.compare",
    progress: Progress | None = None,
    log: str | None = None,
    group: Communicator = SINGLE_PROCESS,
) -> ComparisonResult:
    """Compare as a configuration says, and write the page; in a group, the first rank does so, and has the result."""
    tracker = make_tracker(log, out) if log and group.is_first else None

    def report(event: Started | Advanced) -> None:
        if tracker is not None and isinstance(event, Advanced) and event.ended:
            log_run(tracker, RunFolder(out / "runs" / event.what))
        if progress is not None:
            progress(event)

    result = run_comparison(
        config, out, split=split, command=command, progress=report, write_page=write_comparison_page, group=group
    )
    if tracker is not None:
        for folder in sorted((out / "runs").iterdir()):  # those that were finished before
            log_run(tracker, RunFolder(folder))
    return ComparisonResult(out, result)


@dataclass(frozen=True, repr=False)
class TuningResult(Displayed):
    """A finished search: the contents of tuning.json, and where it, the page and the next comparison are."""

    folder: Path
    result: dict[str, Any]

    @property
    def advice(self) -> list[str]:
        """The result in plain terms."""
        return list(self.result["advice"])

    @property
    def strategies(self) -> dict[str, dict[str, Any]]:
        """The best options and their validation score, by strategy."""
        return {entry["denoiser"]: entry for entry in self.result["strategies"]}

    def shown(self) -> Shown:
        """The best on validation data, and the best trial of each strategy."""
        return Shown(self.advice[0], *best_rows(self.result))

    @property
    def trials(self) -> pl.DataFrame:
        """Every trial."""
        return pl.read_parquet(self.folder / "tables" / "trials.parquet", glob=False)

    @property
    def page(self) -> Path:
        return self.folder / "report.html"


def tune(
    data: Path | str | DataSource | Split,
    out: Path | str = "runs/tuning",
    *,
    false_positive: str | None = None,
    progress: Progress | None = None,
    model: str | None = None,
    model_options: Mapping[str, int | float | str] | None = None,
    strategies: Sequence[str] | None = None,
    trials: int | None = None,
    seed: int | None = None,
    objective: str | None = None,
    objective_options: Mapping[str, int | float | str] | None = None,
    select_by: str | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    negatives: int | None = None,
    validation_users: int | None = None,
    engine: Engine | None = None,
    workers: int | None = None,
) -> TuningResult:
    """Search the options of a model and of each strategy with the same number of trials, on validation data only.

    `data` is as for `compare`. Finished trials in `out` are not repeated. For the defaults, see `TuningConfig`; without
    a learning rate, it is searched too.
    """
    given = {name: value for name, value in locals().items() if name in TuningConfig.model_fields}
    source, split = _source(data, false_positive)
    return tune_by(make_tuning(_given(given) | {"data": source}), Path(out), split=split, progress=progress)


def tune_by(
    config: TuningConfig,
    out: Path,
    *,
    split: Split | None = None,
    command: str = "recsieve.tune",
    progress: Progress | None = None,
    group: Communicator = SINGLE_PROCESS,
) -> TuningResult:
    """Tune as a configuration says, and write the page; in a group, the first rank does so, and has the result."""
    result = run_tuning(
        config, out, split=split, command=command, progress=progress, write_page=write_tuning_page, group=group
    )
    return TuningResult(out, result)
