"""How time and memory grow: one epoch of GMF from a folder of Parquet parts, at 1 to 100 million interactions.

python -m benchmarks.growth [MILLIONS ...] [--users 10000] [--threads 2] [--result FILE] [--data FOLDER] [--note TEXT]

The log is made beforehand by a process of its own and removed afterwards; `--keep` leaves it, and a log that is there
is used. What is measured happens in one process, stage by stage, as `recsieve train` does it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import describe_machine
from benchmarks.run import THREAD_VARIABLES

ROOT = Path(__file__).parents[1]
MILLIONS = (1.0, 10.0, 30.0, 100.0)
MILLION = 1_000_000


def main(arguments: list[str] | None = None) -> None:
    options = _parse(arguments)
    for millions in options.millions:
        log = options.data / f"{millions:g}M"
        interactions = round(millions * MILLION)
        if not log.exists():
            print(f"{millions:g}M: making the log", file=sys.stderr)
            run_module("benchmarks.large_log", str(log), "--interactions", str(interactions), threads=options.threads)
        machine = describe_machine(options.threads)
        print(f"{millions:g}M: measuring", file=sys.stderr)
        out = run_module(
            "benchmarks.growth_stages", str(log), "--users", str(options.users), "--threads", str(options.threads),
            threads=options.threads,
        )  # fmt: skip
        command = f"python -m benchmarks.growth {millions:g} --users {options.users} --threads {options.threads}"
        about = {"millions": millions, "command": command, "note": options.note}
        size = {**about, **json.loads(out.splitlines()[-1]), "machine": machine}
        write_size(options.result, size)
        print(json.dumps(size["stages"], indent=1))
        if not options.keep:
            shutil.rmtree(log)


def write_size(result: Path, size: dict[str, Any]) -> None:
    """Put a size in the place of its like; sizes that were not measured again stay as they are."""
    known = json.loads(result.read_text(encoding="utf-8"))["sizes"] if result.exists() else []
    sizes = sorted([*(each for each in known if each["millions"] != size["millions"]), size], key=_millions)
    result.parent.mkdir(parents=True, exist_ok=True)
    partial = result.with_name(f".{result.name}")
    partial.write_text(json.dumps({"sizes": sizes}, indent=1) + "\n", encoding="utf-8")
    partial.rename(result)


def _millions(size: dict[str, Any]) -> float:
    return float(size["millions"])


def run_module(module: str, *arguments: str, threads: int) -> str:
    """Run a module in a process of its own; gives what it prints."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    line = [sys.executable, "-m", module, *arguments]
    return subprocess.run(line, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.splitlines()[0])
    parser.add_argument("millions", nargs="*", type=float, default=list(MILLIONS), metavar="MILLIONS")
    parser.add_argument("--users", type=int, default=10_000, help="ranked for at the validation, and at the test")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--result", type=Path, default=ROOT / "benchmarks" / "results" / "growth.json")
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "growth", help="where the logs are made")
    parser.add_argument("--note", default="", help="what else is to be known of the machine, e.g. that it was quiet")
    parser.add_argument("--keep", action="store_true", help="do not remove the logs afterwards")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
