"""The files of a shape: made once, kept in a cache, and read by every measurement."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.catalogue import SHAPES
from benchmarks.measure import Skipped
from recsieve.data.interactions import CLEAN, NOISY, Interactions
from recsieve.simulation.simulate import like, simulate

AUTHORS_FILE = "bench.train.rating"  # user, item, flag (0: false positive), with tabs between
PARQUET_FILE = "log.parquet"  # user, item and rating, with ids that are text
FEW, FEW_ROWS = "few", 1_000  # a folder with the first rows alone, to warm up with
COLUMNS = ("users", "items", "flags")
REAL = Path(__file__).parents[2] / "shared" / "data"


def prepare(shape: str, cache: Path) -> Path:
    """Make the files of a shape unless they are there; gives their folder."""
    folder = cache / shape
    if not folder.exists():
        partial = cache / f".{shape}"
        shutil.rmtree(partial, ignore_errors=True)
        log = _log(shape)
        _write(log, partial)
        _write(log.head(FEW_ROWS), partial / FEW)
        partial.rename(folder)
    return folder


def load(folder: Path) -> Interactions:
    """The interactions of a shape, coded already."""
    users, items, flags = (np.load(folder / f"{name}.npy") for name in COLUMNS)
    ids = (pl.Series(np.arange(codes.max() + 1)) for codes in (users, items))
    return Interactions(users, items, *ids, flags)


def _log(shape: str) -> pl.DataFrame:
    """User and item codes and ratings, of which those below 3 mark a false positive."""
    if (scale := SHAPES[shape].scale) is None:
        return _real_log(shape)
    log = simulate(like("yelp", scale)).log.filter(pl.col("part") == "train")
    codes = (pl.col(name).str.slice(1).cast(pl.Int32) for name in ("user", "item"))  # "u17" is user 17
    return log.select(*codes, "rating")


def _real_log(name: str) -> pl.DataFrame:
    path = REAL / name / "interactions.parquet"
    if not path.exists():
        raise Skipped(f"the real data '{name}' is not beside this clone")
    log = pl.read_parquet(path, columns=["user", "item", "rating"])
    codes = (pl.col(each).rank("dense").cast(pl.Int32) - 1 for each in ("user", "item"))
    return log.select(*codes, "rating")


def _write(log: pl.DataFrame, folder: Path) -> None:
    folder.mkdir(parents=True)
    false = log["rating"].to_numpy() < 3
    flags = np.where(false, NOISY, CLEAN).astype(np.int8)
    for name, column in zip(COLUMNS, (log["user"].to_numpy(), log["item"].to_numpy(), flags), strict=True):
        np.save(folder / f"{name}.npy", column)
    flagged = log.select("user", "item", flag=pl.Series(~false).cast(pl.Int8))
    flagged.write_csv(folder / AUTHORS_FILE, separator="\t", include_header=False)
    ids = (pl.format(name[0] + "{}", name).alias(name) for name in ("user", "item"))
    log.select(*ids, "rating").write_parquet(folder / PARQUET_FILE)
