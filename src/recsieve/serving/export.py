"""Exports lists and vectors of a run: Parquet, SQLite, DuckDB, an index for approximate search, arrays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import torch
from safetensors.numpy import save_file
from torch import Tensor

from recsieve.data.codes import blocks
from recsieve.errors import ConfigError, RunError
from recsieve.evaluation import rank_items
from recsieve.files import new_folder, replacing, write_text
from recsieve.recommendations.frame import as_frame
from recsieve.recommendations.ranker import Ranker
from recsieve.recommender import Recommender

BLOCK_USERS = 4096
RECALL_USERS = 1000  # for whom an index is held against the exact ranking
LISTS, USERS, ITEMS = "recommendations", "user_vectors", "item_vectors"  # tables


@dataclass(frozen=True)
class Exported:
    """What was written and, for an index, its recall of the k best items."""

    path: Path
    lists: int = 0  # rows of recommendations
    vectors: int = 0  # their length; 0 where the model has none
    recall: float | None = None

    def line(self) -> str:
        parts = [f"{self.lists:,} rows of recommendations"] if self.lists else []
        parts.append(f"vectors of size {self.vectors}" if self.vectors else "no vectors, because the model has none")
        parts += [f"{self.recall:.1%} recall of the exact best items"] if self.recall is not None else []
        return f"{', '.join(parts)}: {self.path}"


@dataclass(frozen=True)
class Vectors:
    """Vectors of users and items whose products rank items like the scores: score = user · item + constant."""

    users: Tensor
    items: Tensor
    constant: float

    @classmethod
    def of(cls, ranker: Ranker) -> Vectors | None:
        """The vectors of a model; a number added for each item is one more dimension, with a 1 for the users."""
        product = ranker.scorer.factors(torch.arange(ranker.scorer.n_users))
        if product is None:
            return None
        users, items = product.users.detach().float(), product.items.detach().float()
        if product.item_bias is not None:
            users = torch.cat([users, torch.ones(len(users), 1)], dim=1)
            items = torch.cat([items, product.item_bias.detach()[:, None]], dim=1)
        return cls(users, items, product.constant)


def export(run: Path | str, path: Path | str, k: int = 10) -> Exported:
    """Write the recommendations of a run, and its vectors, in the format given by the extension.

    A name without an extension is a folder of Parquet files; .sqlite and .duckdb are databases with the same tables;
    .usearch is an index of the items for approximate search; .npz and .safetensors have the vectors as arrays.
    """
    path = Path(path)
    if path.suffix not in WRITERS:
        known = ", ".join(suffix for suffix in WRITERS if suffix)
        raise ConfigError(f"{path} has an unknown extension: give one of {known}, or a folder.")
    if path.is_file():
        raise RunError(f"{path} already exists: give another name, or remove it first.")
    if k < 1:
        raise ConfigError(f"k is {k}: give the number of items to recommend, 1 or more.")
    ranker = Recommender.load(run).ranker()
    return WRITERS[path.suffix](ranker, Vectors.of(ranker), path, k)


def _write_parquet(ranker: Ranker, vectors: Vectors | None, path: Path, k: int) -> Exported:
    with new_folder(path) as folder:
        rows = _write_lists(ranker, k, folder / f"{LISTS}.parquet")
        for name, frame in _vector_frames(ranker, vectors):
            frame.write_parquet(folder / f"{name}.parquet")
    return Exported(path, rows, _length(vectors))


def _write_sqlite(ranker: Ranker, vectors: Vectors | None, path: Path, k: int) -> Exported:
    rows = 0
    with replacing(path) as temporary:
        database = sqlite3.connect(temporary)
        kinds = ["INTEGER" if ids.ids.dtype == pl.Int64 else "TEXT" for ids in (ranker.users, ranker.items)]
        database.execute(f"CREATE TABLE {LISTS} (user {kinds[0]}, item {kinds[1]}, rank INTEGER, score REAL)")
        for frame in _lists(ranker, k):
            rows += frame.height
            database.executemany(f"INSERT INTO {LISTS} VALUES (?, ?, ?, ?)", frame.rows())
        database.execute(f"CREATE INDEX {LISTS}_user ON {LISTS} (user)")
        for (name, frame), kind in zip(_vector_frames(ranker, vectors), kinds, strict=False):
            database.execute(f"CREATE TABLE {name} (id {kind} PRIMARY KEY, vector BLOB)")  # float32, little-endian
            numbers = np.ascontiguousarray(frame["vector"].to_numpy(), dtype="<f4")
            pairs = zip(frame["id"].to_list(), (row.tobytes() for row in numbers), strict=True)
            database.executemany(f"INSERT INTO {name} VALUES (?, ?)", pairs)
        database.commit()
        database.close()
    return Exported(path, rows, _length(vectors))


def _write_duckdb(ranker: Ranker, vectors: Vectors | None, path: Path, k: int) -> Exported:
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ConfigError("duckdb is not installed: pip install 'recsieve[duckdb]'.") from None
    with TemporaryDirectory(dir=path.parent if path.parent.exists() else None) as folder:
        rows = _write_lists(ranker, k, Path(folder) / f"{LISTS}.parquet")
        for name, frame in _vector_frames(ranker, vectors):
            frame.write_parquet(Path(folder) / f"{name}.parquet")
        with replacing(path) as temporary:
            temporary.unlink()  # DuckDB makes its file itself, and takes no empty one
            database = duckdb.connect(str(temporary))
            for file in sorted(Path(folder).glob("*.parquet")):
                database.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM read_parquet(?)", [str(file)])
            database.close()
    return Exported(path, rows, _length(vectors))


def _write_index(ranker: Ranker, vectors: Vectors | None, path: Path, k: int) -> Exported:
    """An index of the items by inner product; a file beside it has their ids, by key, and what was measured."""
    try:
        from usearch.index import Index
    except ModuleNotFoundError:
        raise ConfigError("usearch is not installed: pip install 'recsieve[ann]'.") from None
    vectors = _required(ranker, vectors)
    index = Index(ndim=vectors.items.shape[1], metric="ip", dtype="f32")
    # With several threads the graph depends on who comes first, and so does what it finds.
    index.add(np.arange(len(vectors.items), dtype=np.uint64), vectors.items.numpy(), threads=1)
    k = min(k, len(vectors.items))
    users = np.linspace(0, len(vectors.users) - 1, min(RECALL_USERS, len(vectors.users))).astype(np.int32)
    exact, _ = rank_items(ranker.scorer, users, k, None)
    found = index.search(vectors.users.numpy()[users], k).keys.reshape(len(users), -1).astype(np.int64)
    recall = float(np.mean([len(np.intersect1d(*lists)) / k for lists in zip(exact, found, strict=True)]))
    with replacing(path) as temporary:
        index.save(str(temporary))
    about = {"metric": "inner product", "recall": recall, "k": k, "users": len(users)}
    ids = ranker.items.ids.to_list()
    write_text(path.with_name(path.name + ".json"), json.dumps({**about, "items": ids}, ensure_ascii=False) + "\n")
    return Exported(path, 0, vectors.items.shape[1], recall)


def _write_npz(ranker: Ranker, vectors: Vectors | None, path: Path, k: int) -> Exported:
    vectors = _required(ranker, vectors)
    with replacing(path) as temporary, temporary.open("wb") as file:  # by name, numpy would add an ending
        ids = {"user_ids": _plain(ranker.users.ids), "item_ids": _plain(ranker.items.ids)}
        np.savez(file, allow_pickle=False, **_arrays(vectors), **ids)
    return Exported(path, 0, vectors.items.shape[1])


def _write_safetensors(ranker: Ranker, vectors: Vectors | None, path: Path, k: int) -> Exported:
    vectors = _required(ranker, vectors)
    ids = {f"{name}_ids": json.dumps(of.ids.to_list()) for name, of in (("user", ranker.users), ("item", ranker.items))}
    with replacing(path) as temporary:
        save_file(_arrays(vectors), temporary, metadata=ids)
    return Exported(path, 0, vectors.items.shape[1])


Write = Callable[[Ranker, Vectors | None, Path, int], Exported]
WRITERS: dict[str, Write] = {
    "": _write_parquet,
    ".sqlite": _write_sqlite,
    ".duckdb": _write_duckdb,
    ".usearch": _write_index,
    ".npz": _write_npz,
    ".safetensors": _write_safetensors,
}


def _lists(ranker: Ranker, k: int) -> Iterator[pl.DataFrame]:
    """The lists of all users, some at a time."""
    for block in blocks(len(ranker.users), BLOCK_USERS):
        ranked = ranker.for_codes(np.arange(block.start, block.stop, dtype=np.int32), k)
        yield as_frame(ranked, ranker.users.ids, ranker.items.ids).select("user", "item", "rank", "score")


def _write_lists(ranker: Ranker, k: int, path: Path) -> int:
    frame = pl.concat(list(_lists(ranker, k)))
    frame.write_parquet(path)
    return frame.height


def _vector_frames(ranker: Ranker, vectors: Vectors | None) -> list[tuple[str, pl.DataFrame]]:
    """A table of ids and vectors for users, and one for items; none where the model has no vectors."""
    if vectors is None:
        return []
    tables = (USERS, ranker.users.ids, vectors.users), (ITEMS, ranker.items.ids, vectors.items)
    return [
        (
            name,
            pl.DataFrame({"id": ids, "vector": pl.Series(table.numpy(), dtype=pl.Array(pl.Float32, table.shape[1]))}),
        )
        for name, ids, table in tables
    ]


def _required(ranker: Ranker, vectors: Vectors | None) -> Vectors:
    if vectors is None:
        raise ConfigError(
            f"{ranker.scorer.title} has no user and item vectors: export lists as Parquet, .sqlite or .duckdb, or use "
            "a run of a model with vectors, e.g. ials."
        )
    return vectors


def _arrays(vectors: Vectors) -> dict[str, np.ndarray]:
    constant = np.array(vectors.constant, np.float32)
    return {"users": vectors.users.numpy(), "items": vectors.items.numpy(), "constant": constant}


def _plain(ids: pl.Series) -> np.ndarray:
    """Ids as an array that is read without pickle."""
    return ids.to_numpy() if ids.dtype == pl.Int64 else np.array(ids.to_list(), dtype=np.str_)


def _length(vectors: Vectors | None) -> int:
    return 0 if vectors is None else vectors.items.shape[1]
