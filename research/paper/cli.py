"""recsieve paper: each published result is a command. Like every command, they import torch only when they run."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import FalsePositive, KCore
from research.paper.catalogue import TITLES

DataSets = Annotated[
    list[str],
    typer.Option(
        "--data",
        help="The authors' folder (X.train.rating, X.valid.rating, X.test.negative), any file of interactions, or "
        "simulated:yelp (simulated:yelp:0.1 for a tenth); repeat for several.",
    ),
]
Out = Annotated[Path, typer.Option(help="Folder of runs, which all results share, and for the result.")]
Seeds = Annotated[int, typer.Option(min=1, help="Runs of each strategy.")]
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
Workers = Annotated[int | None, typer.Option(min=1, help="Parallel processes. [number of cores]")]
ResultFile = Annotated[Path | None, typer.Option("--result", help="Also write the numbers to this JSON file.")]
OUT = Path("runs/paper")

paper = typer.Typer(help="Published results, reproduced: each by one command.", no_args_is_help=True)


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
    from recsieve.files import write_text
    from recsieve.reporting.tables import rows_table, show
    from research.paper.data_sets import open_data_set
    from research.paper.reports.registry import REPORTS
    from research.paper.reports.report import write_report
    from research.paper.reproduce import reproduce_result
    from research.paper.runs import make_options

    names = tuple(part.strip() for part in (models or "").split(",") if part.strip())
    options = make_options(seeds, epochs, fidelity, names, select_by, users, sweep)
    typer.echo("reading the data", err=True)
    data_sets = [open_data_set(d, rule=false_positive, k_core=k_core, preset=preset, fidelity=fidelity) for d in data]
    with task_progress() as progress:
        found = reproduce_result(
            name, data_sets, options, out, command=shlex.join(["recsieve", *sys.argv[1:]]), workers=workers,
            announce=lambda sentence: typer.echo(sentence, err=True), progress=progress,
        )  # fmt: skip
    report = REPORTS[name](found)
    page = write_report(found, report, out)
    for table in report.tables:
        show(rows_table(table.header, table.rows, title=table.heading))
    for sentence in report.found:
        typer.echo(f"- {sentence}")
    if result is not None:
        write_text(result, (out / f"{name}.json").read_text(encoding="utf-8"))
    typer.echo(f"page: {page}")


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


SPECIAL: dict[str, Callable[..., None]] = {"table2": table2, "table3": table3, "figure5": figure5}
for result_name, title in TITLES.items():
    paper.command(result_name, help=title)(SPECIAL.get(result_name) or _trained(result_name))


@paper.command("ml-100k")
def ml100k(
    data: Annotated[Path, typer.Argument(help="Folder with ml100k.train.rating, .valid.rating and .test.negative.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs; finished ones are not repeated.")] = Path(
        "runs/ml-100k"
    ),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each strategy.")] = 3,
    models: Annotated[str, typer.Option(help="Several with commas.")] = "gmf,neumf,cdae,lightgcn",
    epochs: Annotated[int | None, typer.Option(min=1, help="At most so many. [50; LightGCN 300]")] = None,
    result: Annotated[
        Path | None, typer.Option(help="Also write the numbers to this JSON file; cells of other models stay in it.")
    ] = None,
) -> None:
    """GMF, NeuMF, CDAE and LightGCN with CE, T-CE and R-CE on ml-100k, beside the numbers of a RecSys 2025 study."""
    from recsieve.cli.task_progress import task_progress
    from recsieve.reporting.tables import number, rows_table, show
    from research.paper.ml100k import METRICS, add_cells, model_names, reproduce

    with task_progress() as progress:
        cells = reproduce(data, out, seeds, model_names(models), progress, epochs)
    rows = [
        (
            cell["model"],
            cell["strategy"],
            *(f"{number(cell['ours'][m])} ({number(cell['published'].get(m))})" for m in METRICS),
        )
        for cell in cells
    ]
    show(rows_table(("model", "strategy", *METRICS), rows, title="ours (published)"))
    if result is not None:
        own = f" --models {models} --epochs {epochs}" if epochs else ""
        add_cells(result, f"recsieve paper ml-100k {data} --seeds {seeds}{own}", cells)
