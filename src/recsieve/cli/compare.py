"""recsieve compare"""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from recsieve.cli.options import Columns, Json, KCore, Log, SplitBy, reads_log
from recsieve.errors import ConfigError


@reads_log
def compare(
    data: Annotated[
        Path, typer.Argument(help="A comparison in a .toml file, or interactions: a file or folder as `train` takes.")
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for runs, results and page. [runs/compare-DATA]")] = None,
    models: Annotated[str | None, typer.Option(help="gmf, neumf, cdae; several with commas. [gmf]")] = None,
    strategies: Annotated[
        str | None,
        typer.Option(help="Strategies by name with default knobs, with commas. [keep-all,truncated,reweighted]"),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=2, help="Runs of each cell. [5]")] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="Noise added to the cleaned data, as uniform:0.2, popular:0.2 or disliked:0.1; repeat. "
            "[natural: the data as it is]"
        ),
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Of the test, on which verdicts are given. [ndcg@20]")] = None,
    select_by: Annotated[str | None, typer.Option(help="On validation, one for all. [ndcg@20]")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="At most this many epochs. [100]")] = None,
    patience: Annotated[int | None, typer.Option(min=1, help="Validations without progress. [10]")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Positives and negatives together. [1024]")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of Adam. [0.001]")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Parallel processes. [the cores]")] = None,
    memory_gb: Annotated[float | None, typer.Option(help="Memory they may use. [4/5 of what is free]")] = None,
    *,
    columns: Columns,
    split: SplitBy = "random",
    k_core: KCore = 0,
    log: Log = None,
    as_json: Json = False,
) -> None:
    """Compare denoising strategies with plain CE and with controls over several seeds, and say what can be told apart.

    Runs that are finished are not repeated: after Ctrl-C the same command goes on.
    """
    from recsieve.cli.task_progress import task_progress
    from recsieve.experiments.config import make_config, read_config
    from recsieve.experiments.run import DataSource
    from recsieve.studies import compare_by

    options: dict[str, Any] = {
        "models": _names(models), "strategies": _strategies(strategies), "seeds": seeds, "noise": _noise(noise),
        "metric": metric, "select_by": select_by, "epochs": epochs, "patience": patience, "batch_size": batch_size,
        "learning_rate": learning_rate, "workers": workers, "memory_gb": memory_gb,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    if data.suffix == ".toml":
        config = read_config(data, **given)
    else:
        source = DataSource(data, split=split, k_core=k_core, **columns)
        config = make_config({"data": source, **given})
    folder = out or Path("runs") / f"compare-{data.name.split('.')[0] or 'data'}"
    command = shlex.join(["recsieve", *sys.argv[1:]])
    with task_progress() as progress:
        comparison = compare_by(config, folder, command=command, progress=progress, log=log)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **comparison.result}, ensure_ascii=False))
        return
    from recsieve.reporting.comparison_tables import summary_rows
    from recsieve.reporting.tables import rows_table, show

    header_row, rows = summary_rows(comparison.result)
    show(rows_table(header_row, rows, title=f"{data.name}, test, {config.seeds} seeds"))
    typer.echo(comparison.answer)
    for line in comparison.conclusions:
        typer.echo(f"- {line}")
    typer.echo(f"page: {comparison.page}")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _strategies(text: str | None) -> dict[str, Any] | None:
    names = _names(text)
    return None if names is None else {name: {"denoiser": name} for name in names}


def _noise(given: list[str] | None) -> list[dict[str, Any]] | None:
    """ "uniform:0.2" as mechanism and rate."""
    if not given:
        return None
    settings = []
    for text in given:
        mechanism, _, rate = text.partition(":")
        try:
            settings.append({"mechanism": mechanism, "rate": float(rate or 0)})
        except ValueError:
            raise ConfigError(f"noise is '{text}': give a mechanism and a rate, e.g. uniform:0.2.") from None
    return settings
