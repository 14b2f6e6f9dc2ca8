"""The files of an audit. Nothing here is pickled or executed: a folder from a stranger is safe to open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from recsieve.audit.labelled import labels_of
from recsieve.audit.pair_noise import PairNoise
from recsieve.audit.pair_scores import PairScores
from recsieve.audit.result import Audit
from recsieve.audit.tables import group_table
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.errors import RunError
from recsieve.files import replacing, write_text
from recsieve.lock import is_begun
from recsieve.storage.damage import reading

TABLE, SUMMARY, SHOWN = "audit.parquet", "audit.json", "shown.parquet"
USERS, ITEMS, PAIRS = "users.parquet", "items.parquet", "pairs.safetensors"
TRAININGS = "trainings"  # a folder with those that have ended


def check_folder(folder: Path) -> None:
    """Refuse a place that holds something else than an audit."""
    if folder.is_file():
        raise RunError(f"{folder} is a file, but an audit is a folder: give another name by --out.")
    begun = any((folder / name).exists() for name in (SUMMARY, TABLE, TRAININGS))
    if is_begun(folder) and not begun:
        raise RunError(f"{folder} holds files that are not an audit of recsieve: give another folder by --out.")


def write_audit(audit: Audit, folder: Path) -> None:
    """Write the table, what is shown of it, all users and items, the probability of any pair, and the summary."""
    data, flags = audit.data, labels_of(audit.data)
    (folder / SUMMARY).unlink(missing_ok=True)
    write_frame(folder / TABLE, audit.table)
    write_frame(folder / SHOWN, audit.shown)
    write_frame(folder / USERS, group_table("user", data.users, data.user_ids, audit.scores, flags))
    write_frame(folder / ITEMS, group_table("item", data.items, data.item_ids, audit.scores, flags))
    if audit.pairs is None:
        (folder / PAIRS).unlink(missing_ok=True)
    else:
        with replacing(folder / PAIRS) as temporary:
            save_file(audit.pairs.logits.arrays(), temporary)
    write_text(folder / SUMMARY, json.dumps(audit.summary, indent=2, ensure_ascii=False) + "\n")


def read_audit(folder: Path) -> Audit:
    """Read an audit back."""
    if not (folder / SUMMARY).exists():
        raise RunError(f"{folder} holds no {SUMMARY}: give a folder in which an audit has ended.")
    with reading(folder, "an audit of recsieve", "run the audit again"):
        table = pl.read_parquet(folder / TABLE)
        in_order = table.sort("row")
        pairs = PairNoise(PairScores(**load_file(folder / PAIRS))) if (folder / PAIRS).exists() else None
        return Audit(
            _interactions(in_order, folder),
            table,
            json.loads((folder / SUMMARY).read_text(encoding="utf-8")),
            pl.read_parquet(folder / SHOWN),
            in_order["noise_score"].to_numpy(),
            None if pairs is None else in_order["probability"].to_numpy(),
            pairs,
        )


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Replace a Parquet or CSV file in one step."""
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            frame.write_csv(temporary)
        else:
            frame.write_parquet(temporary)


def _interactions(table: pl.DataFrame, folder: Path) -> Interactions:
    user_ids, item_ids = pl.read_parquet(folder / USERS)["user"], pl.read_parquet(folder / ITEMS)["item"]
    optional: dict[str, Any] = {name: table[name].to_numpy() for name in ("weight", "time") if name in table.columns}
    labels = table["labelled_noise"]
    if labels.null_count() < len(labels):
        numbers = {True: NOISY, False: CLEAN}
        flags = labels.replace_strict(numbers, default=UNLABELLED, return_dtype=pl.Int8)
        optional["false_positive"] = flags.to_numpy()
    return Interactions(
        _codes(table["user"], user_ids), _codes(table["item"], item_ids), user_ids, item_ids, **optional
    )


def _codes(values: pl.Series, ids: pl.Series) -> NDArray[np.int32]:
    places = pl.DataFrame({"id": ids, "code": np.arange(len(ids), dtype=np.int32)})
    codes = pl.DataFrame({"id": values}).join(places, on="id", how="left", maintain_order="left")["code"]
    if codes.null_count():
        raise ValueError("it names users or items that are not in their tables")
    return codes.to_numpy()
