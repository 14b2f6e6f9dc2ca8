"""recsieve tune"""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from recsieve.cli.options import Columns, Data, Json, KCore, Seed, SplitBy, reads_log


@reads_log
def tune(
    data: Data,
    out: Annotated[Path | None, typer.Option(help="Folder for trials, results and page. [runs/tune-DATA]")] = None,
    model: Annotated[str, typer.Option(help="gmf, neumf or cdae.")] = "gmf",
    strategies: Annotated[
        str, typer.Option(help="With commas; plain CE is tuned as well, so that the others compete with its best.")
    ] = "keep-all,truncated,reweighted",
    trials: Annotated[int, typer.Option(min=1, help="Trials of each strategy.")] = 20,
    select_by: Annotated[str, typer.Option(help="On validation, one for all.")] = "ndcg@20",
    epochs: Annotated[int, typer.Option(min=1, help="At most this many epochs.")] = 100,
    patience: Annotated[int, typer.Option(min=1, help="Validations without progress.")] = 10,
    batch_size: Annotated[int, typer.Option(min=1, help="Positives and negatives together.")] = 1024,
    workers: Annotated[int | None, typer.Option(min=1, help="Strategies tuned at a time. [the cores]")] = None,
    *,
    columns: Columns,
    split: SplitBy = "random",
    k_core: KCore = 0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search the knobs of each strategy, with equally many trials for each, on validation alone.

    Trials that have ended are not repeated: after Ctrl-C the same command goes on.
    """
    from recsieve.cli.task_progress import task_progress
    from recsieve.experiments.run import DataSource
    from recsieve.experiments.search import make_tuning
    from recsieve.studies import tune_by

    options: dict[str, Any] = {
        "model": model, "strategies": [name.strip() for name in strategies.split(",")], "trials": trials,
        "select_by": select_by, "epochs": epochs, "patience": patience, "batch_size": batch_size, "workers": workers,
        "seed": seed,
    }  # fmt: skip
    source = DataSource(data, split=split, k_core=k_core, **columns)
    config = make_tuning({"data": source, **options})
    folder = out or Path("runs") / f"tune-{data.name.split('.')[0] or 'data'}"
    with task_progress() as progress:
        command = shlex.join(["recsieve", *sys.argv[1:]])
        tuning = tune_by(config, folder, command=command, progress=progress)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **tuning.result}, ensure_ascii=False))
        return
    for line in tuning.advice:
        typer.echo(f"- {line}")
    typer.echo(f"page: {tuning.page}\nnext: recsieve compare {folder / 'compare.toml'}")
