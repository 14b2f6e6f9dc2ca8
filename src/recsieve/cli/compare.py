"""recsieve compare"""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from recsieve.cli.options import COLUMNS, Given, Json, KCore, Log, SplitBy, names, setting_options, with_options
from recsieve.errors import ConfigError
from recsieve.experiments.settings import ComparisonConfig
from recsieve.experiments.source import DataSource


@with_options(columns=COLUMNS, settings=setting_options(ComparisonConfig))
def compare(
    data: Annotated[Path, typer.Argument(help="A comparison in a .toml file, or a log as for `train`.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the runs and the results. [runs/compare-DATA]")] = None,
    strategies: Annotated[
        str | None,
        typer.Option(help="Strategies with default options, separated by commas. [keep-all,truncated,reweighted]"),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="Noise to add to the cleaned data: uniform:0.2, popular:0.2 or disliked:0.1; repeat for several. "
            "[the noise of the data]"
        ),
    ] = None,
    *,
    settings: Given,
    columns: Given,
    split: SplitBy = "random",
    k_core: KCore = 0,
    log: Log = None,
    as_json: Json = False,
) -> None:
    """Compare denoising strategies with plain training, controls and strong plain models, over several seeds.

    Finished runs are not repeated. After Ctrl-C, the same command continues.
    """
    from recsieve.cli.task_progress import task_progress
    from recsieve.communicator import join
    from recsieve.experiments.config import make_config, read_config
    from recsieve.studies import compare_by

    lists: Given = {name: names(settings[name]) for name in ("models", "plain_models") if name in settings}
    options: dict[str, Any] = {"strategies": _strategies(strategies), "noise": _noise(noise), **settings, **lists}
    given = {name: value for name, value in options.items() if value is not None}
    if data.suffix == ".toml":
        config = read_config(data, **given)
    else:
        source = DataSource(data, split=split, k_core=k_core, **columns)
        config = make_config({"data": source, **given})
    folder = out or Path("runs") / f"compare-{data.name.split('.')[0] or 'data'}"
    command = shlex.join(["recsieve", *sys.argv[1:]])
    with join() as group, task_progress(group) as progress:
        comparison = compare_by(config, folder, command=command, progress=progress, log=log, group=group)
    if not group.is_first:
        return
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **comparison.result}, ensure_ascii=False))
        return
    from recsieve.reporting.comparison import data_name
    from recsieve.reporting.comparison_tables import terminal_rows
    from recsieve.reporting.tables import rows_table, say, show

    header_row, rows = terminal_rows(comparison.result)
    show(rows_table(header_row, rows, title=f"{data_name(comparison.result)}, test, {config.seeds} seeds"))
    say(comparison.answer)
    say(*comparison.conclusions, bullet=True)
    typer.echo(f"page: {comparison.page}")
    say(f"next: open the page; run the command again with --out {folder} to add seeds or strategies")


def _strategies(text: str | None) -> dict[str, Any] | None:
    return None if text is None else {name: {"denoiser": name} for name in names(text)}


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
