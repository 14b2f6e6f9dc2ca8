"""recsieve paper"""

import json
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.paper_results import add_results

paper = typer.Typer(help="Published results, reproduced: each by one command.", no_args_is_help=True)
add_results(paper)


@paper.command("ml-100k")
def ml100k(
    data: Annotated[Path, typer.Argument(help="Folder with ml100k.train.rating, .valid.rating and .test.negative.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs; finished ones are not repeated.")] = Path(
        "runs/ml-100k"
    ),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each cell.")] = 3,
    result: Annotated[Path | None, typer.Option(help="Also write the numbers to this JSON file.")] = None,
) -> None:
    """GMF, NeuMF and CDAE with CE, T-CE and R-CE on ml-100k, beside the numbers of a RecSys 2025 study."""
    from recsieve.cli.progress import training_progress
    from recsieve.experiments.ml100k import METRICS, reproduce
    from recsieve.files import write_text
    from recsieve.reporting.tables import number, rows_table, show

    cells = reproduce(data, out, seeds, training_progress)
    rows = [
        (
            cell["model"],
            cell["strategy"],
            *(f"{number(cell['ours'][m])} ({number(cell['published'][m])})" for m in METRICS),
        )
        for cell in cells
    ]
    show(rows_table(("model", "strategy", *METRICS), rows, title="ours (published)"))
    if result is not None:
        command = f"recsieve paper ml-100k {data} --seeds {seeds}"
        write_text(result, json.dumps({"command": command, "cells": cells}, indent=1) + "\n")
