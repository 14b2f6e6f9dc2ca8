"""`python -m trust.fuzz [INPUTS] [FILE]`: give strange inputs to everything that reads, and count what comes of it.

An input may be taken or refused by one of our errors. Anything else is a defect: it is kept with the seed that makes it
again. An input that takes over a minute ends the process, and so does one that crashes it: its part does not count. The
same command goes on after the last part that was written.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from recsieve.errors import RecsieveError
from recsieve.experiments.machine import versions
from recsieve.files import write_text

RESULT = Path(__file__).parent / "results" / "fuzz.json"
# Parts of all inputs: what is read in microseconds gets more than what has to be written to a disk first.
SHARES = {
    "rules": 0.34, "configurations": 0.34, "HTTP requests": 0.12, "queries": 0.08, "readers": 0.05,
    "descriptions": 0.04, "run folders": 0.02, "checkpoints": 0.01,
}  # fmt: skip
LONGEST = 60  # seconds for one input
PART = 10_000  # inputs after which what was found is written, for the next to go on


def fuzz(total: int, *, seed: int = 0) -> dict[str, Any]:
    """Make the inputs of all targets."""
    from trust.fuzz_targets import targets

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder, targets(Path(folder)) as known:
        try:
            found = {name: _fuzz_one(known[name], name, max(1, round(total * SHARES[name])), seed) for name in SHARES}
        finally:
            faulthandler.cancel_dump_traceback_later()
            logging.disable(logging.NOTSET)
    return found


def _fuzz_one(attempt: Any, name: str, inputs: int, seed: int) -> dict[str, Any]:
    taken = refused = 0
    slowest, defects = 0.0, []
    for number in range(inputs):
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        started = time.perf_counter()
        try:
            attempt(Random(f"{name} {seed} {number}"))
            taken += 1
        except RecsieveError:
            refused += 1
        except BaseException as error:  # a panic of a library is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            said = traceback.format_exception_only(error)[0].strip().splitlines()[0]  # the rest may name paths
            defects.append({"seed": f"{name} {seed} {number}", "error": said})
        slowest = max(slowest, time.perf_counter() - started)
    return {
        "inputs": inputs,
        "taken": taken,
        "refused": refused,
        "slowest_seconds": round(slowest, 1),
        "defects": defects,
    }


def main(words: list[str]) -> None:
    total = int(words[0]) if words else 100_000
    path = Path(words[1]) if len(words) > 1 else RESULT
    result = _begun(path, total)
    while result["inputs"] < total:
        started = time.perf_counter()
        found = fuzz(min(PART, total - result["inputs"]), seed=result["parts"])
        result = _with(result, found, round(time.perf_counter() - started))
        write_text(path, json.dumps(result, indent=1) + "\n")
    sys.exit(result["defects"] > 0)


def _begun(path: Path, total: int) -> dict[str, Any]:
    """What there is of the same fuzzing, if it was stopped between two parts; else nothing."""
    new = {
        "command": f"python -m trust.fuzz {total}", "seconds": 0, "versions": versions(), "parts": 0, "inputs": 0,
        "defects": 0, "targets": {},
    }  # fmt: skip
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    same = all(known.get(name) == new[name] for name in ("command", "versions"))
    return known if same and known.get("inputs", total) < total else new


def _with(result: dict[str, Any], found: Mapping[str, Any], seconds: int) -> dict[str, Any]:
    """A result with another part in it."""
    targets = {name: _sum(result["targets"].get(name), one) for name, one in found.items()}
    return result | {
        "seconds": result["seconds"] + seconds,
        "parts": result["parts"] + 1,
        "inputs": sum(target["inputs"] for target in targets.values()),
        "defects": sum(len(target["defects"]) for target in targets.values()),
        "targets": targets,
    }


def _sum(before: dict[str, Any] | None, one: dict[str, Any]) -> dict[str, Any]:
    if before is None:
        return one
    slowest = max(before["slowest_seconds"], one["slowest_seconds"])
    return {name: before[name] + one[name] for name in one} | {"slowest_seconds": slowest}


if __name__ == "__main__":
    main(sys.argv[1:])
