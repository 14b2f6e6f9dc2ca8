"""Options that several commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel

from recsieve.memory import limit_memory

# Panels of --help, each with columns as wide as its own options need.
READING = "Reading the log"
CHOOSING = "Model and strategy"
TRAINING = "Training"
CHOICES = ("model", "models", "denoiser", "strategies", "objective", "budget", "trials", "candidates", "final")

Data = Annotated[
    Path,
    typer.Argument(
        help="Interactions: a CSV, TSV, JSON lines or Parquet file, a folder of parts, a SQLite or DuckDB file, a "
        "RecBole .inter file, or a folder with train, valid and test files."
    ),
]
Run = Annotated[Path, typer.Argument(help="A run folder written by `train`.")]
User = Annotated[str | None, typer.Option(help="Column of the user ids. [guessed]", rich_help_panel=READING)]
Item = Annotated[str | None, typer.Option(help="Column of the item ids. [guessed]", rich_help_panel=READING)]
FalsePositive = Annotated[
    str | None,
    typer.Option(
        help="Rule that marks interactions as noise: 'rating < 3', 'dwell_seconds < 10', 'hours < 1 or returned'.",
        rich_help_panel=READING,
    ),
]
Time = Annotated[str | None, typer.Option(help="Column of the timestamps.", rich_help_panel=READING)]
Weight = Annotated[
    str | None,
    typer.Option(
        help="Column of interaction weights, or an SQL expression: \"case event when 'purchase' then 3 else 1 end\".",
        rich_help_panel=READING,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="Which rows of an event log are interactions: \"event in ('purchase')\". [all]", rich_help_panel=READING
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of text files, e.g. latin-1, cp1252 or utf-16. [utf-8]", rich_help_panel=READING),
]
Query = Annotated[
    str | None,
    typer.Option(help="A SELECT that reads from a SQLite or DuckDB file. [its only table]", rich_help_panel=READING),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether text files start with column names. [detected]", rich_help_panel=READING
    ),
]
Repeats = Annotated[
    str | None,
    typer.Option(
        help="When a repeated pair is noise: if any or all of its rows are, by its last row, by the majority; or sum: "
        "like all, with counts as weights. [any if the rule uses text, else all]",
        rich_help_panel=READING,
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
    """An option for each setting with a description, with its help and its default in brackets; None: not given."""
    fields = {name: of for name, of in settings.model_fields.items() if of.description and name not in left_out}
    what = [name for name in CHOICES if name in fields]  # before how
    ordered = dict.fromkeys([*what, *fields])
    return {name: Annotated[_plain(fields[name].annotation) | None, _option(name, fields[name])] for name in ordered}


def _plain(annotation: Any) -> Any:
    """The type of an option: settings may also be None, and check their own limits."""
    choices = get_args(annotation)
    kinds = [kind for kind in choices if kind is not type(None)] if type(None) in choices else [annotation]
    kind = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    return str if get_origin(kind) is list else kind


def _option(name: str, field: Any) -> Any:
    switch = (f"--{name.replace('_', '-')}",) if field.annotation is bool else ()
    told = field.default is None or field.default is False or field.description.endswith("]")
    words = ",".join(field.default) if isinstance(field.default, list) else field.default
    shown = "" if told else f" [{words}]"
    named = "NAME" if get_origin(field.annotation) is Literal else None  # the help lists what there is
    panel = CHOOSING if name in CHOICES else TRAINING
    return typer.Option(*switch, help=field.description + shown, metavar=named, rich_help_panel=panel)


def names(text: str) -> list[str]:
    """Words separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def with_options(**groups: dict[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace parameters of a command by groups of options; each gets those that were given, by name."""

    def widen(command: Callable[..., None]) -> Callable[..., None]:
        parameters = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            for name, annotation in groups.get(parameter.name, {}).items():
                parameters.append(parameter.replace(name=name, default=None, annotation=annotation))
            if parameter.name not in groups:
                parameters.append(parameter)
        last = parameters[-1]  # every command that reads a log or fits a model takes a memory limit
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
