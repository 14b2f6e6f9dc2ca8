"""Kill one rank of a training again and again at random moments, and hold the result against an undisturbed one.

python -m benchmarks.killed_ranks FILE [--kills 10] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file

from benchmarks.ranks import make_log
from recsieve.storage.run_folder import RunFolder

RANKS = 2
OPTIONS = (
    "--model gmf --epochs 60 --patience 60 --batch-size 64 --checkpoint-every 20 --factors 8 --denoiser truncated "
    "--json"
)


def start(log: Path, out: Path, max_restarts: int) -> subprocess.Popen[str]:
    """Train on two ranks."""
    line = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS)]
    line += ["--max-restarts", str(max_restarts), "-m", "recsieve", "train", str(log), "--out", str(out)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return subprocess.Popen([*line, *OPTIONS.split()], env=environment, stdout=subprocess.DEVNULL, text=True)


def ranks_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that torchrun has started; fewer while it is starting them."""
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def kill_at_random(
    process: subprocess.Popen[str], out: Path, kills: int, longest: float, draw: random.Random
) -> list[Any]:
    """Kill one rank after each start, until that has been done so often or the training has ended."""
    moments: list[Any] = []
    known: set[int] = set()
    while process.poll() is None and len(moments) < kills:
        ranks = ranks_of(process)
        if len(ranks) < RANKS or set(ranks) & known:
            time.sleep(0.05)
            continue
        wait, rank = draw.uniform(0, longest), draw.randrange(RANKS)
        time.sleep(wait)
        known |= set(ranks)
        run = RunFolder(out)
        if run.finished:
            break
        with suppress(ProcessLookupError):  # torchrun may be starting the group again
            os.kill(ranks[rank], signal.SIGKILL)
            state = "training" if run.checkpoint.exists() else "reading or first steps"
            moments.append({"rank": rank, "seconds after start": round(wait, 1), "during": state})
    return moments


def same(one: Path, other: Path) -> dict[str, bool]:
    """Whether two run folders have the same metrics and the same weights, to the bit."""
    first, second = (json.loads((folder / "metrics.json").read_text()) for folder in (one, other))
    weights = [load_file(folder / "model.safetensors") for folder in (one, other)]
    return {
        "metrics": first["test"] == second["test"] and first["selected"] == second["selected"],
        "weights": all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw, moments, runs = random.Random(options.seed), [], []
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        make_log()[0].to_frame().drop("weight").write_parquet(log)
        started = time.monotonic()
        assert start(log, Path(folder) / "undisturbed", 0).wait() == 0
        longest = time.monotonic() - started
        while len(moments) < options.kills:
            out = Path(folder) / f"killed-{len(runs)}"
            process = start(log, out, options.kills)
            moments += kill_at_random(process, out, options.kills - len(moments), longest, draw)
            assert process.wait() == 0
            runs.append(same(Path(folder) / "undisturbed", out))
    result = {"ranks": RANKS, "options": OPTIONS, "kills": moments, "same as undisturbed, to the bit": runs}
    options.file.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
