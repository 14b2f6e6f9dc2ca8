"""A log of any size as a folder of Parquet parts, made part by part, so that memory stays that of one part.

python -m benchmarks.large_log FOLDER --interactions 100000000

The shape is that of the growing sizes of `benchmarks.run`: users in proportion to the interactions, items by their
square root. Few users and few items have most of the interactions, a fifth of the ratings is below 3, and every
hundredth row repeats a pair. Ids are text, and rows of a part come in no order.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.files import new_folder
from recsieve.simulation.drawing import unique_pairs

# Yelp's counts in the paper, from which the shape grows.
YELP_USERS, YELP_ITEMS, YELP_INTERACTIONS = 45_548, 57_396, 1_672_520
PART_INTERACTIONS = 1_000_000
REPEATS_EVERY = 100  # rows
RATING_SHARES = (0.1, 0.1, 0.2, 0.3, 0.3)  # of 1 to 5 stars


@dataclass(frozen=True)
class LargeLog:
    """How many distinct interactions, and from them how many users, items and parts."""

    interactions: int
    seed: int = 0

    @property
    def n_users(self) -> int:
        return max(self.n_parts, round(self.interactions * YELP_USERS / YELP_INTERACTIONS))

    @property
    def n_items(self) -> int:
        return max(100, round(YELP_ITEMS * (self.interactions / YELP_INTERACTIONS) ** 0.5))

    @property
    def n_parts(self) -> int:
        return -(-self.interactions // PART_INTERACTIONS)

    @cached_property
    def popularity(self) -> NDArray[np.float64]:
        """The share of all items up to each place, the most popular first."""
        weights = (np.arange(self.n_items) + 10.0) ** -0.9
        return np.cumsum(weights / weights.sum())

    @cached_property
    def items_by_popularity(self) -> NDArray[np.int64]:
        return np.random.default_rng(self.seed).permutation(self.n_items)

    def part(self, number: int) -> pl.DataFrame:
        """The rows of some users: user, item, rating."""
        rng = np.random.default_rng([self.seed, number])
        first_user, last_user = (self.n_users * n // self.n_parts for n in (number, number + 1))
        first, last = (self.interactions * n // self.n_parts for n in (number, number + 1))
        activity = rng.lognormal(0, 1, last_user - first_user)
        pairs = self._pairs(last - first, activity / activity.sum(), rng)
        pairs = rng.permutation(np.concatenate([pairs, rng.choice(pairs, len(pairs) // REPEATS_EVERY)]))
        rows = pl.DataFrame(
            {
                "user": first_user + pairs // self.n_items,
                "item": pairs % self.n_items,
                "rating": rng.choice(np.arange(1, 6, dtype=np.int8), len(pairs), p=RATING_SHARES),
            }
        )
        return rows.with_columns(pl.format("u{}", "user").alias("user"), pl.format("i{}", "item").alias("item"))

    def _pairs(self, n: int, activity: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Distinct pairs as user * n_items + item, users from 0; drawn again until there are enough."""
        found = np.empty(0, np.int64)
        while len(found) < n:
            users = np.repeat(np.arange(len(activity)), rng.multinomial(n - len(found) // 2, activity))
            found = unique_pairs(np.concatenate([found, users * self.n_items + self._items(len(users), rng)]))
        return rng.choice(found, n, replace=False, shuffle=False)

    def _items(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return self.items_by_popularity[np.searchsorted(self.popularity, rng.random(n) * self.popularity[-1])]

    def write(self, folder: Path) -> None:
        """Write all parts; a folder is there whole or not at all."""
        with new_folder(folder) as unfinished:
            for number in range(self.n_parts):
                self.part(number).write_parquet(unfinished / f"part-{number:05}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_log", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--interactions", type=int, default=1_000_000)
    options = parser.parse_args()
    LargeLog(options.interactions).write(options.folder)


if __name__ == "__main__":
    main()
