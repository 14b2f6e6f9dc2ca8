"""recsieve paper table1 … figure9"""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import FalsePositive, KCore
from recsieve.experiments.paper.catalogue import TITLES

DataSets = Annotated[
    list[str],
    typer.Option(
        "--data",
        help="The authors' folder (X.train.rating, X.valid.rating, X.test.negative), any file of interactions, or "
        "simulated:yelp (simulated:yelp:0.1 for a tenth); repeat for several.",
    ),
]
Out = Annotated[Path, typer.Option(help="Folder of runs, which all results share, and for the result.")]
Seeds = Annotated[int, typer.Option(min=1, help="Runs of each cell.")]
Epochs = Annotated[int, typer.Option(min=1, help="Of every training: the authors' have 10.")]
Models = Annotated[str | None, typer.Option(help="gmf, neumf, cdae; several with commas. [those of the paper]")]
Fidelity = Annotated[
    str, typer.Option(help="'paper': as it is written; 'authors': as their released code counts, rounds and masks.")
]
SelectBy = Annotated[
    str,
    typer.Option(help="Which is shown first: 'own-loss' (the authors' way) or 'ndcg@20', both on noisy validation."),
]
Preset = Annotated[
    str | None, typer.Option(help="Settings of the paper's adressa, amazon-book or yelp. [the data's own, else yelp]")
]
Users = Annotated[int | None, typer.Option(min=1, help="Rank for at most so many test users. [all]")]
Workers = Annotated[int | None, typer.Option(min=1, help="Parallel processes. [the cores]")]
ResultFile = Annotated[Path | None, typer.Option("--result", help="Also write the numbers to this JSON file.")]
OUT = Path("runs/paper")


def run_result(
    name: str,
    data: list[str],
    out: Path,
    result: Path | None,
    *,
    seeds: int = 1,
    epochs: int = 10,
    models: str | None = None,
    fidelity: str = "paper",
    select_by: str = "own-loss",
    preset: str | None = None,
    users: int | None = None,
    false_positive: str | None = None,
    k_core: int = 0,
    workers: int | None = None,
    sweep: bool = False,
) -> None:
    """Run one result and print its first tables and what was found."""
    from recsieve.cli.task_progress import task_progress
    from recsieve.experiments.paper.data_sets import open_data_set
    from recsieve.experiments.paper.runs import make_options
    from recsieve.files import write_text
    from recsieve.reporting.tables import rows_table, show
    from recsieve.studies import reproduce

    names = tuple(part.strip() for part in (models or "").split(",") if part.strip())
    options = make_options(seeds, epochs, fidelity, names, select_by, users, sweep)
    typer.echo("reading the data", err=True)
    data_sets = [open_data_set(d, rule=false_positive, k_core=k_core, preset=preset, fidelity=fidelity) for d in data]
    with task_progress() as progress:
        reproduced = reproduce(
            name, data_sets, options, out, command=shlex.join(["recsieve", *sys.argv[1:]]), workers=workers,
            announce=lambda sentence: typer.echo(sentence, err=True), progress=progress,
        )  # fmt: skip
    for table in reproduced.report.tables:
        show(rows_table(table.header, table.rows, title=table.heading))
    for sentence in reproduced.report.found:
        typer.echo(f"- {sentence}")
    if result is not None:
        write_text(result, reproduced.file.read_text(encoding="utf-8"))
    typer.echo(f"page: {reproduced.page}")


def add_results(paper: typer.Typer) -> None:
    """Give the command `paper` a command for each result."""
    special: dict[str, Callable[..., None]] = {"table2": table2, "table3": table3, "figure5": figure5}
    for name, title in TITLES.items():
        paper.command(name, help=title)(special.get(name) or _trained(name))


def _trained(name: str) -> Callable[..., None]:
    """A command that trains what its result needs."""

    def command(
        data: DataSets,
        out: Out = OUT,
        seeds: Seeds = 3,
        epochs: Epochs = 10,
        models: Models = None,
        fidelity: Fidelity = "paper",
        select_by: SelectBy = "own-loss",
        preset: Preset = None,
        users: Users = None,
        false_positive: FalsePositive = None,
        k_core: KCore = 0,
        workers: Workers = None,
        result: ResultFile = None,
    ) -> None:
        run_result(
            name, data, out, result, seeds=seeds, epochs=epochs, models=models, fidelity=fidelity, select_by=select_by,
            preset=preset, users=users, false_positive=false_positive, k_core=k_core, workers=workers,
        )  # fmt: skip

    return command


def table2(
    data: DataSets,
    out: Out = OUT,
    false_positive: FalsePositive = None,
    k_core: KCore = 0,
    result: ResultFile = None,
) -> None:
    run_result("table2", data, out, result, false_positive=false_positive, k_core=k_core)


def table3(
    data: DataSets,
    out: Out = OUT,
    seeds: Seeds = 3,
    epochs: Epochs = 10,
    models: Models = None,
    fidelity: Fidelity = "paper",
    select_by: SelectBy = "own-loss",
    preset: Preset = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Search the paper's grids first: 23 runs for each model and data set.")
    ] = False,
    users: Users = None,
    false_positive: FalsePositive = None,
    k_core: KCore = 0,
    workers: Workers = None,
    result: ResultFile = None,
) -> None:
    run_result(
        "table3", data, out, result, seeds=seeds, epochs=epochs, models=models, fidelity=fidelity, select_by=select_by,
        preset=preset, users=users, false_positive=false_positive, k_core=k_core, workers=workers, sweep=sweep,
    )  # fmt: skip


def figure5(out: Out = OUT, result: ResultFile = None) -> None:
    run_result("figure5", [], out, result)
