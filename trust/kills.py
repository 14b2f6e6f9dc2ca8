"""`python -m trust.kills [KILLS [COMMAND ...]]`: kill -9 at random moments and at writes, go on, compare to the bit.

Each kill starts again or goes on with what the one before has left; after some, the command is run to its end and its
files are held against those of undisturbed runs.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from recsieve.files import write_text
from trust.commands import Place, reproducible, warm_up
from trust.faults import kill_at_writes, went_on

RESULT = Path(__file__).parent / "results" / "kills.json"
AT_MOMENTS = ("train", "auto", "audit", "compare", "recommend")
AT_WRITES = {"train": 5, "auto": 5, "audit": 4, "compare": 4, "recommend": 2}
IN_A_ROW = 5  # kills before a command is let go on to its end


def kill_at_moments(place: Place, command: str, kills: int, rng: Random, expected: dict[str, str]) -> dict[str, Any]:
    """Kill a command again and again, at moments anywhere in the time that it takes."""
    started = perf_counter()
    place.must(command, place.folder / f"{command}-timed" / "out")
    usual = perf_counter() - started
    killed, defects, folders = 0, [], 0
    while killed < kills:
        folders += 1
        out = place.folder / f"{command}-killed-{folders}" / "out"
        for _ in range(min(IN_A_ROW, kills - killed)):
            ended = place.run(command, out, kill_after=rng.uniform(0, usual))
            if ended.code == 0:
                break  # it was quicker than the kill
            killed += 1
            if ended.code != -signal.SIGKILL:
                defects.append(f"{command} ended with {ended.code} after a kill: {ended.said[-1500:]}")
        defects += [text] if (text := went_on(place, command, out, expected, f"folder {folders} of {command}")) else []
    return {"killed": killed, "folders": folders, "compared_files": len(expected), "defects": defects}


def main(words: list[str]) -> None:
    kills = int(words[0]) if words else 20
    warm_up()
    defects: list[str] = []
    for command in words[1:] or AT_MOMENTS:
        with TemporaryDirectory() as folder:
            place = Place(Path(folder), in_child=True)
            place.prepare()
            expected = reproducible(place, command)
            found = {"at_moments": kill_at_moments(place, command, kills, Random(command), expected)}
            if kills >= 20:
                found["at_writes"] = kill_at_writes(place, command, AT_WRITES[command], expected)
        defects += [defect for one in found.values() for defect in one["defects"]]
        _write(command, kills, found)
    sys.exit(bool(defects))


def _write(command: str, kills: int, found: dict[str, Any]) -> None:
    """Put what was found for a command beside what is known of others, which may run in a process of their own."""
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    result: dict[str, Any] = {"command": f"python -m trust.kills {kills}"}
    for part in ("at_moments", "at_writes"):
        both = known.get(part, {}) | ({command: found[part]} if part in found else {})
        result[part] = {name: both[name] for name in AT_MOMENTS if name in both}
    write_text(RESULT, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
