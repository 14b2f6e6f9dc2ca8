"""The traces of cases on two ranks, started by `on_two_ranks`, each as it comes out and, where it can be, resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from recsieve.group import join
from tests.golden.cases import TWO_RANKS
from tests.golden.run import Trace, run

ROOT = Path(__file__).parents[2]


def on_two_ranks(folder: Path) -> dict[str, dict[str, Trace]]:
    """Run all cases of two ranks in two processes; gives the traces of runs never stopped, and of resumed ones."""
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "tests.golden.ranks"]
    done = subprocess.run(
        [sys.executable, "-m", *torchrun, folder],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "traces.json").read_text())


def main(folder: Path) -> None:
    with join() as group:
        plain = {case.name: run(case, group) for case in TWO_RANKS}
        resumed = {case.name: run(case, group, folder / case.name) for case in TWO_RANKS if case.resumed}
        if group.is_first:
            (folder / "traces.json").write_text(json.dumps({"plain": plain, "resumed": resumed}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
