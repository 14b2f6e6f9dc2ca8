"""What installing costs: seconds and megabytes of pip in an empty environment, and how long the first lines take.

python -m benchmarks.install sizes build/install benchmarks/results/install.json   # builds the wheel; needs a network
python -m benchmarks.install times build/install benchmarks/results/install.json   # on a quiet machine
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recsieve.experiments.machine import machine
from recsieve.files import write_text

ROOT = Path(__file__).parents[1]
EXTRAS = ("pandas", "duckdb", "serve", "tensorboard", "mlflow", "ann")
FIRST_LINES = {
    "python -c pass": ("python", "-c", "pass"),
    "recsieve --help": ("recsieve", "--help"),
    "import recsieve": ("python", "-c", "import recsieve"),
    "from recsieve.losses import TruncatedBCE": ("python", "-c", "from recsieve.losses import TruncatedBCE"),
    "import torch": ("python", "-c", "import torch"),
}
REPEATS = 7
# Nothing but what is installed, and compiled when it is first imported, as on anybody's machine.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
}


def measure_sizes(folder: Path) -> dict[str, Any]:
    """Install PyTorch, then the wheel, then each extra, and say what each added."""
    wheel = build_wheel(folder / "dist")
    venv.create(folder / "env", with_pip=True, clear=True)
    torch = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
    rows = [_install(folder, "PyTorch for CPUs, first", torch), _install(folder, "recsieve", str(wheel))]
    rows += [_install(folder, f"recsieve[{extra}]", f"{wheel}[{extra}]") for extra in EXTRAS]
    wheel_kilobytes = round(wheel.stat().st_size / 1e3)
    return {"rows": rows, "wheel_kilobytes": wheel_kilobytes, "python": sys.version.split()[0], "machine": machine()}


def build_wheel(folder: Path) -> Path:
    """The wheel, as it is released."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True, env=ENVIRONMENT)
    return next(folder.glob("*.whl"))


def _install(folder: Path, what: str, requirement: str) -> dict[str, Any]:
    before, started = _megabytes(folder), time.perf_counter()
    pip = [folder / "env" / "bin" / "pip", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", requirement], check=True, env=ENVIRONMENT)
    seconds = time.perf_counter() - started
    return {"what": what, "seconds": round(seconds, 1), "megabytes": round(_megabytes(folder) - before, 1)}


def _megabytes(folder: Path) -> float:
    packages = next((folder / "env" / "lib").glob("python*/site-packages"))
    return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc") / 1e6


def measure_times(folder: Path) -> dict[str, float]:
    """The best of several starts of each, after one that compiles and warms the cache of the disk."""
    programs = folder / "env" / "bin"
    return {what: _best([str(programs / words[0]), *words[1:]]) for what, words in FIRST_LINES.items()}


def _best(command: list[str]) -> float:
    times = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
        times.append(time.perf_counter() - started)
    return round(min(times[1:]), 3)


def tables(result: Mapping[str, Any]) -> str:
    """Both as tables for docs/install.md."""
    sizes = [f"| {row['what']} | {row['seconds']:g} s | {row['megabytes']:,g} MB |" for row in result["rows"]]
    times = [f"| `{what}` | {seconds:g} s |" for what, seconds in result["times"].items()]
    return "\n".join(
        ["| | time | added to site-packages |", "|---|---|---|", *sizes, "", "| | time |", "|---|---|", *times]
    )


def main(part: str, folder: str, path: str) -> None:
    known = json.loads(Path(path).read_text(encoding="utf-8")) if Path(path).exists() else {}
    measured = measure_sizes(Path(folder)) if part == "sizes" else {"times": measure_times(Path(folder))}
    write_text(Path(path), json.dumps({**known, **measured}, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
