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
    # What is pinned on another machine than most says on which: its bits are those of that one.
    elsewhere = {} if pinned["fingerprint"] == here else {"fingerprint": here}
    traces = {
        case.name: {**run(case), **elsewhere} if words in case.name else pinned["traces"][case.name] for case in CASES
    }
    rows = [f"{json.dumps(name)}: {json.dumps(trace)}" for name, trace in traces.items()]  # a line each: a diff tells
    head = f'{{"fingerprint": {json.dumps(pinned["fingerprint"])},\n"traces": {{\n'
    TRACES.write_text(head + ",\n".join(rows) + "\n}}\n")


if __name__ == "__main__":
    pin(" ".join(sys.argv[1:]))
