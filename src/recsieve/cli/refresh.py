"""recsieve refresh"""

import json
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import COLUMNS, Given, Json, Run, with_options


@with_options(columns={name: kind for name, kind in COLUMNS.items() if name not in ("header", "repeats")})
def refresh(
    run: Run,
    *,
    data: Annotated[Path | None, typer.Option(help="New interactions: a file or folder as `train` takes it.")] = None,
    forget: Annotated[Path | None, typer.Option(help="A file of users who leave, with all that they did.")] = None,
    columns: Given,
    anew: Annotated[
        bool, typer.Option("--anew", help="Also train from the start, to say whether the refreshed run is no worse.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the refreshed run.")],
    as_json: Json = False,
) -> None:
    """Take new interactions into a run, or users out of it, without beginning anew; columns are called as before."""
    from recsieve.cli.progress import training_progress
    from recsieve.experiments.refresh import refresh_and_save
    from recsieve.refresh import Refreshed

    with training_progress("refresh") as progress:
        result = refresh_and_save(run, out, data, forget, columns=columns, anew=anew, progress=progress)
    if as_json:
        typer.echo(json.dumps({"run": str(result.folder), **result.metrics}))
        return
    typer.echo("\n".join(Refreshed(**result.metrics["refreshed"]).lines()))
    typer.echo(f"run folder: {result.folder}")
