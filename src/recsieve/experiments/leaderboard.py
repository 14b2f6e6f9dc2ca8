"""Strategies × models × data sets with equal tuning: every cell is tuned and then compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from recsieve.checking import accepts
from recsieve.data.splitting import Split
from recsieve.errors import ConfigError, did_you_mean
from recsieve.experiments.compare import run_comparison
from recsieve.experiments.config import make_config, read_toml
from recsieve.experiments.noise import with_noise
from recsieve.experiments.pool import Progress
from recsieve.experiments.search import make_tuning, space_of, title_of
from recsieve.experiments.settings import Noise, Strategy, TuningConfig
from recsieve.experiments.source import DataSource
from recsieve.experiments.study import write_result
from recsieve.experiments.tune import run_tuning
from recsieve.settings import Options, Positive, validated

PLAIN = "keep-all"
_STRICT = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class BoardModel(BaseModel):
    """A model of the leaderboard, and how it is trained with every strategy."""

    model_config = _STRICT

    model: str | None = None  # None: the one that it is called after
    only: list[str] = []  # of the board's strategies; empty: all
    model_options: Options = {}
    settings: dict[str, int | float | str | Options] = {}  # of all its trainings: objective, negatives, batch_size, …
    strategies: dict[str, Strategy] = {}  # beside those that are tuned, as they are


class Board(BaseModel):
    """The contents of a leaderboard, and the number of trials for each strategy."""

    model_config = _STRICT

    data: Annotated[dict[str, DataSource], Field(min_length=1)]
    noise: dict[str, Noise] = {}  # by name of data: noise put into it, where it is not as it is
    models: Annotated[dict[str, BoardModel], Field(min_length=1)]
    strategies: list[str]  # by name; each is tuned
    trials: Positive = 5  # of each strategy, plain training too
    seeds: Annotated[int, Field(ge=2)] = 5
    settings: dict[str, int | float | str] = {}  # of all trainings: epochs, patience, metric, …


def read_board(path: Path) -> Board:
    """Read the TOML file of a leaderboard; paths in it are relative to its folder."""
    board = validated(Board, read_toml(path))
    for name in board.noise:
        if name not in board.data:
            raise ConfigError(f"there is noise for the data '{name}': {did_you_mean(name, board.data)}")
    found = {name: replace(source, source=path.parent / source.source) for name, source in board.data.items()}
    return board.model_copy(update={"data": found})


@dataclass(frozen=True)
class BoardCell:
    """A model on a data set."""

    data: str
    model: str

    @property
    def name(self) -> str:
        return f"{self.data}-{self.model}"


def cells(board: Board, data: list[str], models: list[str]) -> Iterator[BoardCell]:
    """The cells of the named data and models, or of all; an unknown name is an error."""
    for wanted, known in ((data, board.data), (models, board.models)):
        for name in wanted:
            if name not in known:
                raise ConfigError(f"the leaderboard has no '{name}': {did_you_mean(name, known)}")
    return (BoardCell(one, other) for one in data or board.data for other in models or board.models)


def run_cell(
    board: Board,
    cell: BoardCell,
    split: Split,
    out: Path,
    results: Path,
    *,
    strategies: list[str],
    command: str = "",
    workers: int | None = None,
    progress: Progress | None = None,
    write_page: Callable[[Path], object] = lambda folder: None,
) -> dict[str, Any]:
    """Tune and compare what is missing, and write the result of the cell.

    The model's own options and the learning rate are tuned for plain training, and used for all strategies and
    controls. Each strategy has as many trials for its own options.
    """
    model, noise = board.models[cell.model], board.noise.get(cell.data, Noise())
    name, strategies = model.model or cell.model, [one for one in strategies if one in (model.only or strategies)]
    noisy, folder, shared = with_noise(split, noise), out / cell.name, {**board.settings, **model.settings}

    def tune(what: str, given: dict[str, Any]) -> dict[str, Any]:
        config = _tuning(board, name, shared, given, workers)
        if not config.strategies:
            return {}
        made = run_tuning(config, folder / what, split=noisy, command=command, progress=progress)
        return {entry["denoiser"]: entry for entry in made["strategies"]}

    plain = tune("plain", {"strategies": [PLAIN], "model_options": model.model_options}).get(PLAIN, {})
    best = {key: plain[key] for key in ("model_options", "learning_rate") if key in plain}
    best.setdefault("model_options", model.model_options)
    tuned = tune("tuned", {"strategies": [one for one in strategies if one != PLAIN], **best})
    comparison = make_config(
        {
            **{key: value for key, value in best.items() if key == "learning_rate"},
            **shared,
            "models": [name],
            "model_options": {name: best["model_options"]},
            "strategies": _contenders(name, strategies, tuned, model.strategies),
            "noise": [noise],
            "seeds": board.seeds,
            "workers": workers,
        }
    )
    result = run_comparison(
        comparison, folder / "compare", split=split, command=command, progress=progress, write_page=write_page
    )
    result |= {"cell": {"data": cell.data, "model": cell.model}, "trials": board.trials}
    write_result(results / f"{cell.name}.json", result)
    return result


def _tuning(
    board: Board, model: str, shared: dict[str, Any], given: dict[str, Any], workers: int | None
) -> TuningConfig:
    """A search for the options of the strategies that a model takes and that have any."""
    settings = {name: value for name, value in shared.items() if name in TuningConfig.model_fields}
    values = {**settings, "model": model, "trials": board.trials, "workers": workers, **given}
    config = TuningConfig(**values)
    kept = [name for name in config.strategies if accepts(model, name) and space_of(config, name)]
    return make_tuning(values | {"strategies": kept})


def _contenders(
    model: str, names: list[str], tuned: Mapping[str, Any], others: Mapping[str, Strategy]
) -> dict[str, Strategy]:
    """The strategies of a comparison with the options that were found, plain training first."""
    found = {
        title_of(model, name): Strategy(denoiser=name, denoiser_options=tuned.get(name, {}).get("options", {}))
        for name in dict.fromkeys([PLAIN, *names])
        if accepts(model, name)
    }
    return found | dict(others)
