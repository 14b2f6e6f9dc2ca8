"""`python -m trust.faults [COMMAND ...]`: each write, fsync and rename of each command fails once.

The points are counted in an undisturbed run; then the command is run once for each, which fails there by ENOSPC or EIO
in turn, and once more as a user would. It has to end with one line and code 2, and then with the same files to the bit.
What SQLite writes for `tune` is not among the points: it is left to SQLite.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from recsieve import files
from recsieve.files import write_text
from trust.commands import COMMANDS, Place, marks, reproducible

RESULT = Path(__file__).parent / "results" / "faults.json"


@dataclass
class Fault:
    """Counts what is written, and fails, or is killed, at one of the points."""

    at: int | None = None  # None: only counts
    code: int = errno.ENOSPC
    kill: bool = False
    seen: list[str] = field(default_factory=list)  # the kind of each point

    @contextmanager
    def everywhere(self) -> Iterator[None]:
        """Take the place of all functions that write."""
        with (
            patch.object(files, "_write_through", self._failing(files._write_through, "write", before=_cut_short)),
            patch.object(os, "fsync", self._failing(os.fsync, "fsync")),
            patch.object(os, "replace", self._failing(os.replace, "rename")),
            patch.object(Path, "write_text", self._failing(Path.write_text, "text")),
        ):
            yield

    def _failing(self, usual: Callable[..., Any], kind: str, before: Callable[[Any], None] | None = None) -> Any:
        def failing(*given: Any, **named: Any) -> Any:
            self.seen.append(kind)
            if len(self.seen) == self.at:
                if before is not None:
                    before(given[0])
                if self.kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(self.code, os.strerror(self.code))
            return usual(*given, **named)

        return failing


def _cut_short(path: Path) -> None:
    """Leave half of what was written, as a full disk does."""
    os.truncate(path, path.stat().st_size // 2)


def enumerate_faults(place: Place, command: str, *, every: int = 1) -> dict[str, Any]:
    """Fail at each point of a command, or at every n-th."""
    expected, points = reproducible(place, command), _points(place, command)
    faults = [Fault(at, (errno.ENOSPC, errno.EIO)[at % 2]) for at in range(1, len(points) + 1, every)]
    defects = [text for fault in faults if (text := _attempt(place, command, fault, expected))]
    kinds = {kind: points.count(kind) for kind in dict.fromkeys(points)}
    return {"points": kinds, "failed": len(faults), "compared_files": len(expected), "defects": defects}


def kill_at_writes(place: Place, command: str, kills: int, expected: dict[str, str]) -> dict[str, Any]:
    """Kill a command at some of its points, spread over all; where they are is counted in a process of its own."""
    points = _count_points(place, command)
    faults = [Fault(1 + number * points // kills, kill=True) for number in range(kills)]
    defects = [text for fault in faults if (text := _attempt(place, command, fault, expected))]
    return {"killed": len(faults), "of_points": points, "compared_files": len(expected), "defects": defects}


def _points(place: Place, command: str) -> list[str]:
    counting = Fault()
    ended = place.run(command, place.folder / f"{command}-counted" / "out", counting.everywhere())
    assert ended.code == 0, ended.said
    return counting.seen


def _count_points(place: Place, command: str) -> int:
    """How many points there are, told by a child through a file."""
    counting, told = Fault(), place.folder / f"{command}-points.txt"

    @contextmanager
    def counted() -> Iterator[None]:
        with counting.everywhere():
            yield
        told.write_text(str(len(counting.seen)), encoding="utf-8")

    ended = place.run(command, place.folder / f"{command}-counted" / "out", counted())
    assert ended.code == 0, ended.said
    return int(told.read_text(encoding="utf-8"))


def _attempt(place: Place, command: str, fault: Fault, expected: dict[str, str]) -> str:
    """What is wrong after a fault, or nothing."""
    out = place.folder / f"{command}-failed" / "out"
    shutil.rmtree(out.parent, ignore_errors=True)
    ended = place.run(command, out, fault.everywhere())
    where = f"point {fault.at} of {command}"
    if fault.kill and ended.code != -signal.SIGKILL:
        return f"{where}: killed, but it ended with {ended.code}"
    if not fault.kill and (ended.code != 2 or ended.said.strip().splitlines()[-1][:7] != "error: "):
        return f"{where}: ended with {ended.code}: {ended.said[-1500:]}"
    if left := [path.name for path in out.rglob("*.part")] if not fault.kill else []:
        return f"{where}: {left} are left"
    return went_on(place, command, out, expected, where)


def went_on(place: Place, command: str, out: Path, expected: dict[str, str], where: str) -> str:
    """What is wrong with the same command after a fault or a kill, or nothing."""
    again = place.run(command, out)
    if again.code:
        return f"{where}: the next run ended with {again.code}: {again.said[-1500:]}"
    found = marks(out)
    changed = [name for name, mark in expected.items() if found.get(name) != mark]
    return f"{where}: {', '.join(changed)} differ" if changed else ""


def main(words: list[str]) -> None:
    defects = []
    for command in words or COMMANDS:
        with TemporaryDirectory() as folder:
            place = Place(Path(folder))
            place.prepare()
            found = enumerate_faults(place, command)
        defects += found["defects"]
        known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"commands": {}}
        known["commands"][command] = {"command": f"python -m trust.faults {command}", **found}
        in_order = {name: known["commands"][name] for name in COMMANDS if name in known["commands"]}
        write_text(RESULT, json.dumps({"commands": in_order}, indent=1) + "\n")
    sys.exit(bool(defects))


if __name__ == "__main__":
    main(sys.argv[1:])
