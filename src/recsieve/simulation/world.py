"""A simulated world: its log of clicks, the truth behind it, and how both are saved."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from recsieve.files import new_folder
from recsieve.simulation.config import WorldConfig

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Truth:
    """The hidden truth: what users like, how good items are, and what they promise."""

    tastes: NDArray[np.float32]  # (users, topics) from 0 (indifferent) to 1
    topics: NDArray[np.int32]  # (items,) the topic of each item, ascending
    quality: NDArray[np.float32]  # (items,) what an item holds, around 0
    appeal_gap: NDArray[np.float32]  # (items,) how much more than that its headline promises, from 0
    popularity: NDArray[np.float64]  # (items,) how often an item is shown, relative to others of its topic

    def liking(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> NDArray[np.float64]:
        """How much users like the topics of items."""
        return np.asarray(self.tastes[users, self.topics[items]], dtype=np.float64)

    def enjoyment(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> NDArray[np.float64]:
        """How much users enjoy items: a topic they like, of good quality, that promises no more than it keeps."""
        holds = 0.5 * self.quality[items] - self.appeal_gap[items]
        return np.asarray(6 * self.liking(users, items) + holds, dtype=np.float64)


@dataclass(frozen=True)
class World:
    """A log of clicks and the truth behind it; user 17 and item 204 are "u17" and "i204" in the log."""

    config: WorldConfig
    seed: int
    truth: Truth
    threshold: float  # the enjoyment with which half of the people would be satisfied
    log: pl.DataFrame  # user, item, rating or dwell_seconds, time, shown_position, part

    def preference(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> NDArray[np.float64]:
        """The probability that users are satisfied with items, clicked or not."""
        return np.asarray(expit(self.truth.enjoyment(users, items) - self.threshold))


def write_world(world: World, folder: Path) -> None:
    """Write a world to a new or empty folder: its three parts, the rule, and the latent truth in `world/`."""
    with new_folder(folder) as complete:
        _write_files(world, complete)


def _write_files(world: World, folder: Path) -> None:
    (folder / "world").mkdir()
    for part in PARTS:
        world.log.filter(pl.col("part") == part).drop("part").write_parquet(folder / f"{part}.parquet")
    about = {
        "rule": world.config.rule,
        "seed": world.seed,
        "threshold": world.threshold,
        "config": asdict(world.config),
    }
    (folder / "truth.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    truth = world.truth
    users = pl.DataFrame({"user": names("u", np.arange(len(truth.tastes))), "tastes": truth.tastes})
    users.write_parquet(folder / "world" / "users.parquet")
    items = pl.DataFrame(
        {
            "item": names("i", np.arange(len(truth.topics))),
            "topic": truth.topics,
            "quality": truth.quality,
            "appeal_gap": truth.appeal_gap,
            "popularity": truth.popularity,
        }
    )
    items.write_parquet(folder / "world" / "items.parquet")


def names(prefix: str, codes: NDArray[np.integer]) -> pl.Series:
    """The ids of codes: "u17" for user 17."""
    return pl.select(pl.format(prefix + "{}", pl.Series(codes))).to_series()
