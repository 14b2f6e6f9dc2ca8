"""recsieve paper: each published result is a command. Like every command, they import torch only when they run."""

import inspect
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from recsieve.cli.options import FalsePositive, KCore, names
from research.paper import TITLES

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
Sweep = Annotated[
    bool, typer.Option("--sweep", help="Search the paper's grids first: 23 runs for each model and data set.")
]
Users = Annotated[int | None, typer.Option(min=1, help="Rank for at most so many test users. [all]")]
Workers = Annotated[int | None, typer.Option(min=1, help="Parallel processes. [number of cores]")]
ResultFile = Annotated[Path | None, typer.Option("--result", help="Also write the numbers to this JSON file.")]
OUT = Path("runs/paper")

paper = typer.Typer(help="Published results, reproduced: each by one command.", no_args_is_help=True)


def run_result(
    name: str,
    data: DataSets,
    out: Out = OUT,
    seeds: Seeds = 3,
    epochs: Epochs = 10,
    models: Models = None,
    fidelity: Fidelity = "paper",
    select_by: SelectBy = "own-loss",
    preset: Preset = None,
    sweep: Sweep = False,
    users: Users = None,
    false_positive: FalsePositive = None,
    k_core: KCore = 0,
    workers: Workers = None,
    result: ResultFile = None,
) -> None:
    """Run one result and print its first tables and what was found."""
    from recsieve.cli.task_progress import task_progress
    from recsieve.files import write_text
    from recsieve.reporting.tables import rows_table, show
    from research.paper.data_sets import open_data_set
    from research.paper.reports.report import report_on, write_report
    from research.paper.reproduce import reproduce_result
    from research.paper.runs import Options

    options = Options(seeds, epochs, fidelity, tuple(names(models or "")), select_by, users, sweep)  # type: ignore[arg-type]
    typer.echo("reading the data", err=True)
    data_sets = [open_data_set(d, rule=false_positive, k_core=k_core, preset=preset, fidelity=fidelity) for d in data]
    with task_progress() as progress:
        found = reproduce_result(
            name, data_sets, options, out, command=shlex.join(["recsieve", *sys.argv[1:]]), workers=workers,
            announce=lambda sentence: typer.echo(sentence, err=True), progress=progress,
        )  # fmt: skip
    report = report_on(found)
    page = write_report(found, report, out)
    for table in report.tables:
        show(rows_table(table.header, table.rows, title=table.heading))
    for sentence in report.found:
        typer.echo(f"- {sentence}")
    if result is not None:
        write_text(result, (out / f"{name}.json").read_text(encoding="utf-8"))
    typer.echo(f"page: {page}")


def _command(name: str, fixed: dict[str, Any]) -> Callable[..., None]:
    """The command of a result, without the options whose values are fixed."""

    def command(**given: Any) -> None:
        run_result(name, **fixed, **given)

    parameters = list(inspect.signature(run_result).parameters.values())[1:]
    left = [parameter for parameter in parameters if parameter.name not in fixed]
    command.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
    return command


UNTRAINED = {
    "seeds": 1, "epochs": 10, "models": None, "fidelity": "paper", "select_by": "own-loss", "preset": None,
    "sweep": False, "users": None, "workers": None,
}  # fmt: skip
FIXED: dict[str, dict[str, Any]] = {
    "table2": UNTRAINED,
    "table3": {},
    "figure5": {**UNTRAINED, "data": [], "false_positive": None, "k_core": 0},
}
for result_name, title in TITLES.items():
    paper.command(result_name, help=title)(_command(result_name, FIXED.get(result_name, {"sweep": False})))


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
    from research.paper.ml100k import METRICS, add_cells, reproduce

    with task_progress() as progress:
        cells = reproduce(data, out, seeds, names(models), progress, epochs)
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
