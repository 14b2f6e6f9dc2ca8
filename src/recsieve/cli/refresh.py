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
    data: Annotated[Path | None, typer.Option(help="New interactions: a log as for `train`.")] = None,
    forget: Annotated[
        Path | None, typer.Option(help="A file of users to remove, with all of their interactions.")
    ] = None,
    columns: Given,
    anew: Annotated[
        bool, typer.Option("--anew", help="Also train from scratch, to see whether the refreshed run is worse.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the refreshed run.")],
    as_json: Json = False,
) -> None:
    """Add new interactions to a run, or remove users, without training from scratch."""
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
