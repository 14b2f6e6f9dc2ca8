"""From raw files to a folder with a split: read in blocks, code, filter, split, and write in one step."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.filtering import k_core as keep_k_core
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.data.reading.ids import as_ids
from recsieve.data.repeats import merge_repeats
from recsieve.data.sources.blocks import read_blocks
from recsieve.data.sources.source import FLAG, ITEM, TIME, USER, RawSource
from recsieve.data.splitting import Split, split_interactions
from recsieve.data.statistics import describe
from recsieve.errors import DataError
from recsieve.files import new_folder
from recsieve.progress import Advanced, Progress, unheard

PARTS = {
    "train": "train.parquet",
    "validation": "validation.parquet",
    "test": "test.parquet",
    "test_false_positives": "test-false-positives.parquet",
}
ABOUT = "conversion.json"


@dataclass(frozen=True)
class Collected:
    """All rows of the raw files, each pair of user and item once."""

    data: Interactions
    lines: int
    rows: int  # before repeated pairs were made one

    @property
    def left_out(self) -> int:
        """Lines that are no interactions: without a user, an item, a signal or a time, or of another kind."""
        return self.lines - self.rows


def convert(
    source: RawSource,
    out: Path,
    *,
    k_core: int = 0,
    split: str = "random",
    seed: int = 0,
    progress: Progress = unheard,
) -> dict[str, Any]:
    """Turn raw files into a folder with train, validation and test, and report what is in them.

    As in the paper, training and validation keep all interactions, and the test only true positives.
    """
    with new_folder(out) as folder:
        collected = collect(source, progress)
        data = keep_k_core(collected.data, k_core)
        parts = split_interactions(data, split, seed=seed)
        _write(parts, folder)
        about = {
            "files": [path.name for path in source.files()],
            "false_positive": source.rule,
            "k_core": k_core,
            "split": split,
            "seed": seed,
            "lines": collected.lines,
            "lines_left_out": collected.left_out,
            "repeated_pairs": collected.rows - len(collected.data),
            "interactions": len(data),
            "parts": {name: len(getattr(parts, name)) for name in PARTS},
            "train": describe(parts.train),
        }
        (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return about


def _write(split: Split, folder: Path) -> None:
    for name, file in PARTS.items():
        part: Interactions = getattr(split, name)
        if len(part) or name != "test_false_positives":
            part.to_frame().write_parquet(folder / file)


def collect(source: RawSource, progress: Progress = unheard) -> Collected:
    """Read all interactions; a row takes 17 bytes of memory, and the text of each id is stored once."""
    files = source.files()
    sizes = [path.stat().st_size for path in files]
    coder = _Coder()
    lines = rows = done = 0
    parts: list[pl.DataFrame] = []
    for path, size in zip(files, sizes, strict=True):
        for block in read_blocks(path):
            part = coder.code(source.rows(block))
            parts.append(part)
            lines, rows = lines + block.n_lines, rows + part.height
            note = f"{rows:,} interactions"
            progress(Advanced("reading", done + block.bytes_read, sum(sizes), "bytes", note))
        done += size
    progress(Advanced("splitting and writing", done, sum(sizes), "bytes", f"{rows:,} interactions"))
    if not rows:
        names = ", ".join(path.name for path in files[:3])
        raise DataError(f"no line of {names} is an interaction: check that it is the right file.")
    return Collected(merge_repeats(_interactions(parts)), lines, rows)


class _Coder:
    """Numbers the users and items of rows as they come."""

    def __init__(self) -> None:
        # Categories of their own: those of the process are never forgotten.
        self._kinds = {name: pl.Categorical(pl.Categories.random()) for name in (USER, ITEM)}

    def code(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The complete rows, with four bytes for an id."""
        present = [pl.col(name).is_not_null() & (pl.col(name) != "") for name in (USER, ITEM)]
        complete = rows.filter(*present, pl.col(TIME).is_not_null())
        flag = pl.col(FLAG).replace_strict({True: NOISY, False: CLEAN}, default=UNLABELLED, return_dtype=pl.Int8)
        return complete.select(*(pl.col(name).cast(kind) for name, kind in self._kinds.items()), flag.alias(FLAG), TIME)


def _interactions(parts: Iterable[pl.DataFrame]) -> Interactions:
    rows = pl.concat(parts)
    (users, user_ids), (items, item_ids) = (_dense_codes(rows[name]) for name in (USER, ITEM))
    return Interactions(users, items, user_ids, item_ids, rows[FLAG].to_numpy(), time=rows[TIME].to_numpy())


def _dense_codes(column: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
    """Codes in the order of the ids, which are integers if all of them are."""
    unique = column.unique()
    ids = as_ids(unique.cast(pl.String).alias("id"), f"the {column.name}", from_text=True)
    order = ids.arg_sort()
    numbers = unique.to_physical().gather(order).to_numpy()
    codes = np.zeros(int(numbers.max()) + 1, np.int32)
    codes[numbers] = np.arange(len(numbers), dtype=np.int32)
    return codes[column.to_physical().to_numpy()], ids.gather(order)
