"""The size of a simulated world and its noise; worlds of the size of the paper's data sets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from recsieve.errors import ConfigError, did_you_mean

# The rule that marks a false positive, by the signal that a user leaves after a click (the paper, section 5.1).
RULES = {"rating": "rating < 3", "dwell_seconds": "dwell_seconds < 10"}


@dataclass(frozen=True)
class Lures:
    """What makes people click, apart from chance."""

    taste: float  # how much they look for the topics they like
    promise: float  # how far headlines promise more than the item holds
    position: float  # how much they favour what stands on top of the page


# Each mechanism makes its own kind of noise: clicks on headlines that disappoint, on whatever stood on top, and
# on whatever was there.
MECHANISMS = {
    "clickbait": Lures(taste=4.0, promise=1.0, position=0.3),
    "position": Lures(taste=4.0, promise=0.1, position=3.0),
    "random": Lures(taste=0.5, promise=0.1, position=0.3),
}


def _check_name(what: str, name: str, options: Iterable[str]) -> None:
    if name not in options:
        raise ConfigError(f"there is no {what} '{name}': {did_you_mean(name, options)}")


@dataclass(frozen=True)
class WorldConfig:
    """The size of a simulated world, the amount of noise, and what causes most of it.

    The counts are those of the training part, as in the paper's Table 2; validation and test have an eighth of its
    interactions each.
    """

    n_users: int
    n_items: int
    n_interactions: int
    n_false_positives: int
    signal: str = "rating"  # or dwell_seconds
    mechanism: str = "clickbait"  # or position, random
    n_topics: int = 16
    topics_per_user: int = 2
    popularity_skew: float = 1.0  # 0: every item is shown as often; 1: as by Zipf's law
    activity_skew: float = 1.0  # 0: every user clicks as often; the spread of the logarithm of clicks

    def __post_init__(self) -> None:
        _check_name("signal", self.signal, RULES)
        _check_name("mechanism", self.mechanism, MECHANISMS)
        self._check_size()
        if not 0 <= self.n_false_positives < self.n_interactions:
            raise ConfigError(
                f"n_false_positives is {self.n_false_positives}, but {self.n_interactions} interactions need at least "
                "one true positive: give a number from 0 (no noise) to below that."
            )
        if not 1 <= self.topics_per_user <= self.n_topics <= self.n_items:
            raise ConfigError(
                f"{self.topics_per_user} of {self.n_topics} topics per user do not fit {self.n_items} items: "
                "give topics_per_user from 1 to n_topics, and n_topics up to n_items."
            )
        for name in ("popularity_skew", "activity_skew"):
            if not 0 <= getattr(self, name) <= 3:
                raise ConfigError(f"{name} is {getattr(self, name)}: give a number from 0 (all equal) to 3, e.g. 1.")

    def _check_size(self) -> None:
        size = f"{self.n_users} users and {self.n_items} items"
        if min(self.n_users, self.n_items) < 1:
            raise ConfigError(f"a world of {size} is empty: give at least one of each.")
        fewest = self.n_users + self.n_items  # each user and each item occurs in training
        most = self.n_users * self.n_items // 5  # nobody clicks on more than half of the catalogue
        if not fewest <= self.n_interactions <= most:
            raise ConfigError(
                f"{self.n_interactions} interactions do not fit {size}: give {fewest} to {most}"
                + (", or more users and items." if fewest > most else ".")
            )

    @property
    def n_held_out(self) -> int:
        """The number of interactions of the validation part, and of the test part."""
        return self.n_interactions // 8

    @property
    def n_logged(self) -> int:
        """The number of interactions of all three parts."""
        return self.n_interactions + 2 * self.n_held_out

    @property
    def rule(self) -> str:
        """The rule that marks the false positives in the log."""
        return RULES[self.signal]

    def with_noise_share(self, share: float) -> WorldConfig:
        """The same world with another share of false positives."""
        if not 0 <= share < 1:
            raise ConfigError(f"the noise share is {share}: give a number from 0 (no noise) to below 1, e.g. 0.25.")
        return replace(self, n_false_positives=int(share * self.n_interactions))


# The paper's Table 2, whose interactions are those of the training split alone.
TABLE2 = {
    "adressa": {"users": 212_231, "items": 6_596, "interactions": 419_491, "false_positives": 247_628},
    "amazon-book": {"users": 80_464, "items": 98_663, "interactions": 2_714_021, "false_positives": 199_475},
    "yelp": {"users": 45_548, "items": 57_396, "interactions": 1_672_520, "false_positives": 260_581},
}


def like(name: str, scale: float = 1.0) -> WorldConfig:
    """A world with the counts of one of the paper's data sets, scaled.

    Users, interactions and false positives are multiplied by the scale, so users stay as active as they are. Items are
    multiplied by its square root, so that there are enough to rank, but with at least ten interactions each.
    """
    _check_name("data set of the paper", name, TABLE2)
    if not 0 < scale <= 100:
        raise ConfigError(f"the scale is {scale}: give a number above 0 to 100, e.g. 0.01 for a hundredth.")
    full = TABLE2[name]
    n_interactions = round(full["interactions"] * scale)
    try:
        return WorldConfig(
            n_users=round(full["users"] * scale),
            n_items=min(round(full["items"] * math.sqrt(scale)), n_interactions // 10),
            n_interactions=n_interactions,
            n_false_positives=round(full["false_positives"] * scale),
            signal="dwell_seconds" if name == "adressa" else "rating",
        )
    except ConfigError as error:
        raise ConfigError(f"the scale {scale} is too small for '{name}': {error}") from error


def demo_world() -> WorldConfig:
    """A small world with strong clickbait, in which denoising can be seen to help."""
    return WorldConfig(
        n_users=1_200,
        n_items=800,
        n_interactions=45_000,
        n_false_positives=11_250,
        popularity_skew=0.6,
        activity_skew=0.5,
    )
