"""Write the golden traces anew: all of them, or those whose names have some words in them.

python -m tests.golden.pin
python -m tests.golden.pin "split groups"
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden.cases import ONE_PROCESS
from tests.golden.ranks import on_two_ranks
from tests.golden.run import fingerprint, run

TRACES = Path(__file__).with_name("traces.json")


def pin(words: str) -> None:
    here = fingerprint()
    pinned = json.loads(TRACES.read_text()) if words else {"fingerprint": here, "traces": {}}
    if pinned["fingerprint"] != here:
        sys.exit(f"the traces are of {pinned['fingerprint']}, this is {here}: pin all of them, or none.")
    with TemporaryDirectory() as folder:
        found = {case.name: run(case) for case in ONE_PROCESS if words in case.name}
        found |= {name: trace for name, trace in on_two_ranks(Path(folder))["plain"].items() if words in name}
    traces = pinned["traces"] | found
    rows = [f"{json.dumps(name)}: {json.dumps(trace)}" for name, trace in traces.items()]  # a line each: a diff tells
    TRACES.write_text(f'{{"fingerprint": {json.dumps(here)},\n"traces": {{\n' + ",\n".join(rows) + "\n}}\n")


if __name__ == "__main__":
    pin(" ".join(sys.argv[1:]))
