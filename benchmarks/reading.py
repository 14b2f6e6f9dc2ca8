"""Reading a file into coded interactions, and from a file to a trained epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import plain
from benchmarks.inputs import AUTHORS_FILE, FEW, PARQUET_FILE
from benchmarks.measure import Agreement, Case, Timing, median_of, peak_mb, seconds, timed
from benchmarks.training import Epoch, new_model, plain_epoch, run_epoch
from recsieve.data.interactions import Interactions
from recsieve.data.reading.formats import read_interactions
from recsieve.denoisers import Truncated
from recsieve.objectives import BCE

RULE = "rating < 3"


class Reading:
    """A file of the paper's authors, into columns and a way to ask whether a pair is there."""

    def agree(self, case: Case) -> Agreement:
        path = case.folder / AUTHORS_FILE
        return same_rows(read_with_pairs(path), plain.read_ratings(path))

    def plain(self, case: Case) -> Timing:
        plain.read_ratings(case.folder / FEW / AUTHORS_FILE)
        return Timing(seconds(lambda: plain.read_ratings(case.folder / AUTHORS_FILE)))

    def ours(self, case: Case) -> Timing:
        read_with_pairs(case.folder / FEW / AUTHORS_FILE)
        return median_of(case.effort.repeats, lambda: read_with_pairs(case.folder / AUTHORS_FILE))


class FileToEpoch:
    """All that a training of GMF starts with: read a Parquet file with text ids, and train an epoch."""

    def agree(self, case: Case) -> Agreement:
        path = case.folder / PARQUET_FILE
        same_rows(read_with_pairs(path, RULE), plain.read_log(path))
        return Epoch("gmf").agree(case)

    def plain(self, case: Case) -> Timing:
        plain.read_log(case.folder / FEW / PARQUET_FILE)
        reading, ratings = timed(lambda: plain.read_log(case.folder / PARQUET_FILE))
        peak = peak_mb()
        dataset = plain.PairDataset(ratings)
        sampling = seconds(dataset.sample_negatives)
        epoch = plain_epoch(plain.GMF(*ratings.observed.shape), dataset, sampling, case)
        parts = {"reading": reading, "peak_mb_after_reading": peak, **epoch.parts}
        return Timing(reading + epoch.seconds, epoch.extrapolated, parts=parts)

    def ours(self, case: Case) -> Timing:
        """Compile on a few rows, then read and train once, so that the memory is that of one training."""
        denoiser = Truncated(plain.MAX_DROP_RATE, ramp_steps=plain.RAMP_STEPS)
        few = read_interactions(case.folder / FEW / PARQUET_FILE, false_positive=RULE)
        run_epoch(new_model("gmf", few), few, denoiser, plain.BATCH, BCE())
        reading, data = timed(lambda: read_interactions(case.folder / PARQUET_FILE, false_positive=RULE))
        peak = peak_mb()
        epoch = seconds(lambda: run_epoch(new_model("gmf", data), data, denoiser, plain.BATCH, BCE()))
        return Timing(reading + epoch, parts={"reading": reading, "peak_mb_after_reading": peak, "epoch": epoch})


def read_with_pairs(path: Path, false_positive: str | None = None) -> Interactions:
    data = read_interactions(path, false_positive=false_positive)
    data.csr  # noqa: B018  # computed when it is first asked for
    return data


def same_rows(ours: Interactions, theirs: plain.Ratings) -> Agreement:
    """Count the rows in which user, item or flag differ; as many as there are if the numbers of rows do."""
    what = f"rows that differ of {len(ours):,}"
    if len(ours) != len(theirs.pairs) or theirs.observed.nnz != len(ours.csr.items):
        return Agreement(what, len(ours), 0)
    pairs = np.stack([ours.users, ours.items], axis=1) != np.array(theirs.pairs)
    flags = ours.is_false_positive == np.array(theirs.flags, bool)
    return Agreement(what, float((pairs.any(axis=1) | flags).sum()), 0)
