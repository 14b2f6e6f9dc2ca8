"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path,
    typer.Argument(
        help="Interactions: a CSV, TSV or Parquet file, a folder of parts, a RecBole .inter file, or a folder with "
        "train, valid and test files."
    ),
]
Run = Annotated[Path, typer.Argument(help="A run folder that `train` has written.")]
User = Annotated[str | None, typer.Option(help="Column of the user ids. [guessed when left out]")]
Item = Annotated[str | None, typer.Option(help="Column of the item ids. [guessed when left out]")]
FalsePositive = Annotated[
    str | None,
    typer.Option(
        help="What marks an interaction as noise, over columns: 'rating < 3', 'dwell_seconds < 10', "
        "'hours < 1 or returned'."
    ),
]
Time = Annotated[str | None, typer.Option(help="Column of the time of an interaction.")]
Weight = Annotated[str | None, typer.Option(help="Column of given weights.")]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether text files begin with column names. [detected]")
]
KCore = Annotated[int, typer.Option(min=0, help="Keep only users and items with this many interactions.")]
K = Annotated[list[int] | None, typer.Option("--k", min=1, help="Length of the lists to measure; repeat for several.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Log = Annotated[
    str | None, typer.Option(help="Also log to tensorboard or mlflow, if it is installed (recsieve[tensorboard], …).")
]
