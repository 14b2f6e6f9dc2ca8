"""`python -m trust.fuzz [INPUTS] [FILE]`: give strange inputs to everything that reads, and count what comes of it.

An input may be taken or refused by one of our errors. Anything else is a defect: it is kept with the seed that makes it
again. An input that takes over a minute ends the process, and so is one that crashes it: there is then no result.
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
            defects.append({"seed": f"{name} {seed} {number}", "error": traceback.format_exc(limit=-4)})
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
    started = time.perf_counter()
    found = fuzz(total)
    write_text(path, json.dumps(_record(total, found, started), indent=1) + "\n")
    sys.exit(any(target["defects"] for target in found.values()))


def _record(total: int, found: Mapping[str, Any], started: float) -> dict[str, Any]:
    return {
        "command": f"python -m trust.fuzz {total}",
        "seconds": round(time.perf_counter() - started),
        "versions": versions(),
        "inputs": sum(target["inputs"] for target in found.values()),
        "defects": sum(len(target["defects"]) for target in found.values()),
        "targets": found,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
