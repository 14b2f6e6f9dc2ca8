"""Is a version as fast as another? The same measurements in both trees, in turn, in processes of their own.

python -m benchmarks.two_versions OLD_TREE benchmarks/results/two-versions.json yelp gmf-epoch neumf-epoch …

OLD_TREE is a checkout of the other version. The data is made once and shared. Each is measured three times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import describe_machine
from benchmarks.run import THREAD_VARIABLES

ROOT, TIMES, THREADS = Path(__file__).parents[1], 3, 2


def measured(tree: Path, shape: str, comparison: str, cache: Path) -> float:
    """The seconds of our side in one tree, with its own sources."""
    paths = os.pathsep.join([str(tree / "src"), str(tree)])
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(THREADS)) | {"PYTHONPATH": paths}
    line = [sys.executable, "-m", "benchmarks.child", shape, comparison, "ours", "--cache", str(cache)]
    child = subprocess.run(line, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(child.stdout.splitlines()[-1])["seconds"])


def main(old: Path, out: Path, shape: str, comparisons: list[str]) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=old, stdout=subprocess.PIPE, text=True)
    words = f"python -m benchmarks.two_versions OLD_TREE {out} {shape} {' '.join(comparisons)}"
    result: dict[str, Any] = {"command": words, "old": commit.stdout.strip(), "machine": describe_machine(THREADS)}
    result["rows"] = []
    cache = ROOT / "build" / "two-versions"
    for comparison in comparisons:
        pairs = [[measured(tree, shape, comparison, cache) for tree in (old, ROOT)] for _ in range(TIMES)]
        before, now = ([float(f"{pair[side]:.4g}") for pair in pairs] for side in (0, 1))
        ratio = round(median(before) / median(now), 3)
        result["rows"].append({"shape": shape, "what": comparison, "old": before, "new": now, "times_as_fast": ratio})
        print(json.dumps(result["rows"][-1]), flush=True)
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
