"""Splits into training, validation and test, and repairing given splits."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.communicator import Communicator
from recsieve.data.codes import blocks, positions_within
from recsieve.data.filtering import pair_keys
from recsieve.data.interactions import Interactions
from recsieve.data.repeats import Merging
from recsieve.data.sharing import nth_smallest, renumbered
from recsieve.errors import ConfigError, DataError, did_you_mean

logger = logging.getLogger(__name__)

TRAIN, VALIDATION, TEST = 0, 1, 2
RATIOS = (0.8, 0.1, 0.1)
# Users with fewer interactions keep them all for training: there is nothing to learn from otherwise.
FEWEST_TO_SPLIT = 3


@dataclass(frozen=True)
class Split:
    """Three parts with the same users and items; training and validation keep the noise, the test does not."""

    train: Interactions
    validation: Interactions
    test: Interactions  # without the known false positives
    test_false_positives: Interactions  # and these are they
    report: SplitReport | None = field(default=None, compare=False, repr=False)  # on how it was read, if it was

    @classmethod
    def from_parts(cls, train: Interactions, validation: Interactions, test: Interactions) -> Split:
        """Move the known false positives out of the test."""
        noise = test.is_false_positive
        return cls(train, validation, test.take(~noise), test.take(noise))

    @classmethod
    def of_training(cls, train: Interactions) -> Split:
        """Interactions to fit to, with nothing held out."""
        nothing = train.take(slice(0))
        return cls(train, nothing, nothing, nothing)

    @property
    def parts(self) -> tuple[Interactions, Interactions, Interactions, Interactions]:
        """All four parts, in this order."""
        return self.train, self.validation, self.test, self.test_false_positives


def split_interactions(
    data: Interactions, how: str = "random", ratios: Sequence[float] = RATIOS, seed: int = 0
) -> Split:
    """Split at random per user ("random"), at two points in time ("time"), or by each user's last interactions
    ("leave-last-out").

    `ratios` are the shares of training, validation and test; a part with ratio 0 stays empty.
    """
    if how not in SPLITTERS:
        raise ConfigError(f"there is no split '{how}': {did_you_mean(how, SPLITTERS)}")
    if data.all_reduce_length() == 0:
        raise DataError("there are no interactions to split: give at least one.")
    part = SPLITTERS[how](data, _shares(ratios), np.random.default_rng(seed))
    train, validation, test = (data.take(part == number) for number in (TRAIN, VALIDATION, TEST))
    for name, rows, ratio in (("validation", validation, ratios[1]), ("test", test, ratios[2])):
        if ratio and not rows.all_reduce_length():
            logger.warning("the %s part of the split is empty: there are too few interactions", name)
    return numbered(Split.from_parts(train, validation, test))


def numbered(split: Split) -> Split:
    """In a group of ranks, number the rows of each part without gaps."""
    train, validation, test, noise = map(renumbered, split.parts)
    return replace(split, train=train, validation=validation, test=test, test_false_positives=noise)


@dataclass(frozen=True)
class SplitReport:
    """What was wrong with a split, in rows: repeated in a part, or also in an earlier part; and what merging did."""

    repeated_in_train: int = 0
    repeated_in_validation: int = 0
    repeated_in_test: int = 0
    validation_in_train: int = 0
    test_in_train: int = 0
    test_in_validation: int = 0
    false_positives_elsewhere: int = 0
    merging: Merging = field(default_factory=Merging)

    @property
    def counts(self) -> list[int]:
        return [count for name, count in asdict(self).items() if name != "merging"]

    @property
    def is_clean(self) -> bool:
        return not any(self.counts)

    def of_all(self, group: Communicator) -> SplitReport:
        """The sum over all ranks."""
        counts = group.sum(np.array(self.counts)).tolist()
        return replace(SplitReport(*counts), merging=self.merging.of_all(group))

    def lines(self) -> list[str]:
        """A sentence for each problem and what was done about it; none if there was no problem."""
        repeats = {
            "training": self.repeated_in_train,
            "validation": self.repeated_in_validation,
            "test": self.repeated_in_test,
        }
        overlaps = {
            ("validation", "training"): self.validation_in_train,
            ("test", "training"): self.test_in_train,
            ("test", "validation"): self.test_in_validation,
        }
        sentences = [
            f"{count:,} rows of the {part} part repeat a pair and were merged."
            for part, count in repeats.items()
            if count
        ]
        sentences += self.merging.lines()
        sentences += [
            f"{count:,} pairs of the {later} part are also in the {earlier} part: they stay in the {earlier} part only."
            for (later, earlier), count in overlaps.items()
            if count
        ]
        if count := self.false_positives_elsewhere:
            sentences.append(
                f"{count:,} false positives of the test are also in another part or its clean test and were left out."
            )
        return sentences


def make_disjoint(split: Split) -> tuple[Split, SplitReport]:
    """Keep a pair that is in two parts only in the earlier one, and report what was done.

    No part repeats a pair, but a pair of the test may also be among its false positives.
    """
    train, validation, test, noise = split.train, split.validation, split.test, split.test_false_positives
    in_train, test_in_train = _also_in(validation, train), _also_in(test, train)
    test_in_validation = _also_in(test, validation) & ~test_in_train
    elsewhere = _also_in(noise, train) | _also_in(noise, validation) | _also_in(noise, test)
    report = SplitReport(
        validation_in_train=int(in_train.sum()),
        test_in_train=int(test_in_train.sum()),
        test_in_validation=int(test_in_validation.sum()),
        false_positives_elsewhere=int(elsewhere.sum()),
    )
    test_kept = test.take(~(test_in_train | test_in_validation))
    return Split(train, validation.take(~in_train), test_kept, noise.take(~elsewhere)), report


def _also_in(part: Interactions, earlier: Interactions) -> NDArray[np.bool_]:
    return pl.Series(pair_keys(part)).is_in(pl.Series(pair_keys(earlier)).implode()).to_numpy()


def _shares(ratios: Sequence[float]) -> NDArray[np.float64]:
    """Ratios as shares of one."""
    valid = len(ratios) == 3 and all(math.isfinite(ratio) and ratio >= 0 for ratio in ratios) and ratios[0] > 0
    if not valid:
        raise ConfigError(
            f"the ratios are {tuple(ratios)}, but they are the shares of training, validation and test: "
            "give three numbers from 0, the first above 0, e.g. 0.8, 0.1 and 0.1."
        )
    return np.asarray(ratios, np.float64) / math.fsum(ratios)


def _random_per_user(data: Interactions, shares: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int8]:
    """Deal each user's interactions at random; parts have the right size on average, and within one for each user."""
    order = _own_order(data, random.permutation(data.all_reduce_length()))
    counts, before = data.user_counts(), positions_within(data.users, order, data.n_users)
    start = random.random(data.n_users)
    part = np.empty(len(data), np.int8)
    for rows in blocks(len(data)):
        users = data.users[rows]
        # Where a user's n interactions stand between 0 and n; the random start gives small users their fair chance.
        position = before[rows] + start[users]
        part[rows] = np.searchsorted(_ends(shares), position / counts[users], side="right")
        part[rows][(before[rows] == 0) | (counts[users] < FEWEST_TO_SPLIT)] = TRAIN
    return part


def _by_time(data: Interactions, shares: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int8]:
    """Cut at two moments, so that nothing in an earlier part is later than anything in a later part."""
    times = np.sort(_times(data, "time"))
    # Rows up to the end of training and of validation.
    ends = np.rint(np.cumsum(shares)[:2] * data.all_reduce_length()).astype(int)
    last_moments = nth_smallest(times, np.maximum(ends, 1), data.group)
    return np.searchsorted(last_moments, _times(data, "time"), side="left").astype(np.int8)


def _own_order(data: Interactions, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The interactions held here, in an order of those of all ranks."""
    if data.rows is None:
        return order
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    return np.argsort(position[data.rows])


def _leave_last_out(data: Interactions, shares: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int8]:
    """Each user's last interaction is for the test, the one before for validation."""
    order = np.argsort(_times(data, "leave-last-out"), kind="stable")
    from_end = positions_within(data.users, order[::-1], data.n_users)
    part = np.full(len(data), TRAIN, np.int8)
    for position, number in enumerate(number for number in (TEST, VALIDATION) if shares[number] > 0):
        part[from_end == position] = number
    part[(data.user_counts() < FEWEST_TO_SPLIT)[data.users]] = TRAIN
    return part


SPLITTERS: dict[str, Callable[[Interactions, NDArray[np.float64], np.random.Generator], NDArray[np.int8]]] = {
    "random": _random_per_user,
    "time": _by_time,
    "leave-last-out": _leave_last_out,
}


def _ends(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where training and validation end between 0 and 1; nothing ends where nothing comes after it."""
    comes_after = np.array([shares[VALIDATION] + shares[TEST], shares[TEST]])
    return np.where(comes_after > 0, np.cumsum(shares)[:2], np.inf)


def _times(data: Interactions, how: str) -> NDArray[np.int64]:
    if data.time is None:
        raise DataError(f"the split '{how}' needs times, but none were read: give time= a column, or split='random'.")
    return data.time
