"""The result of an audit: a ranked table, a summary, cleaned data and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.audit.labelled import labels_of
from recsieve.audit.pair_noise import PairNoise
from recsieve.data.interactions import CLEAN, NOISY, Interactions
from recsieve.errors import ConfigError, DataError


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
        """`data` without the share that is most probably noise, or without what is so with at least a probability.

        What is known to be noise is left out in any case, and counts in the share; what is known to be none stays.
        """
        if (share is None) == (threshold is None):
            raise ConfigError("give a share of the interactions to take out, or a threshold of the probability.")
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
                f"there are too few labels for a probability of noise, and {why}: mark more false positives, or give a "
                "share."
            )
        return self.probability

    def save(self, folder: Path | str) -> None:
        """Write the result files, audit.json last: where it stands, the others are whole."""
        from recsieve.audit.folder import write_audit

        write_audit(self, Path(folder))

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
        """Write the cleaned data, and weights if there are probabilities, as Parquet or also as CSV with the list.

        `escape_formulas` is for CSV that a spreadsheet opens: see `without_formulas`. `rows_of` gives
        the rows to write for the interactions that stay, such as those of the log they were read from.
        """
        from recsieve.audit.folder import write_frame
        from recsieve.storage.spreadsheet import without_formulas

        frames = {"cleaned": rows_of(self.clean(share=share, threshold=threshold))}
        if self.probability is not None:
            frames["weights"] = self.data.to_frame().select("user", "item").with_columns(weight=self.weights())
        paths = {Path(folder) / f"{name}.parquet": frame for name, frame in frames.items()}
        if csv:
            texts = {path.with_suffix(".csv"): frame for path, frame in paths.items()}
            texts[Path(folder) / "audit.csv"] = self.table
            paths |= {path: without_formulas(frame) if escape_formulas else frame for path, frame in texts.items()}
        for path, frame in paths.items():
            write_frame(path, frame)
        return list(paths)

    @classmethod
    def load(cls, folder: Path | str) -> Audit:
        """Read back what `save` wrote."""
        from recsieve.audit.folder import read_audit

        return read_audit(Path(folder))


def _check(name: str, value: float | None) -> float:
    if value is None or not 0 <= value <= 1:
        raise ConfigError(f"{name} is {value}: give a number from 0 to 1, e.g. 0.1.")
    return value
