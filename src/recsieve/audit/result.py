"""The result of an audit: a ranked table, a summary, cleaned data, weights, and its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from recsieve.audit.pair_noise import PairNoise
from recsieve.audit.pair_scores import PairScores
from recsieve.data.interactions import Interactions
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.files import replacing, write_text

TABLE, SUMMARY, SHOWN = "audit.parquet", "audit.json", "shown.parquet"
CLEANED, WEIGHTS, PAIRS = "cleaned.parquet", "weights.parquet", "pairs.safetensors"


@dataclass(frozen=True)
class Audit:
    """Which interactions are probably noise, and why.

    `scores` and `probability` are in the order of `data` (the interactions given, repeated pairs made one); `table`
    holds the same with reasons and evidence, the most suspicious first. Without labels there is no probability.
    """

    data: Interactions
    table: pl.DataFrame
    summary: dict[str, Any]
    shown: pl.DataFrame  # more of the most suspicious interactions: loss curves, and what is alike in the profile
    scores: NDArray[np.float32]
    probability: NDArray[np.float32] | None = None  # 1 or 0 where it is known
    pairs: PairNoise | None = None  # of any pair, also one that was never observed

    def weights(self) -> NDArray[np.float32]:
        """1 − P of each interaction of `data`, for any training that takes weights."""
        return 1 - self._probability("weights are 1 − P")

    def clean(self, *, share: float | None = None, threshold: float | None = None) -> Interactions:
        """`data` without the share that is most probably noise, or without what is so with at least a probability."""
        if (share is None) == (threshold is None):
            raise ConfigError("give a share of the interactions to take out, or a threshold of the probability.")
        if threshold is not None:
            _check("threshold", threshold)
            return self.data.take(self._probability("a threshold is one of P") < threshold)
        _check("share", share)
        suspicion = self.scores if self.probability is None else self.probability
        taken_out = np.argsort(-suspicion, kind="stable")[: round(share * len(suspicion))]  # type: ignore[operator]
        return self.data.take(np.setdiff1d(np.arange(len(self.data)), taken_out))

    def _probability(self, why: str) -> NDArray[np.float32]:
        if self.probability is None:
            raise DataError(f"without labels there is no probability of noise, and {why}: mark some false positives.")
        return self.probability

    def save(self, folder: Path | str) -> None:
        """Write the result files; audit.json is the last, so that where it stands the others are whole."""
        path = Path(folder)
        _write_frame(path / TABLE, self.table)
        _write_frame(path / SHOWN, self.shown)
        if self.pairs is not None:
            frame = self.data.to_frame().select("user", "item").with_columns(weight=self.weights())
            _write_frame(path / WEIGHTS, frame)
            with replacing(path / PAIRS) as temporary:
                save_file(self.pairs.logits.arrays(), temporary)
        write_text(path / SUMMARY, json.dumps(self.summary, indent=2, ensure_ascii=False) + "\n")


def read_summary(folder: Path | str) -> dict[str, Any]:
    """The summary of an audit that was saved."""
    path = Path(folder) / SUMMARY
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{folder} holds no {SUMMARY}: give a folder that `audit` has written.") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path} is damaged or not of recsieve ({error}): run the audit again.") from None


def read_pairs(folder: Path | str) -> PairNoise | None:
    """The probability of any pair from an audit that was saved; None if it had no labels."""
    read_summary(folder)
    path = Path(folder) / PAIRS
    if not path.exists():
        return None
    try:
        return PairNoise(PairScores(**load_file(path)))
    except (OSError, SafetensorError, TypeError) as error:
        raise RunError(f"{path} is damaged or not of recsieve ({error}): run the audit again.") from None


def _write_frame(path: Path, frame: pl.DataFrame) -> None:
    with replacing(path) as temporary:
        frame.write_parquet(temporary)


def _check(name: str, value: float | None) -> None:
    if value is None or not 0 <= value <= 1:
        raise ConfigError(f"{name} is {value}: give a number from 0 to 1, e.g. 0.1.")
