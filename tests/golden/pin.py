"""Write the golden traces anew: all of them, or those whose names have some words in them.

python -m tests.golden.pin
python -m tests.golden.pin "split groups"
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.golden.cases import CASES
from tests.golden.run import fingerprint, run

TRACES = Path(__file__).with_name("traces.json")


def pin(words: str) -> None:
    here = fingerprint()
    pinned = json.loads(TRACES.read_text()) if words else {"fingerprint": here, "traces": {}}
    if pinned["fingerprint"] != here:
        sys.exit(f"the traces are of {pinned['fingerprint']}, this is {here}: pin all of them, or none.")
    traces = {case.name: run(case) if words in case.name else pinned["traces"][case.name] for case in CASES}
    rows = [f"{json.dumps(name)}: {json.dumps(trace)}" for name, trace in traces.items()]  # a line each: a diff tells
    TRACES.write_text(f'{{"fingerprint": {json.dumps(here)},\n"traces": {{\n' + ",\n".join(rows) + "\n}}\n")


if __name__ == "__main__":
    pin(" ".join(sys.argv[1:]))
