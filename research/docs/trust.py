"""What you can rely on, from the result files of `trust/`, as a page of Markdown.

python -m research.docs.trust trust/results docs/trust.md
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recsieve.files import write_text

Result = Mapping[str, Any]

EXPLAINED = Path(__file__).parents[2] / "trust" / "explained.toml"

HEAD = """# What you can rely on

This page is made from the files in `trust/results/` by `python -m research.docs.trust trust/results
docs/trust.md`. Each figure stands next to the command that
makes it; `make fuzz` and `make soak` run them.

## What is promised

- **Nothing is lost.** A file is written aside, synced, and put in its place in one step. After a full disk, an error of
  the disk or a kill at any moment, what was there is there, and the same command (`train` with `--resume`) ends with
  the same files to the bit. One process at a time writes into a folder.
- **Nothing is let in.** Nothing is unpickled or evaluated. A run folder, a checkpoint, a log, a rule, a configuration
  or a request from a stranger is taken or refused in one line; what indexes memory is checked first.
- **Nothing is said that is not so.** A training that diverges says so and keeps the best weights before. A run ends
  with a manifest of sizes and SHA-256 of its files, and one that is not as it was written is refused. Metrics are
  those of ir-measures.
- **Limits are told beforehand.** What would take more memory than `--memory` allows, or than is free, is refused before
  it is read, as far as that can be estimated.
"""

TAIL = """## What is not promised

- Hashes find damage, not malice: whoever can write a run folder can write its manifest. Its numbers are then wrong, but
  nothing outside it is read, written or run.
- Memory is estimated from the size of logs and tables, not enforced: a model of a plug-in, or `--explain` for all,
  may take more. Where the system says no, that is one line too, unless a library ends the process itself.
- Where polars panics over a damaged Parquet file, it writes lines of its own to standard error before our one line.
- What SQLite (the trials of `tune`), TensorBoard and MLflow write is left to them.
- `torchrun` listens and unpickles by itself: [how to bind it](cluster.md#what-listens).
- A disk that says that it has written and has not, and memory that flips bits, are not found before a hash is compared.
"""


def read_results(folder: Path) -> dict[str, Any]:
    """The results that there are, by the name of their files."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def trust_page(results: Mapping[str, Any]) -> str:
    """The whole page; what has no result is said to have none."""
    sections = {
        "Strange inputs": ("fuzz", _fuzz), "Writes that fail": ("faults", _faults), "Kills": ("kills", _kills),
        "Metrics": ("metrics", _metrics), "Mutants": ("mutants", _mutants),
    }  # fmt: skip
    parts = [HEAD, "## How it is tested\n"]
    for heading, (name, write) in sections.items():
        text = write(results[name]) if name in results else "Not measured with this version yet."
        parts.append(f"### {heading}\n\n{text}\n")
    return "\n".join([*parts, TAIL])


def _table(header: list[str], rows: list[list[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _fuzz(result: Result) -> str:
    rows = [
        [name, one["inputs"], one["taken"], one["refused"], f"{one['slowest_seconds']} s", len(one["defects"])]
        for name, one in result["targets"].items()
    ]
    return (
        f"{result['inputs']:,} inputs, made by changing good ones or from pieces of them, by `{result['command']}`. "
        "Each is taken or refused by an error of ours; anything else is a defect, and so is over a minute. "
        "Most of the changed run folders have a manifest that vouches for the change. A part of 600 is in `make test`."
        "\n\n" + _table(["", "inputs", "taken", "refused", "slowest", "defects"], rows)
    )


def _faults(result: Result) -> str:
    rows = [
        [f"`{name}`", sum(one["points"].values()), one["failed"], one["compared_files"], len(one["defects"]),
         f"`{one['command']}`"]
        for name, one in result["commands"].items()
    ]  # fmt: skip
    return (
        "Every write, fsync and rename of a command on a log of 200 rows is counted; then each of them fails once, by "
        "ENOSPC or EIO in turn. The command has to end in one line with code 2 and leave nothing half-written, and run "
        "again, to end with the files of undisturbed runs to the bit (metrics without their seconds).\n\n"
        + _table(["", "points", "failed", "files compared", "defects", "command"], rows)
    )


def _kills(result: Result) -> str:
    rows = [
        [f"`{name}`", kind, one["killed"], one["compared_files"], len(one["defects"])]
        for kind, part in (("random moments", "at_moments"), ("writes", "at_writes"))
        for name, one in result[part].items()
    ]
    total = sum(row[2] for row in rows)
    return (
        f"{total} times `kill -9`, by `{result['command']}`, at random moments and in the middle of writes; the same "
        "command then goes on, and its files are held against those of undisturbed runs to the bit. The trainings of "
        "`compare` run in the process that is killed.\n\n"
        + _table(["", "killed at", "kills", "files compared", "defects"], rows)
    )


def _metrics(result: Result) -> str:
    return (
        f"Recall, NDCG, precision, hit rate and MRR at 1, 3, 10 and 20 of {result['lists']:,} random lists beside "
        f"{result['oracle']}: the largest difference is {result['largest_difference']:.1e} (`{result['command']}`)."
    )


def _mutants(result: Result) -> str:
    rows = [
        [f"`{name}`", one["mutants"], one["killed"], len(one["survivors"])] for name, one in result["files"].items()
    ]
    survivors = [_survivor(name, line) for name, one in result["files"].items() for line in one["survivors"]]
    return (
        f"Of {result['mutants']} small changes to losses, denoisers and metrics, drawn from {result['possible']} that "
        f"mutmut knows, the tests notice {result['killed']} ({100 * result['killed'] / result['mutants']:.0f} %), by "
        f"`{result['command']}`.\n\n" + _table(["", "mutants", "noticed", "survived"], rows)
        + ("\n\nThose that survived:\n\n" + "\n".join(survivors) if survivors else "")
    )  # fmt: skip


def _survivor(name: str, line: Result) -> str:
    why = _why_nobody_could_notice(line["became"])
    return f"- `{name}`, `{line['line']}`: `{line['was']}` → `{line['became']}`. {why}".rstrip()


def _why_nobody_could_notice(became: str) -> str:
    """The explanation of a mutant that means the same as what it was made of, or nothing."""
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["mutant"]
    return next((one["why"] for one in explained if any(words in became for words in one["became"])), "")


if __name__ == "__main__":
    write_text(Path(sys.argv[2]), trust_page(read_results(Path(sys.argv[1]))))
