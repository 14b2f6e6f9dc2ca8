"""recsieve tune"""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import COLUMNS, Data, Given, Json, KCore, SplitBy, names, setting_options, with_options
from recsieve.experiments.settings import TuningConfig
from recsieve.experiments.source import DataSource


@with_options(columns=COLUMNS, settings=setting_options(TuningConfig))
def tune(
    data: Data,
    out: Annotated[Path | None, typer.Option(help="Folder for the trials and the results. [runs/tune-DATA]")] = None,
    *,
    settings: Given,
    columns: Given,
    split: SplitBy = "random",
    k_core: KCore = 0,
    as_json: Json = False,
) -> None:
    """Tune the options of a model and of each strategy on validation data, with equal numbers of trials.

    Finished trials are not repeated. After Ctrl-C, the same command continues.
    """
    from recsieve.cli.task_progress import task_progress
    from recsieve.communicator import join
    from recsieve.experiments.search import make_tuning
    from recsieve.studies import tune_by

    lists = {name: names(settings[name]) for name in ("strategies",) if name in settings}
    source = DataSource(data, split=split, k_core=k_core, **columns)
    config = make_tuning({"data": source, **settings, **lists})
    folder = out or Path("runs") / f"tune-{data.name.split('.')[0] or 'data'}"
    command = shlex.join(["recsieve", *sys.argv[1:]])
    with join() as group, task_progress(group) as progress:
        tuning = tune_by(config, folder, command=command, progress=progress, group=group)
    if not group.is_first:
        return
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **tuning.result}, ensure_ascii=False))
        return
    from recsieve.reporting.tables import say

    say(*tuning.advice, bullet=True)
    typer.echo(f"page: {tuning.page}\nnext: recsieve compare {folder / 'compare.toml'}")
