"""recsieve leaderboard"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import names


def leaderboard(
    board: Annotated[Path, typer.Argument(help="A leaderboard in a .toml file, such as findings/leaderboard.toml.")],
    out: Annotated[Path, typer.Option(help="Folder for trials, runs and pages.")] = Path("runs/leaderboard"),
    results: Annotated[Path | None, typer.Option(help="Folder for a .json file of each cell. [results in OUT]")] = None,
    strategies: Annotated[
        str | None, typer.Option(help="Strategies by name, with commas, beside those of the file, as one of yours.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Data sets of the file by name, with commas. [all]")] = None,
    models: Annotated[str | None, typer.Option(help="Models of the file by name, with commas. [all]")] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel processes. [the cores]")] = None,
) -> None:
    """Put strategies on a leaderboard: equal tuning, several seeds, controls and strong plain models in every cell.

    What is finished is not repeated: after Ctrl-C the same command goes on, and with another strategy only that is run.
    """
    from recsieve.cli.task_progress import task_progress
    from recsieve.experiments.leaderboard import cells, read_board, run_cell
    from recsieve.reporting.comparison import write_comparison_page

    found = read_board(board)
    wanted = list(dict.fromkeys([*found.strategies, *names(strategies or "")]))
    command, split, loaded = shlex.join(["recsieve", *sys.argv[1:]]), None, ""
    for cell in cells(found, names(data or ""), names(models or "")):
        if cell.data != loaded:
            split, loaded = found.data[cell.data].load(), cell.data
        assert split is not None
        with task_progress() as progress:
            result = run_cell(
                found, cell, split, out, results or out / "results", strategies=wanted, command=command,
                workers=workers, progress=progress, write_page=write_comparison_page,
            )  # fmt: skip
        typer.echo(f"{cell.name}: {result['answer']}")
