"""The files of a run: their names, how they are written, and checks for damage.

Nothing here is pickled or executed, so a run folder from an untrusted source is safe to open.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import tomli_w
from safetensors.torch import load_file
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.interactions import NOISY, UNLABELLED, Interactions
from recsieve.data.sharing import in_order
from recsieve.data.splitting import Split
from recsieve.errors import RunError
from recsieve.files import replacing, write_text
from recsieve.lock import HOLDER, LOCK
from recsieve.settings import Settings
from recsieve.storage.damage import reading
from recsieve.storage.tensor_file import Share, is_finite, write_tensors

log = logging.getLogger(__name__)

FORMAT = 2  # of run folders; version 0.1 wrote none down
PARTS = ("train", "validation", "test", "test_false_positives")
# Columns of interactions that are all null where they are not known.
OPTIONAL = {"false_positive": pl.Int8, "weight": pl.Float32, "time": pl.Int64}
_TYPES = {"user": pl.Int32, "item": pl.Int32, **OPTIONAL}
_BOUNDS: dict[str, tuple[float, float]] = {
    "false_positive": (UNLABELLED, NOISY), "weight": (0.0, float(np.finfo(np.float32).max)),
    "time": (-(2**63), 2**63 - 1),
}  # fmt: skip


class RunFolder:
    """The paths of a run, and the reading and writing of each file."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.config = self.path / "config.toml"
        self.metrics = self.path / "metrics.json"
        self.history = self.path / "history.parquet"
        self.model = self.path / "model.safetensors"
        self.offset = self.path / "offset.safetensors"  # only where scores have an offset when ranking
        self.final = self.path / "final.safetensors"  # fitted on the whole log: for use, not for tests
        self.trust = self.path / "trust.safetensors"  # 1 − P of each interaction, where models count by it
        self.ids = self.path / "ids.parquet"
        self.interactions = self.path / "interactions.parquet"
        self.per_user = self.path / "per_user.parquet"
        self.manifest = self.path / "manifest.json"
        self.checkpoint = self.path / "checkpoint" / "state.safetensors"

    @property
    def exists(self) -> bool:
        return self.config.exists()

    @property
    def begun(self) -> bool:
        """Whether it has anything of a training; if not, nothing is lost if another starts."""
        return any(path.exists() for path in (self.checkpoint.parent, self.model, self.metrics))

    def discard_beginning(self) -> None:
        """Remove what was written before a training, if there was no training."""
        if not self.begun:
            for path in (self.config, self.ids, self.interactions):
                path.unlink(missing_ok=True)

    @property
    def is_foreign(self) -> bool:
        """Whether the folder has anything that does not belong to a run."""
        if self.exists or not self.path.exists():
            return False
        ours = {self.ids.name, self.interactions.name, LOCK, HOLDER}
        return any(path.name not in ours and not path.name.endswith(".part") for path in self.path.iterdir())

    @property
    def finished(self) -> bool:
        """Whether the run has finished: its manifest is written last; one of version 0.1 has none."""
        return self.manifest.exists() or (self.metrics.exists() and self._is_old)

    @property
    def _is_old(self) -> bool:
        return "format" not in self.read_config()

    def require(self) -> None:
        """Raise an error if this is no run, or one that has not finished."""
        if not self.exists:
            what = "no such folder" if not self.path.exists() else "it has no config.toml"
            raise RunError(f"{self.path} is not a run of recsieve ({what}): give a folder written by `train`.")
        if not self.finished:
            raise RunError(
                f"the training in {self.path} has not finished: continue with the same command and --resume."
            )
        if not self.manifest.exists():
            log.warning("%s was written by version 0.1: it has no hashes to check its files.", self.path)
        else:
            self._check_manifest()

    def _check_manifest(self) -> None:
        """Refuse a run of which a file is not as it was written: that finds damage, not malice."""
        with reading(self.manifest):
            files = dict(json.loads(self.manifest.read_text(encoding="utf-8"))["files"])
            for path in self._files:
                known = files.get(path.name)
                if path.exists() != (known is not None):
                    raise RunError(
                        f"{path} was {'added' if known is None else 'removed'}: train again in another folder."
                    )
                if known is not None and known != _mark(path):
                    raise RunError(
                        f"{path} is damaged, it has changed since it was written: train again in another folder."
                    )

    @property
    def _files(self) -> tuple[Path, ...]:
        """Those that a finished run may have, and that decide what it answers."""
        return (
            self.config, self.metrics, self.history, self.model, self.offset, self.final, self.trust, self.ids,
            self.interactions, self.per_user,
        )  # fmt: skip

    def write_config(self, settings: Settings, data: dict[str, Any]) -> None:
        """Write the settings of the run, and where its data came from."""
        tables = {"format": FORMAT, "settings": settings.model_dump(exclude_none=True), "data": data}
        write_text(self.config, tomli_w.dumps(tables))

    def read_config(self) -> dict[str, Any]:
        with reading(self.config):
            return tomllib.loads(self.config.read_text(encoding="utf-8"))

    def write_metrics(self, metrics: dict[str, Any]) -> None:
        """Write the results of the run, and then the manifest of all files, which finishes it."""
        write_text(self.metrics, json.dumps(_without_nan(metrics), indent=2) + "\n")
        files = {path.name: _mark(path) for path in self._files if path.exists()}
        write_text(self.manifest, json.dumps({"format": FORMAT, "files": files}, indent=1) + "\n")

    def read_metrics(self) -> dict[str, Any]:
        with reading(self.metrics):
            metrics = json.loads(self.metrics.read_text(encoding="utf-8"))
            if not isinstance(metrics, dict) or not isinstance(metrics.get("selected"), dict):
                raise ValueError("it does not say which step was selected")
            return metrics

    def write_frame(self, path: Path, frame: pl.DataFrame) -> None:
        with replacing(path) as temporary:
            frame.write_parquet(temporary)

    def read_frame(self, path: Path) -> pl.DataFrame:
        with reading(path):
            return pl.read_parquet(path, glob=False)  # a name may have brackets

    def write_weights(
        self, weights: Mapping[str, Tensor | Share], path: Path | None = None, group: Communicator = SINGLE_PROCESS
    ) -> None:
        write_tensors(path or self.model, weights, {}, group)

    def read_weights(self, path: Path | None = None) -> dict[str, Tensor]:
        path = path or self.model
        with reading(path):
            weights = load_file(path)
            for name, weight in weights.items():
                if not is_finite(weight):
                    raise ValueError(f"{name} holds NaN or infinity")
            return weights

    def write_split(self, split: Split) -> None:
        """Save the interactions of all parts as codes, and the ids of the codes; the first rank writes."""
        group = split.train.group
        blocks = ((name, block) for name in PARTS for block in in_order(getattr(split, name)))
        if not group.is_first:
            for _ in blocks:  # the others only hand over what they have
                pass
            return
        self.write_frame(
            self.ids, pl.concat([_id_rows("user", split.train.user_ids), _id_rows("item", split.train.item_ids)])
        )
        with TemporaryDirectory(dir=self.path, suffix=".part") as folder:
            rows = [_part_rows(name, block) for name, block in blocks] if group.size == 1 else _aside(blocks, folder)
            with replacing(self.interactions) as temporary:
                pl.concat(rows).sink_parquet(temporary)

    def read_split(self) -> Split:
        ids = self.read_frame(self.ids)
        with reading(self.interactions):
            user_ids, item_ids = _id_table(ids, "user"), _id_table(ids, "item")
            rows = pl.scan_parquet(self.interactions, glob=False)
            absent = rows.select(pl.col(OPTIONAL).null_count() == pl.len()).collect()
            known = [name for name in OPTIONAL if not absent[name].item()]
            train, validation, test, noise = (_part(rows, name, known, user_ids, item_ids) for name in PARTS)
            return Split(train, validation, test, noise)


def _mark(path: Path) -> dict[str, Any]:
    """The size and the SHA-256 of a file."""
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _without_nan(value: Any) -> Any:
    """NaN is not JSON: what is undefined becomes null."""
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _id_rows(kind: str, ids: pl.Series) -> pl.DataFrame:
    integer = ids.dtype == pl.Int64
    return pl.DataFrame({"id": ids.cast(pl.String)}).select(
        kind=pl.lit(kind), code=pl.int_range(pl.len(), dtype=pl.Int32), id="id", integer=pl.lit(integer)
    )


def _id_table(ids: pl.DataFrame, kind: str) -> pl.Series:
    rows = ids.filter(pl.col("kind") == kind).sort("code")
    return rows["id"].cast(pl.Int64) if rows["integer"].all() else rows["id"]


def _part_rows(name: str, part: Interactions) -> pl.LazyFrame:
    """The rows of a part; what they all have in common is repeated only while it is written."""
    columns = {
        "user": pl.Series(part.users, dtype=pl.Int32),
        "item": pl.Series(part.items, dtype=pl.Int32),
        **{name: pl.Series(values, dtype=OPTIONAL[name]) for name, values in _given(part).items()},
    }
    absent = {name: pl.lit(None, dtype) for name, dtype in OPTIONAL.items() if name not in columns}
    rows = pl.LazyFrame(columns).with_columns(part=pl.lit(name, dtype=pl.String), **absent)
    return rows.select("user", "item", *OPTIONAL, "part")


def _aside(blocks: Iterable[tuple[str, Interactions]], folder: str) -> list[pl.LazyFrame]:
    """Rows that are written aside as they come, so that those of all ranks are never in memory together."""
    paths: list[Path] = []
    for name, block in blocks:
        paths.append(Path(folder) / f"{len(paths)}.parquet")
        _part_rows(name, block).sink_parquet(paths[-1])
    return [pl.scan_parquet(path, glob=False) for path in paths]


def _given(part: Interactions) -> dict[str, np.ndarray]:
    return {name: values for name in OPTIONAL if (values := getattr(part, name)) is not None}


def _part(rows: pl.LazyFrame, name: str, known: list[str], user_ids: pl.Series, item_ids: pl.Series) -> Interactions:
    chosen = rows.filter(pl.col("part") == name).select("user", "item", *known).collect()
    # These index memory in compiled code, so that nothing of them is believed.
    part = Interactions(
        _array(chosen, "user", 0, len(user_ids) - 1), _array(chosen, "item", 0, len(item_ids) - 1), user_ids, item_ids
    )
    return replace(part, **{name: _array(chosen, name, *_BOUNDS[name]) for name in known})  # type: ignore[arg-type]


def _array(rows: pl.DataFrame, column: str, least: float, most: float) -> np.ndarray:
    """A column as it was written, of numbers between two bounds."""
    values = rows[column]
    if values.dtype != _TYPES[column] or values.has_nulls() or not values.is_between(least, most).all():
        raise ValueError(f"{column} holds what it cannot: {_TYPES[column]} from {least:g} to {most:g} is expected")
    return values.to_numpy()
