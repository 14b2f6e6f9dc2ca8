"""recsieve demo"""

from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import Seed


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the data, the runs and the page.")] = Path("runs/demo"),
    seed: Seed = 0,
) -> None:
    """Compare the paper's losses, a plain model and `auto` on simulated data, in about a minute."""
    from recsieve.cli.task_progress import task_progress
    from recsieve.experiments.demo import run_demo
    from recsieve.reporting.demo import NOISE, best_of, choice_of, comparison_rows, write_demo_page
    from recsieve.reporting.tables import rows_table, say, show

    with task_progress() as progress:
        folders = run_demo(out, seed, progress)
    header, rows = comparison_rows(folders)
    show(rows_table(header, rows, title="a simulated shop, clean test"))
    say(best_of(rows), NOISE, *choice_of(folders["auto"]), bullet=True)
    page = write_demo_page(out / "report.html", folders)
    say("These are single runs on simulated data, not evidence. Use `recsieve compare` on your own data.")
    typer.echo(f"page: {page}\nnext: recsieve describe YOUR-LOG")
