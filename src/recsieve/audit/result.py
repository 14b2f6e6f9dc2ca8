"""The result of an audit: a ranked table, a summary, cleaned data and weights, and the folder they are saved in.

Nothing in the folder is pickled or executed, so a folder from an untrusted source is safe to open.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from recsieve.audit.noise_model import labels_of
from recsieve.audit.pairs import PairNoise, PairScores
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.files import replacing, write_text
from recsieve.lock import is_begun
from recsieve.storage.damage import reading
from recsieve.storage.frame_file import write_frame

TABLE, SUMMARY, SHOWN = "audit.parquet", "audit.json", "shown.parquet"
USERS, ITEMS, PAIRS = "users.parquet", "items.parquet", "pairs.safetensors"
CHECKS = "checks"  # a folder with a table of each
TRAININGS = "trainings"  # a folder with those that have ended


@dataclass(frozen=True)
class Audit:
    """Which interactions are probably noise, and why.

    `scores` and `probability` are in the order of `data` (the given interactions, with repeated pairs merged). `table`
    has the same with reasons and evidence, the most suspicious first. Without labels there is no probability.
    """

    data: Interactions
    table: pl.DataFrame
    summary: dict[str, Any]
    shown: pl.DataFrame  # more of the most suspicious interactions: loss curves, and what is alike in the profile
    scores: NDArray[np.float32]
    probability: NDArray[np.float32] | None = None  # 1 or 0 where it is known
    pairs: PairNoise | None = None  # of any pair, also one that was never observed
    checks: dict[str, pl.DataFrame] = field(default_factory=dict)  # beside noise: what else stands out, by check

    def weights(self) -> NDArray[np.float32]:
        """1 − P of each interaction in `data`, for any training that takes weights."""
        return 1 - self._probability("weights are 1 − P")

    def clean(self, *, share: float | None = None, threshold: float | None = None) -> Interactions:
        """`data` without the most suspicious share, or without interactions of at least a given probability of noise.

        Known noise is always left out and counts towards the share; known clean interactions always stay.
        """
        if (share is None) == (threshold is None):
            raise ConfigError("give a share of the interactions to remove, or a threshold for the probability.")
        if threshold is not None:
            _check("threshold", threshold)
            return self.data.take(self._probability("a threshold is one of P") < threshold)
        part = _check("share", share)
        labels = labels_of(self.data)
        suspicion = self.scores if self.probability is None else self.probability
        suspicion = np.select([labels == NOISY, labels == CLEAN], [np.inf, -np.inf], suspicion)
        kept = np.ones(len(labels), bool)
        kept[np.argsort(-suspicion, kind="stable")[: round(part * len(kept))]] = False
        return self.data.take((kept | (labels == CLEAN)) & (labels != NOISY))

    def _probability(self, why: str) -> NDArray[np.float32]:
        if self.probability is None:
            raise DataError(
                f"there are too few labels to estimate the probability of noise, and {why}: label more interactions, "
                "or give a share."
            )
        return self.probability

    def save(self, folder: Path | str) -> None:
        """Write the result files, audit.json last: if it exists, the others are complete."""
        folder, data, flags = Path(folder), self.data, labels_of(self.data)
        (folder / SUMMARY).unlink(missing_ok=True)
        write_frame(self.table, folder / TABLE)
        write_frame(self.shown, folder / SHOWN)
        write_frame(_group_table("user", data.users, data.user_ids, self.scores, flags), folder / USERS)
        write_frame(_group_table("item", data.items, data.item_ids, self.scores, flags), folder / ITEMS)
        for name, table in self.checks.items():
            write_frame(table, folder / CHECKS / f"{name}.parquet")
        if self.pairs is None:
            (folder / PAIRS).unlink(missing_ok=True)
        else:
            with replacing(folder / PAIRS) as temporary:
                save_file(self.pairs.logits.arrays(), temporary)
        write_text(folder / SUMMARY, json.dumps(self.summary, indent=2, ensure_ascii=False) + "\n")

    def export(
        self,
        folder: Path | str,
        *,
        share: float | None = None,
        threshold: float | None = None,
        csv: bool = False,
        escape_formulas: bool = False,
        rows_of: Callable[[Interactions], pl.DataFrame] = Interactions.to_frame,
    ) -> list[Path]:
        """Write the cleaned data, and weights if there are probabilities, as Parquet; optionally also as CSV, with the
        list.

        `escape_formulas` is for CSV files that are opened in a spreadsheet (see `without_formulas`). `rows_of` returns
        the rows to write for the interactions that stay, for instance those of the original log.
        """
        frames = {"cleaned": rows_of(self.clean(share=share, threshold=threshold))}
        if self.probability is not None:
            frames["weights"] = self.data.to_frame().select("user", "item").with_columns(weight=self.weights())
        paths = {Path(folder) / f"{name}.parquet": frame for name, frame in frames.items()}
        if csv:
            paths |= {path.with_suffix(".csv"): frame for path, frame in paths.items()}
            paths[Path(folder) / "audit.csv"] = self.table
        for path, frame in paths.items():
            write_frame(frame, path, escape_formulas=escape_formulas)
        return list(paths)

    @classmethod
    def load(cls, folder: Path | str) -> Audit:
        """Load an audit written by `save`."""
        folder = Path(folder)
        if not (folder / SUMMARY).exists():
            raise RunError(f"{folder} holds no {SUMMARY}: give the folder of a finished audit.")
        with reading(folder, "an audit of recsieve", "run the audit again"):
            summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
            table = pl.read_parquet(folder / TABLE, glob=False)
            in_order = table.sort("row")
            pairs = PairNoise(PairScores(**load_file(folder / PAIRS))) if (folder / PAIRS).exists() else None
            return cls(
                _interactions(in_order, folder),
                table,
                summary,
                pl.read_parquet(folder / SHOWN, glob=False),
                in_order["noise_score"].to_numpy(),
                None if pairs is None else in_order["probability"].to_numpy(),
                pairs,
                {
                    name: pl.read_parquet(folder / CHECKS / f"{name}.parquet", glob=False)
                    for name, check in summary["checks"].items()
                    if check["made"]
                },
            )


def _check(name: str, value: float | None) -> float:
    if value is None or not 0 <= value <= 1:
        raise ConfigError(f"{name} is {value}: give a number from 0 to 1, e.g. 0.1.")
    return value


def check_folder(folder: Path) -> None:
    """Refuse a folder that contains something other than an audit."""
    if folder.is_file():
        raise RunError(f"{folder} is a file, but an audit is a folder: give another name with --out.")
    begun = any((folder / name).exists() for name in (SUMMARY, TABLE, TRAININGS))
    if is_begun(folder) and not begun:
        raise RunError(f"{folder} holds files that are not an audit of recsieve: give another folder with --out.")


def _group_table(
    name: str, codes: NDArray[np.int32], ids: pl.Series, scores: NDArray[np.float32], flags: NDArray[np.int8]
) -> pl.DataFrame:
    """A row for each user or item, in the order of their codes: interactions, labels, noise among them, mean score."""
    n = len(ids)
    interactions = np.bincount(codes, minlength=n)
    return pl.DataFrame(
        {
            name: ids,
            "interactions": interactions.astype(np.int32),
            "labelled": np.bincount(codes[flags != UNLABELLED], minlength=n).astype(np.int32),
            "regretted": np.bincount(codes[flags == NOISY], minlength=n).astype(np.int32),
            "mean_score": (np.bincount(codes, scores, n) / np.maximum(interactions, 1)).astype(np.float32),
        }
    )


def _interactions(table: pl.DataFrame, folder: Path) -> Interactions:
    user_ids = pl.read_parquet(folder / USERS, glob=False)["user"]
    item_ids = pl.read_parquet(folder / ITEMS, glob=False)["item"]
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
    codes_of_ids = pl.DataFrame({"id": ids, "code": np.arange(len(ids), dtype=np.int32)})
    codes = pl.DataFrame({"id": values}).join(codes_of_ids, on="id", how="left", maintain_order="left")["code"]
    if codes.null_count():
        raise ValueError("it names users or items that are not in their tables")
    return codes.to_numpy()
