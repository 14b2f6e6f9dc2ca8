"""Commands on a log of 200 rows: in this process, which is quick, or in a child of one that has imported everything but
computed nothing, so that no threads are lost by forking: a child can be killed at any moment."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

TRAINED = ("--epochs", "2", "--batch-size", "128")
COMMANDS: dict[str, tuple[str, ...]] = {
    "train": ("train", "{log}", "--model", "gmf", *TRAINED, "--checkpoint-every", "2", "--resume", "--out", "{out}"),
    "auto": ("train", "{log}", "--candidates", "ease,gmf", "--trials", "2", *TRAINED, "--resume", "--out", "{out}"),
    "audit": ("audit", "{log}", "--csv", "--out", "{out}"),
    "compare": ("compare", "{log}", "--seeds", "2", "--strategies", "keep-all", "--plain-models", "ease", "--workers",
                "1", *TRAINED, "--metric", "ndcg@5", "--out", "{out}"),
    "tune": ("tune", "{log}", "--strategies", "keep-all", "--trials", "2", "--workers", "1", *TRAINED,
             "--out", "{out}"),
    "refresh": ("refresh", "{run}", "--data", "{new}", "--out", "{out}"),
    "recommend": ("recommend", "{run}", "--k", "3", "--out", "{out}"),
}  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """How a child ended, and what it said on standard error."""

    code: int  # negative: the signal
    said: str


@dataclass(frozen=True)
class Place:
    """A folder with a log, a finished run and, to refresh it, a log of the next day."""

    folder: Path
    in_child: bool = False

    def prepare(self) -> None:
        rng = Random(0)
        self._write_log("log.csv", rng, rows=200, users=25)
        self._write_log("new.csv", rng, rows=30, users=28)
        self.must("train", self.folder / "run")

    def _write_log(self, name: str, rng: Random, rows: int, users: int) -> None:
        ratings: dict[tuple[int, int], int] = {}
        while len(ratings) < rows:
            ratings[rng.randrange(users), rng.randrange(20)] = rng.randrange(1, 6)
        lines = [f"u{user},i{item},{rating}" for (user, item), rating in sorted(ratings.items())]
        (self.folder / name).write_text("\n".join(["user,item,rating", *lines]) + "\n", encoding="utf-8")

    def words(self, command: str, out: Path) -> list[str]:
        known = {"log": "log.csv", "new": "new.csv", "run": "run"}
        known = {name: str(self.folder / file) for name, file in known.items()} | {"out": str(out)}
        rule = [] if command == "recommend" else ["--false-positive", "rating < 2"]
        return [word.format(**known) for word in COMMANDS[command]] + rule

    def run(
        self, command: str, out: Path, within: AbstractContextManager[object] | None = None, kill_after: float = 300
    ) -> Ended:
        """Run a command while something else holds; in a child, which is killed after some seconds."""
        if not self.in_child:
            return _call(self.words(command, out), within or nullcontext())
        said = self.folder / "said.txt"
        child = os.fork()
        if not child:
            _become(self.words(command, out), said, within or nullcontext())
        end = time.monotonic() + kill_after
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.002)
        return Ended(os.waitstatus_to_exitcode(ended[1]), said.read_text(encoding="utf-8", errors="replace"))

    def must(self, command: str, out: Path) -> None:
        ended = self.run(command, out)
        if ended.code:
            raise AssertionError(f"{command} ended with {ended.code}: {ended.said}")


def _call(words: list[str], within: AbstractContextManager[object]) -> Ended:
    """Be the command for a while, in this process."""
    from recsieve.cli import main

    said, code = io.StringIO(), 0
    with (
        patch("recsieve.experiments.pool._in_processes", _tasks_here), patch.object(sys, "argv", ["recsieve", *words]),
        redirect_stderr(said), redirect_stdout(io.StringIO()), within,
    ):  # fmt: skip
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        except Exception:
            code = 1
            traceback.print_exc()
    return Ended(code, said.getvalue())


def _become(words: list[str], said: Path, within: AbstractContextManager[object]) -> None:
    """Be the command, in a child that never comes back."""
    code = 1
    try:
        ended = _call(words, within)
        said.write_text(ended.said, encoding="utf-8")
        code = ended.code
    finally:
        os._exit(code)


def _tasks_here(tasks: Iterable[Any], workers: int, progress: Any) -> None:
    """Trainings of compare and tune in this process, which then fails or is killed as a whole."""
    from recsieve.experiments.pool import Reporter

    for task, begun in tasks:
        task.run(Reporter(begun, progress))


def warm_up() -> None:
    """Import what the commands import, and compute nothing."""
    os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    import recsieve.audit
    import recsieve.cli
    import recsieve.experiments.run
    import recsieve.reporting.audit
    import recsieve.reporting.run
    import recsieve.serving.list_folder
    import recsieve.studies  # noqa: F401


def marks(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a folder, hidden ones and manifests left out, which have hashes of times in them."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): _mark(path) for path in files if path.name != "manifest.json"}


def _mark(path: Path) -> str:
    content = path.read_bytes()
    if path.name == "metrics.json":
        content = json.dumps(_without_seconds(json.loads(content))).encode()
    if path.suffix == ".safetensors":  # the library writes the entries of a header in any order
        end = 8 + int.from_bytes(content[:8], "little")
        content = json.dumps(json.loads(content[8:end]), sort_keys=True).encode() + content[end:]
    return hashlib.sha256(content).hexdigest()


def _without_seconds(value: Any) -> Any:
    """What was measured without how long it took: that one run took longer is no damage."""
    if isinstance(value, dict):
        return {name: _without_seconds(entry) for name, entry in value.items() if not name.endswith("seconds")}
    return [_without_seconds(entry) for entry in value] if isinstance(value, list) else value


def reproducible(place: Place, command: str) -> dict[str, str]:
    """The files that are the same to the bit in two undisturbed runs: what has times in it is not."""
    found = []
    for name in ("first", "second"):
        out = place.folder / f"{command}-{name}" / "out"
        place.must(command, out)
        found.append(marks(out))
    return {name: mark for name, mark in found[0].items() if found[1].get(name) == mark}
