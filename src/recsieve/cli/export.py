"""recsieve export"""

from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import Run


def export(
    run: Run,
    to: Annotated[
        Path,
        typer.Option(
            help="Output: FOLDER (Parquet files), FILE.sqlite or FILE.duckdb (lists and vectors as tables), "
            "FILE.usearch (an index of items), FILE.npz or FILE.safetensors (vectors)."
        ),
    ],
    k: Annotated[int, typer.Option(min=1, help="Number of items for each user.")] = 10,
) -> None:
    """Export recommendations and vectors for other programs."""
    from recsieve.serving.export import export as write

    typer.echo(write(run, to, k).line())
