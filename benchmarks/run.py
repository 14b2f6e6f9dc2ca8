"""Run the benchmarks, one process after another, and write benchmarks/results/*.json and a table.

python -m benchmarks.run [SHAPE ...] [--only NAME ...] [--threads 2] [--results FOLDER] [--cache FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.catalogue import COMPARISONS, SHAPES, SIDES
from benchmarks.report import describe_machine, row_of, table_of, write_json

ROOT = Path(__file__).parents[1]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
WIDE = 200  # characters, where no terminal says how many there are

Answer = dict[str, Any]  # of a process that measures: what it found, or `skipped` or `failed` with the reason
Measure = Callable[..., Answer]  # of a shape, a comparison and a side


def measure_in_child(shape: str, comparison: str, side: str, *, cache: Path, threads: int) -> Answer:
    """Make one measurement in a new process; a process that fails says so in the result."""
    line = [sys.executable, "-m", "benchmarks.child", shape, comparison, side]
    line += ["--cache", str(cache), "--threads", str(threads)]
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    child = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True)
    if child.returncode == 0:
        return json.loads(child.stdout.splitlines()[-1])
    sys.stderr.write(child.stderr)
    last = (child.stderr.strip().splitlines() or ["no message"])[-1]
    ended = f"ended by signal {-child.returncode}: " if child.returncode < 0 else ""
    return {"failed": ended + last}


def compare(shape: str, names: list[str], measure: Measure, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """Both sides of each comparison, after they have been found to agree."""
    rows = []
    for name in names:
        sides: dict[str, Answer] = {}
        for side in SIDES:
            report(f"{shape}, {COMPARISONS[name].title}: {side}")
            sides[side] = measure(shape, name, side)
            if "failed" in sides[side] or "skipped" in sides[side]:
                break
        rows.append(row_of(shape, name, sides))
    return rows


def main(arguments: list[str] | None = None, measure: Measure = measure_in_child) -> int:
    options = _parse(arguments)
    console = Console(stderr=True)
    machine = describe_machine(options.threads)
    tables, failed = [], False
    with _progress(console) as progress:
        task = progress.add_task("", total=sum(1 + len(SIDES) * len(_names(s, options.only)) for s in options.shapes))

        def report(what: str) -> None:
            progress.update(task, description=what, advance=1)
            if not console.is_terminal:
                console.print(what, soft_wrap=True)

        def run(shape: str, comparison: str, side: str) -> Answer:
            return measure(shape, comparison, side, cache=options.cache, threads=options.threads)

        for shape in options.shapes:
            report(f"{shape}: preparing the data")
            size = run(shape, "prepare", "agree")
            if problem := size.get("skipped") or size.get("failed"):
                console.print(f"{shape}: {problem}", soft_wrap=True)
                failed |= "failed" in size
                continue
            rows = compare(shape, _names(shape, options.only), run, report)
            write_json(options.results, shape, size, machine, rows)
            tables.append(table_of(shape, size, rows))
            failed |= any(row.get("failed") for row in rows)
    _show(tables, options.results)
    return int(failed)


def _names(shape: str, only: list[str] | None) -> list[str]:
    return [name for name in SHAPES[shape].comparisons if only is None or name in only]


def _progress(console: Console) -> Progress:
    columns = (
        SpinnerColumn(),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=console, transient=True)


def _show(tables: list, results: Path) -> None:
    """Print the tables, and keep them beside the JSON."""
    results.mkdir(parents=True, exist_ok=True)
    with (results / "tables.txt").open("w", encoding="utf-8") as file:
        for console in (Console(width=None if sys.stdout.isatty() else WIDE), Console(file=file, width=WIDE)):
            for table in tables:
                console.print(table)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    usual = [name for name in SHAPES if name != "small"]
    parser.add_argument("shapes", nargs="*", default=usual, metavar="SHAPE", help=f"{', '.join(SHAPES)}; all but small")
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, metavar="NAME", help=", ".join(COMPARISONS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "bench", help="where the data is kept")
    options = parser.parse_args(arguments)
    if unknown := set(options.shapes) - set(SHAPES):
        parser.error(f"there is no shape {', '.join(sorted(unknown))}: give some of {', '.join(SHAPES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
