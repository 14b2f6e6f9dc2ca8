"""What you can rely on, from the result files of `trust/`, as a page of Markdown.

python -m research.docs.trust trust/results docs/trust.md
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recsieve.files import write_text
from research.docs.markdown import read_results, table

Result = Mapping[str, Any]

EXPLAINED = Path(__file__).parents[2] / "trust" / "explained.toml"

HEAD = """# What you can rely on

This page is generated from the files in `trust/results/` by `python -m research.docs.trust trust/results
docs/trust.md`. Each figure has the command that measures it; `make fuzz` and `make soak` run them all.

## What is promised

- **No lost data.** A file is written under a temporary name, synced, and then renamed. After a full disk, a disk error
  or a kill at any moment, the old files are still there, and the same command (`train` with `--resume`) ends with the
  same files to the bit. Only one process at a time writes into a folder.
- **No code from untrusted files.** Nothing is unpickled or evaluated. A run folder, checkpoint, log, rule,
  configuration or request is either accepted or refused with a one-line error. Numbers that index memory are checked
  first.
- **No silent errors.** If a training diverges, recsieve says so and keeps the best earlier weights. A run ends with a
  manifest of file sizes and SHA-256 hashes; a run whose files have changed is refused. Metrics agree with ir-measures.
- **No surprises with memory.** If something would take more memory than `--memory` allows, or than is free, it is
  refused before it is read, as far as that can be estimated.
"""

TAIL = """## What is not promised

- Hashes detect damage, not manipulation: anybody who can write a run folder can also write its manifest. Its numbers
  may then be wrong, but nothing outside the folder is read, written or run.
- Memory is estimated from the size of logs and tables; it is not enforced. A plug-in model, or `--explain` for all
  users, may take more. If the system refuses the memory, that is a one-line error too, unless a library ends the
  process.
- If polars panics on a damaged Parquet file, it prints its own lines to standard error before our one-line error.
- Files written by SQLite (the trials of `tune`), TensorBoard and MLflow are not covered.
- `torchrun` opens ports and unpickles what it reads there: [how to protect it](cluster.md#open-ports).
- A disk that loses writes that it has confirmed, and memory with bit errors, are only noticed when a hash is compared.
"""


def trust_page(results: Mapping[str, Any]) -> str:
    """The whole page; what has no result is said to have none."""
    sections = {
        "Fuzzing": ("fuzz", _fuzz), "Failing writes": ("faults", _faults), "Kills": ("kills", _kills),
        "Metrics": ("metrics", _metrics), "Mutation tests": ("mutants", _mutants),
    }  # fmt: skip
    parts = [HEAD, "## How it is tested\n"]
    for heading, (name, write) in sections.items():
        text = write(results[name]) if name in results else "Not measured with this version yet."
        parts.append(f"### {heading}\n\n{text}\n")
    return "\n".join([*parts, TAIL])


def _fuzz(result: Result) -> str:
    rows = [
        [name, one["inputs"], one["taken"], one["refused"], f"{one['slowest_seconds']} s", len(one["defects"])]
        for name, one in result["targets"].items()
    ]
    return (
        f"{result['inputs']:,} inputs, made by mutating valid ones or combining pieces of them, by "
        f"`{result['command']}`. Each must be accepted, or refused with a recsieve error. Anything else is a defect, "
        "and so is taking longer than a minute. Most of the mutated run folders have a manifest that matches. `make "
        "test` runs 600 of them.\n\n" + table(["", "inputs", "accepted", "refused", "slowest", "defects"], rows)
    )


def _faults(result: Result) -> str:
    rows = [
        [f"`{name}`", sum(one["points"].values()), one["failed"], one["compared_files"], len(one["defects"]),
         f"`{one['command']}`"]
        for name, one in result["commands"].items()
    ]  # fmt: skip
    return (
        "Every write, fsync and rename of a command on a log of 200 rows is made to fail once, with ENOSPC and EIO in "
        "turn. The command must end with a one-line error and code 2, and leave nothing half-written. When it is run "
        "again, it must end with the same files to the bit as undisturbed runs (except for the times in the "
        "metrics).\n\n" + table(["", "points", "failed", "files compared", "defects", "command"], rows)
    )


def _kills(result: Result) -> str:
    rows = [
        [f"`{name}`", kind, one["killed"], one["compared_files"], len(one["defects"])]
        for kind, part in (("random moments", "at_moments"), ("writes", "at_writes"))
        for name, one in result[part].items()
    ]
    total = sum(row[2] for row in rows)
    return (
        f"{total} times `kill -9`, by `{result['command']}`, at random moments and in the middle of writes. Then the "
        "same command continues, and its files must equal those of undisturbed runs to the bit. The trainings of "
        "`compare` run in the process that is killed.\n\n"
        + table(["", "killed at", "kills", "files compared", "defects"], rows)
    )


def _metrics(result: Result) -> str:
    return (
        f"Recall, NDCG, precision, hit rate and MRR at 1, 3, 10 and 20 for {result['lists']:,} random lists, compared "
        f"with {result['oracle']}: the largest difference is {result['largest_difference']:.1e} "
        f"(`{result['command']}`)."
    )


def _mutants(result: Result) -> str:
    rows = [
        [f"`{name}`", one["mutants"], one["killed"], len(one["survivors"])] for name, one in result["files"].items()
    ]
    survivors = [_survivor(name, line) for name, one in result["files"].items() for line in one["survivors"]]
    return (
        f"mutmut can make {result['possible']} small changes to losses, denoisers and metrics. Of "
        f"{result['mutants']} that were tried, the tests detect {result['killed']} "
        f"({100 * result['killed'] / result['mutants']:.0f} %), by `{result['command']}`; each call "
        "continues where the last one stopped.\n\n"
        + table(["", "mutants", "detected", "survived"], rows)
        + ("\n\nSurvivors:\n\n" + "\n".join(survivors) if survivors else "")
    )  # fmt: skip


def _survivor(name: str, line: Result) -> str:
    why = _why_nobody_could_notice(line["line"] + line["became"])
    return f"- `{name}`, `{line['line']}`: `{line['was']}` → `{line['became']}`. {why}".rstrip()


def _why_nobody_could_notice(text: str) -> str:
    """The explanation of a mutant that means the same as what it was made of, or nothing."""
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["mutant"]
    return next((one["why"] for one in explained if any(words in text for words in one["texts"])), "")


if __name__ == "__main__":
    write_text(Path(sys.argv[2]), trust_page(read_results(Path(sys.argv[1]))))
