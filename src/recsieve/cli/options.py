"""Options that several commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from pydantic import BaseModel

from recsieve.memory import limit_memory

Data = Annotated[
    Path,
    typer.Argument(
        help="Interactions: a CSV, TSV, JSON lines or Parquet file, a folder of parts, a SQLite or DuckDB file, a "
        "RecBole .inter file, or a folder with train, valid and test files."
    ),
]
Run = Annotated[Path, typer.Argument(help="A run folder written by `train`.")]
User = Annotated[str | None, typer.Option(help="Column of the user ids. [guessed]")]
Item = Annotated[str | None, typer.Option(help="Column of the item ids. [guessed]")]
FalsePositive = Annotated[
    str | None,
    typer.Option(
        help="Rule that marks interactions as noise: 'rating < 3', 'dwell_seconds < 10', 'hours < 1 or returned'."
    ),
]
Time = Annotated[str | None, typer.Option(help="Column of the timestamps.")]
Weight = Annotated[
    str | None,
    typer.Option(
        help="Column of interaction weights, or an SQL expression: \"case event when 'purchase' then 3 else 1 end\"."
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(help="Which rows of an event log are interactions: \"event in ('purchase')\". [all]"),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of text files, e.g. latin-1, cp1252 or utf-16. [utf-8]")]
Query = Annotated[
    str | None,
    typer.Option(help="A SELECT that reads from a SQLite or DuckDB file. [its only table]"),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether text files start with column names. [detected]")
]
Repeats = Annotated[
    str | None,
    typer.Option(
        help="When a repeated pair is noise: if any or all of its rows are, by its last row, by the majority; or sum: "
        "like all, with counts as weights. [any if the rule uses text, else all]"
    ),
]
SplitBy = Annotated[str, typer.Option("--split", help="random (per user, 8:1:1), time or leave-last-out.")]
KCore = Annotated[int, typer.Option(min=0, help="Keep only users and items with at least this many interactions.")]
K = Annotated[list[int] | None, typer.Option("--k", min=1, help="Length of the lists to evaluate; repeat for several.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same results.")]
Log = Annotated[
    str | None,
    typer.Option(help="Also log to tensorboard or mlflow (install recsieve[tensorboard] or recsieve[mlflow])."),
]

Memory = Annotated[
    str | None,
    typer.Option(help="Memory limit, e.g. 4G: refuse what is estimated to need more. [the free memory]"),
]

EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In CSV, put an apostrophe before text that a spreadsheet would run as a formula. This changes such ids.",
    ),
]

# What the columns of a log mean: the options of every command that reads one.
COLUMNS: dict[str, Any] = {
    "user": User, "item": Item, "false_positive": FalsePositive, "positive": Positive, "repeats": Repeats,
    "time": Time, "weight": Weight, "header": Header, "encoding": Encoding, "query": Query,
}  # fmt: skip
Columns = dict[str, Any]
Given = dict[str, Any]  # what was given of a group of options, by name


def setting_options(settings: type[BaseModel], *left_out: str) -> dict[str, Any]:
    """An option for each setting that a word can give, with its help and its default in brackets; None is not given."""
    return {
        name: Annotated[_plain(field.annotation) | None, _option(name, field)]
        for name, field in settings.model_fields.items()
        if field.description and name not in left_out
    }


def _plain(annotation: Any) -> Any:
    """What a word is turned into: settings may also be None, and say themselves what is too small."""
    choices = get_args(annotation)
    kinds = [kind for kind in choices if kind is not type(None)] if type(None) in choices else [annotation]
    kind = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    return str if get_origin(kind) is list else kind


def _option(name: str, field: Any) -> Any:
    switch = (f"--{name.replace('_', '-')}",) if field.annotation is bool else ()
    told = field.default is None or field.default is False or field.description.endswith("]")
    words = ",".join(field.default) if isinstance(field.default, list) else field.default
    shown = "" if told else f" [{words}]"
    return typer.Option(*switch, help=field.description + shown)


def names(text: str) -> list[str]:
    """Words with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


def with_options(**groups: dict[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put groups of options in the place of a command's parameters, each of which gets what was given, by name."""

    def widen(command: Callable[..., None]) -> Callable[..., None]:
        parameters = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            for name, annotation in groups.get(parameter.name, {}).items():
                parameters.append(parameter.replace(name=name, default=None, annotation=annotation))
            if parameter.name not in groups:
                parameters.append(parameter)
        last = parameters[-1]  # whoever reads a log or fits a model may be told how much memory there is for it
        parameters.append(last.replace(name="memory", default=None, annotation=Memory, kind=last.KEYWORD_ONLY))

        @wraps(command)
        def run(**values: Any) -> None:
            if memory := values.pop("memory"):
                limit_memory(memory)
            given = {
                group: {name: value for name in options if (value := values.pop(name)) is not None}
                for group, options in groups.items()
            }
            command(**values, **given)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return widen


reads_log = with_options(columns=COLUMNS)
