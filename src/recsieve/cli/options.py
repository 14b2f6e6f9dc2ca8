"""Options that several commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

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
Repeats = Annotated[
    str | None,
    typer.Option(
        help="What a repeated pair is: noise if any or all of its rows are, what its last row or the majority says, or "
        "sum: as all, with counts as weights. [any if the rule asks about text, else all]"
    ),
]
SplitBy = Annotated[str, typer.Option("--split", help="random (per user, 8:1:1), time or leave-last-out.")]
KCore = Annotated[int, typer.Option(min=0, help="Keep only users and items with this many interactions.")]
K = Annotated[list[int] | None, typer.Option("--k", min=1, help="Length of the lists to measure; repeat for several.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Log = Annotated[
    str | None, typer.Option(help="Also log to tensorboard or mlflow, if it is installed (recsieve[tensorboard], …).")
]

# What the columns of a log mean: the options of every command that reads one.
COLUMNS: dict[str, Any] = {
    "user": User, "item": Item, "false_positive": FalsePositive, "repeats": Repeats, "time": Time, "weight": Weight,
    "header": Header,
}  # fmt: skip
Columns = dict[str, Any]


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options in COLUMNS in the place of a command's parameter `columns`, which gets them by name."""
    parameters = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if parameter.name == "columns":
            parameters += [parameter.replace(name=name, default=None, annotation=COLUMNS[name]) for name in COLUMNS]
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**values: Any) -> None:
        columns = {name: values.pop(name) for name in COLUMNS}
        command(**values, columns=columns)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run
