"""recsieve leaderboard"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import names


def leaderboard(
    board: Annotated[Path, typer.Argument(help="A leaderboard in a .toml file, such as findings/leaderboard.toml.")],
    out: Annotated[Path, typer.Option(help="Folder for the trials, the runs and the pages.")] = Path(
        "runs/leaderboard"
    ),
    results: Annotated[
        Path | None, typer.Option(help="Folder for the result files, one per cell. [OUT/results]")
    ] = None,
    strategies: Annotated[
        str | None, typer.Option(help="More strategies than those of the file, separated by commas.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Data sets of the file, separated by commas. [all]")] = None,
    models: Annotated[str | None, typer.Option(help="Models of the file, separated by commas. [all]")] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel processes. [number of cores]")] = None,
) -> None:
    """Compare strategies on several models and data sets, with equal tuning for all.

    Writes OUT/leaderboard.html, a page with filters and charts of all result files. Finished cells are not repeated.
    After Ctrl-C, the same command continues.
    """
    from recsieve.cli.task_progress import task_progress
    from recsieve.experiments.leaderboard import cells, read_board, run_cell
    from recsieve.reporting.comparison import write_comparison_page
    from recsieve.reporting.leaderboard import read_cells, write_leaderboard_page

    found = read_board(board)
    wanted = list(dict.fromkeys([*found.strategies, *names(strategies or "")]))
    results = results or out / "results"
    command, split, loaded = shlex.join(["recsieve", *sys.argv[1:]]), None, ""
    for cell in cells(found, names(data or ""), names(models or "")):
        if cell.data != loaded:
            split, loaded = found.data[cell.data].load(), cell.data
        assert split is not None
        with task_progress() as progress:
            result = run_cell(
                found, cell, split, out, results, strategies=wanted, command=command,
                workers=workers, progress=progress, write_page=write_comparison_page,
            )  # fmt: skip
        page = write_leaderboard_page(read_cells(results), out / "leaderboard.html")
        typer.echo(f"{cell.name}: {result['answer']}")
    typer.echo(f"The leaderboard is on the page {page}.")
