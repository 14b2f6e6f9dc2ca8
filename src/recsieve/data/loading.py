"""From a source to a split, which is either given as files or made here."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.filtering import k_core as keep_k_core
from recsieve.data.interactions import NOISY, Interactions
from recsieve.data.reading.columns import Names
from recsieve.data.reading.file_format import Format
from recsieve.data.reading.formats import read_parts
from recsieve.data.reading.tables import Source, is_data_file, readable
from recsieve.data.repeats import Merging, merge_and_count
from recsieve.data.sharing import renumbered
from recsieve.data.splitting import RATIOS, Split, SplitReport, make_disjoint, numbered, split_interactions
from recsieve.display import listed
from recsieve.errors import ConfigError, DataError

log = logging.getLogger(__name__)

_MEASURED = ("train", "validation", "test")
# What a file of the training, the validation and the test part has in its name.
_PART_WORDS = ({"train", "training"}, {"valid", "validation", "val", "dev"}, {"test", "testing"})


def load_split(
    source: Source,
    *,
    validation: Source | None = None,
    test: Source | None = None,
    split: str = "random",
    ratios: Sequence[float] = RATIOS,
    seed: int = 0,
    k_core: int = 0,
    user: str | None = None,
    item: str | None = None,
    false_positive: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    positive: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    query: str | None = None,
    repeats: str | None = None,
    check: bool = True,
    group: Communicator = SINGLE_PROCESS,
) -> Split:
    """Read a given split, or read interactions and split them; `report` says what was repaired.

    A split is given by `validation` or `test`, or by a folder with files that have train, valid and test in their
    names. A missing part is taken from training. `check=False` keeps a given split unchanged, with its repeats and
    overlaps. Columns, rules, `encoding`, `query` and `repeats` are as in `read_interactions`. In a group of ranks, each
    reads the interactions of some users; together they have the split of one process.
    """
    names = Names(user, item, false_positive, time, weight, positive)
    given = find_parts(source, validation, test)
    # Nothing that is read or merged is kept under a name, so that it makes room for what is made of it.
    encoded, repeats = read_parts(list(given.values()), names, Format(header, encoding, query), repeats, group)
    if len(encoded) == 1:
        data, merging = merge_and_count(encoded.pop(), repeats)
        report = SplitReport(repeated_in_train=merging.rows, merging=merging).of_all(group)
        return replace(split_interactions(renumbered(keep_k_core(data, k_core)), split, ratios, seed), report=report)
    parts = dict(zip(given, encoded, strict=True))
    if k_core:
        raise ConfigError(f"k_core is {k_core}, but your own split is not filtered: leave k_core out.")
    made, report = _checked_split(parts, repeats) if check else (_given_split(parts), SplitReport())
    whole = numbered(_with_missing_parts(numbered(made), parts, split, ratios, seed))
    return replace(whole, report=report.of_all(group))


def find_parts(source: Source, validation: Source | None = None, test: Source | None = None) -> dict[str, Source]:
    """The sources of the parts: those that were given, or the files of a folder by their names.

    Where it may not be what was meant, it is told which file became which part.
    """
    if validation is None and test is None and isinstance(source, str | Path) and Path(source).is_dir():
        with readable(str(source)):
            return _find_parts_in(Path(source))
    parts = {"train": source, "validation": validation, "test": test}
    return {name: part for name, part in parts.items() if part is not None}


def _find_parts_in(folder: Path) -> dict[str, Source]:
    train, validation, tests = (_entries_named(folder, words) for words in _PART_WORDS)
    if not validation and not tests:
        return {"train": folder}
    if not train:
        raise DataError(f"the folder {folder} has no training file: give the path of a file to train on.")
    false = [path for path in tests if "false" in _words(path)]
    noisy = [path for path in tests if "noisy" in _words(path)]
    clean = [path for path in tests if path not in false + noisy]
    # A noisy test beside a clean one tells the false positives; alone it is the test.
    parts = {
        "train": train,
        "validation": validation,
        "test": clean or noisy,
        "noisy test": noisy if clean else [],
        "false positives": false,
    }
    found = {name: paths for name, paths in parts.items() if paths}
    for line in _unexpected(folder, found):
        log.warning("%s", line)
    return dict(found)  # of what a source may be, paths are one kind


def part_names(parts: Mapping[str, Source]) -> dict[str, list[str]]:
    """The names of the files and folders of each part; nothing if there are no parts, only a log."""
    found = {name: paths for name, paths in parts.items() if isinstance(paths, list)}
    return {name: [Path(path).name for path in paths] for name, paths in found.items()}


def _unexpected(folder: Path, parts: Mapping[str, list[Path]]) -> list[str]:
    """A sentence for each part of several files, and one about files of data that are in no part."""
    lines = [
        f"{folder}: the part '{name}' is made of {listed(names)}. Move away what does not belong to it."
        for name, names in part_names(parts).items()
        if len(names) > 1
    ]
    if left := _left_out(folder, {path for paths in parts.values() for path in paths}):
        names = listed([path.name for path in left])
        lines.append(f"{folder}: not read, because train, valid or test is not in the name: {names}.")
    return lines


def _left_out(folder: Path, taken: set[Path]) -> list[Path]:
    """The files of data in no part. Folders and .json, which holds settings as often, count only beside their like."""
    endings = {path.suffix.lower() for path in taken}
    others = [path for path in sorted(folder.iterdir()) if path not in taken and not path.name.startswith((".", "_"))]
    unsure = [path for path in others if path.is_dir() or path.suffix.lower() == ".json"]
    sure = [path for path in others if path not in unsure and is_data_file(path)]
    return sure + [path for path in unsure if path.suffix.lower() in endings]


def _entries_named(folder: Path, words: set[str]) -> list[Path]:
    """The files and folders of data in a folder whose names have one of the words."""
    return [path for path in sorted(folder.iterdir()) if _words(path) & words and (path.is_dir() or is_data_file(path))]


def _words(path: Path) -> set[str]:
    return set(re.split(r"[^a-z]+", path.name.lower()))


def _checked_split(parts: dict[str, Interactions], repeats: str) -> tuple[Split, SplitReport]:
    """Put given parts together, each pair once, and say what that took.

    Repeats merge before the known noise leaves the test, since all rows of a pair have a say in whether it is noise.
    """
    merged = {name: merge_and_count(part, repeats) for name, part in parts.items()}
    split, report = make_disjoint(_given_split({name: data for name, (data, _) in merged.items()}))
    merging = {name: done for name, (_, done) in merged.items()}
    told = {f"repeated_in_{name}": done.rows for name, done in merging.items() if name in _MEASURED}
    return split, replace(report, **told, merging=sum(merging.values(), Merging(repeats)))


def _given_split(parts: dict[str, Interactions]) -> Split:
    """Put given parts together; what is not given is empty, and the known noise comes from the file that tells it."""
    nothing = parts["train"].take(slice(0))
    split = Split.from_parts(parts["train"], parts.get("validation", nothing), parts.get("test", nothing))
    if "false positives" in parts:
        false = parts["false positives"]
        return replace(split, test_false_positives=replace(false, false_positive=np.full(len(false), NOISY, np.int8)))
    if "noisy test" in parts:
        noisy = parts["noisy test"]
        return replace(split, test_false_positives=noisy.take(noisy.is_false_positive))
    return split


def _with_missing_parts(
    split: Split, parts: dict[str, Interactions], how: str, ratios: Sequence[float], seed: int
) -> Split:
    """Take the validation or the test that is not given out of training."""
    if "validation" in parts and "test" in parts:
        return split
    if "test" in parts:
        taken = split_interactions(split.train, how, (*ratios[:2], 0), seed)
        return replace(split, train=taken.train, validation=taken.validation)
    taken = split_interactions(split.train, how, (ratios[0], 0, *ratios[2:]), seed)
    return replace(taken, validation=split.validation)
