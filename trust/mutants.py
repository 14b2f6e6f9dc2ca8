"""`python -m trust.mutants [MINUTES]`: small changes to losses, denoisers and metrics, and whether the tests notice.

mutmut knows the changes. Its own runner copies the whole project and rewrites every function, compiled ones too, so
here each mutant is a process that imports one changed module and runs the tests of it (decision 20). Those that fit
into the time are counted; the next call goes on with the others, and tries again what survived. A changed module begins
anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from typing import Any

import libcst as cst
from mutmut.mutation.file_mutation import create_mutations, deep_replace

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "mutants.json"
SOURCE = ROOT / "src" / "recsieve"
TESTS = {
    "losses.py": ["tests/test_losses.py", "-k", "not compiled"],  # compiling takes seconds, and finds nothing more
    "evaluation/metrics.py": ["tests/evaluation/test_metrics.py", "tests/trust/test_metrics.py"],
    **{
        f"objectives/{name}.py": ["tests/objectives", "tests/contracts/test_objectives.py"]
        for name in ("bce", "bpr", "hinge", "softmax", "square")
    },
    **{
        f"denoisers/{name}.py": [
            f"tests/denoisers/test_{name}.py",
            "tests/denoisers",
            "tests/contracts/test_denoisers.py",
        ]
        for name in ("least_popular_drop", "negative_feedback", "random_drop", "reweighted", "schedule", "truncated")
    },
}
LONGEST = 120  # seconds for the tests of a mutant; one that takes longer is noticed too


@dataclass(frozen=True)
class Mutant:
    """A changed source file, and what the change is."""

    file: str
    code: str
    was: str
    became: str
    line: str = ""  # that the change is in, as it was


@dataclass(frozen=True)
class Changed(MetaPathFinder, SourceLoader):
    """Imports one module from other code than is in its file."""

    module: str
    mutant: Mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name == self.module else None

    def get_filename(self, name: str) -> str:
        return str(SOURCE / self.mutant.file)

    def get_data(self, path: Any) -> bytes:
        return self.mutant.code.encode()


def mutants_of(file: str) -> list[Mutant]:
    """All changes that mutmut knows for a file, but for those to the sentences of messages."""
    source = (SOURCE / file).read_text(encoding="utf-8")
    module, mutations, *_ = create_mutations(file, source)
    found = []
    for mutation in mutations:
        if _is_sentence(module, mutation.original_node):
            continue  # tests hold a message to what it says, not to each of its words
        changed = deep_replace(module, mutation.original_node, mutation.mutated_node)
        assert isinstance(changed, cst.Module)
        was, became = (_words(module, node) for node in (mutation.original_node, mutation.mutated_node))
        found.append(Mutant(file, changed.code, was, became, _changed_line(source, changed.code)))
    return found


def _changed_line(before: str, after: str) -> str:
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((one.strip() for one, other in pairs if one != other), "")


def _is_sentence(module: cst.Module, node: cst.CSTNode) -> bool:
    text = isinstance(node, cst.SimpleString | cst.FormattedStringText | cst.ConcatenatedString)
    return text and " " in module.code_for_node(node)


def _words(module: cst.Module, node: cst.CSTNode) -> str:
    return " ".join(module.code_for_node(node).split())[:100]


def is_noticed(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether a test fails in a process that has the mutant."""
    child = os.fork()
    if not child:
        _test(mutant, tests)
    end = time.monotonic() + LONGEST
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(ended[1]) != 0


def _test(mutant: Mutant, tests: Sequence[str]) -> None:
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if "@njit" in mutant.code:
            os.environ["NUMBA_DISABLE_JIT"] = "1"  # a compiled function would be that of the file
        import pytest

        module = "recsieve." + mutant.file.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, Changed(module, mutant))
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]))
    finally:
        os._exit(code)


def main(words: list[str]) -> None:
    minutes = float(words[0]) if words else 30.0
    import hypothesis  # noqa: F401
    import polars  # noqa: F401
    import pytest  # noqa: F401
    import torch  # noqa: F401

    from recsieve.files import write_text

    for name in [name for name in sys.modules if name.startswith("recsieve")]:
        del sys.modules[name]  # a child has to import the changed one
    known = json.loads(RESULT.read_text(encoding="utf-8"))["files"] if RESULT.exists() else {}
    mutants = {file: mutants_of(file) for file in TESTS}
    files = {file: _known_of(file, known, len(of_file)) for file, of_file in mutants.items()}
    for file in TESTS:
        if is_noticed(Mutant(file, (SOURCE / file).read_text(encoding="utf-8"), "", ""), TESTS[file]):
            sys.exit(f"the tests of {file} fail without any change: mutants would seem to be noticed")
    started = time.monotonic()
    for file, number in _left(files):
        if time.monotonic() - started > 60 * minutes:
            break
        _count(files[file], number, mutants[file][number], is_noticed(mutants[file][number], TESTS[file]))
        total = {name: sum(one[name] for one in files.values()) for name in ("possible", "mutants", "killed")}
        result = {"command": f"python -m trust.mutants {minutes:g}", **total, "files": files}
        write_text(RESULT, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def _known_of(file: str, known: dict[str, Any], possible: int) -> dict[str, Any]:
    """What an earlier call found for a file, if that file is the same."""
    source = hashlib.sha256((SOURCE / file).read_bytes()).hexdigest()
    new = {"source": source, "possible": possible, "mutants": 0, "killed": 0, "survivors": []}
    return known[file] if known.get(file, {}).get("source") == source else new


def _left(files: dict[str, dict[str, Any]]) -> list[tuple[str, int]]:
    """What survived so far, then what was not tried, all files at an even pace: of each, the first ones are known."""
    again = [(file, line["number"]) for file, one in files.items() for line in one["survivors"]]
    new = [(file, number) for file, one in files.items() for number in range(one["mutants"], one["possible"])]
    return again + sorted(new, key=lambda key: key[1] / files[key[0]]["possible"])


def _count(one: dict[str, Any], number: int, mutant: Mutant, noticed: bool) -> None:
    survived = [line for line in one["survivors"] if line["number"] != number]
    if not noticed:
        survived.append({"number": number, "line": mutant.line, "was": mutant.was, "became": mutant.became})
    one["survivors"] = sorted(survived, key=lambda line: line["number"])
    one["mutants"] = max(one["mutants"], number + 1)
    one["killed"] = one["mutants"] - len(one["survivors"])


if __name__ == "__main__":
    main(sys.argv[1:])
