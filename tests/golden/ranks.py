"""The traces of cases on the ranks that torchrun, or a test, has started: python -m tests.golden.ranks FOLDER"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from recsieve.communicator import join
from tests.golden.cases import ON_TWO_RANKS
from tests.golden.run import run


def main(folder: Path) -> None:
    """Write the traces; those with validation are of runs that were stopped and resumed."""
    with join() as group:
        traces = {c.name: run(c, group, folder / c.name if c.validation else None) for c in ON_TWO_RANKS}
        if group.is_first:
            (folder / "traces.json").write_text(json.dumps(traces))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
