"""recsieve train"""

from __future__ import annotations

import json
import logging
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recsieve.cli.model_options import MODEL_OPTIONS, named_options
from recsieve.cli.options import (
    COLUMNS,
    Data,
    Given,
    Json,
    K,
    KCore,
    Log,
    SplitBy,
    names,
    setting_options,
    with_options,
)
from recsieve.experiments.source import DataSource
from recsieve.settings import Settings

if TYPE_CHECKING:
    from recsieve.communicator import Communicator
    from recsieve.training import Event


@with_options(columns=COLUMNS, settings=setting_options(Settings), options=MODEL_OPTIONS)
def train(
    data: Data,
    *,
    columns: Given,
    validation: Annotated[Path | None, typer.Option(help="A separate file for validation.")] = None,
    test: Annotated[Path | None, typer.Option(help="A separate file for the test.")] = None,
    split: SplitBy = "random",
    k_core: KCore = 0,
    settings: Given,
    options: Given,
    k: K = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run. [runs/DATA-MODEL-DENOISER-SEED]")] = None,
    log: Log = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    as_json: Json = False,
) -> None:
    """Train a recommender on a log and write a run folder."""
    from recsieve.checking import assign_options, make_settings
    from recsieve.communicator import join, restarts
    from recsieve.experiments.run import train_and_save
    from recsieve.recommender import DEFAULT_KS
    from recsieve.reporting.run import write_run_page

    lists = {name: names(settings[name]) for name in ("candidates",) if name in settings}
    chosen = make_settings({**settings, **lists, **assign_options(settings, named_options(options))})
    source = DataSource(data, validation, test, split=split, k_core=k_core, **columns)
    label = " ".join(dict.fromkeys([chosen.model, chosen.denoiser]))  # "auto" once
    folder = out or Path("runs") / f"{data.name.split('.')[0] or 'data'}-{label.replace(' ', '-')}-{chosen.seed}"
    with join() as group, _following(group, label, chosen.select_by, log, folder) as follow:
        result = train_and_save(
            source, chosen, folder, ks=k or DEFAULT_KS, resume=resume or restarts() > 0, progress=follow, group=group,
            write_page=partial(write_run_page, command=shlex.join(["recsieve", *sys.argv[1:]])),
        )  # fmt: skip
    if not group.is_first:
        return
    if as_json:
        typer.echo(json.dumps({"run": str(result.folder), **result.metrics}))
        return
    from recsieve.reporting.choice import HEADER, choice_lines, choice_rows, plain_command
    from recsieve.reporting.run import summary
    from recsieve.reporting.tables import metrics_table, rows_table, say, say_command, show

    if choice := result.metrics.get("choice"):
        show(rows_table(HEADER, choice_rows(choice)))
        say(*choice_lines(choice), "To train the best plain model alone:", bullet=True)
        say_command(plain_command(choice))
    if result.metrics["test"]:
        show(metrics_table(result.metrics["test"], "test, full ranking"))
        say(summary(result.metrics, chosen.model_dump(), {"source": str(data)}))
    else:
        say("The test part is empty, so the model cannot be evaluated: give more interactions.")
    typer.echo(f"run folder: {result.folder}\npage: {result.folder / 'report.html'}")
    typer.echo(f"next: recsieve recommend {shlex.quote(str(result.folder))} --user ID --k 10")


@contextmanager
def _following(
    group: Communicator, label: str, select_by: str, log: str | None, folder: Path
) -> Iterator[Callable[[Event], None] | None]:
    """Show and log what happens on the first rank; the others say only what stops them."""
    from recsieve.cli.progress import training_progress
    from recsieve.experiments.tracking import logging_to

    if not group.is_first:
        logging.getLogger().setLevel(logging.ERROR)
        yield None
        return
    with training_progress(label, select_by) as progress, logging_to(log, folder, progress) as follow:
        yield follow
