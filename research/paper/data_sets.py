"""The data of a reproduction: the authors' files, the part of them that is to be had, any log, or a simulated one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.data.loading import load_split
from recsieve.data.splitting import Split
from recsieve.data.statistics import describe
from recsieve.errors import ConfigError, DataError, did_you_mean
from recsieve.simulation.config import like
from recsieve.simulation.simulate import simulate
from research.paper import published

SIMULATED = "simulated:"
RULE = "rating < 3"  # a rating below 3 is a false positive (the paper, section 5)
# Whose settings the data of others are trained with: ratings under the same rule, of about the same share of noise.
OTHERS_PRESET = "yelp"


@dataclass(frozen=True)
class DataSet:
    """Data to reproduce a result on, and which of the paper's settings go with it."""

    name: str
    source: str  # as it was given
    about: str  # what a reader has to know of it
    preset: str  # the data set of the paper whose settings are used
    split: Split
    is_papers: bool = False  # whether published numbers are of this very data

    @property
    def cutoffs(self) -> tuple[int, int]:
        """The two list lengths of Table 3."""
        return published.CUTOFFS[self.preset]

    @property
    def steps_per_epoch(self) -> int:
        return self.steps_of(len(self.split.train))

    def steps_of(self, n_interactions: int) -> int:
        """The steps of an epoch of so many interactions, each with a negative."""
        return -(-2 * n_interactions // published.BATCH)

    def facts(self) -> dict[str, Any]:
        """What is worth writing down; its path as it was given."""
        split = self.split
        return {
            "name": self.name, "source": self.source, "about": self.about, "preset": self.preset,
            "is_papers": self.is_papers, "cutoffs": list(self.cutoffs), "steps_per_epoch": self.steps_per_epoch,
            "catalogue": {"users": split.train.n_users, "items": split.train.n_items},
            "validation": len(split.validation), "test": len(split.test), **describe(split.train),
        }  # fmt: skip

    def ramp(self, steps: int, epochs: int) -> int:
        """The paper's ε_N for this data: as it is for the paper's own, for others the same share of the training."""
        if self.is_papers:
            return steps
        whole_training = published.EPOCHS * published.steps_per_epoch(self.preset)
        return max(1, round(steps * epochs * self.steps_per_epoch / whole_training))


def open_data_set(
    source: str, *, rule: str | None = None, k_core: int = 0, preset: str | None = None, fidelity: str = "paper"
) -> DataSet:
    """Read data; `rule` marks false positives where the files do not say, by default a rating below 3."""
    if source.startswith(SIMULATED):
        return _simulated(source, preset)
    path = Path(source)
    if not path.exists():
        raise DataError(
            f"there is no '{source}': give a file of interactions, a folder with X.train.rating, X.valid.rating and "
            f"X.test.negative, or {SIMULATED}yelp."
        )
    if path.is_dir() and (name := _authors_name(path)):
        return _of_authors(path, source, name, preset, fidelity)
    split = load_split(path, false_positive=rule or RULE, k_core=k_core)
    core = f", users and items with at least {k_core}" if k_core else ""
    about = f"false positives: {rule or RULE}; split 8:1:1 at random for each user{core}"
    return DataSet(_name(path), source, about, _preset(preset), split)


def _simulated(source: str, preset: str | None) -> DataSet:
    """A world with the counts of one of the paper's sets: simulated:yelp, or simulated:yelp:0.1 for a tenth."""
    shape, _, scale = source.removeprefix(SIMULATED).partition(":")
    try:
        config = like(shape, float(scale or 1))
    except ValueError:
        raise ConfigError(f"'{source}' has no number at its end: give e.g. {SIMULATED}yelp:0.1.") from None
    log = simulate(config).log
    parts = {name: log.filter(pl.col("part") == name) for name in ("train", "validation", "test")}
    split = load_split(parts["train"], validation=parts["validation"], test=parts["test"], false_positive=config.rule)
    about = f"simulated, with the counts of {shape}{f' times {scale}' if scale else ''}"
    return DataSet(source.replace(":", "-"), source, about, _preset(preset or shape), split)


def _of_authors(path: Path, source: str, name: str, preset: str | None, fidelity: str) -> DataSet:
    """The authors' three files; without the training file, the validation file stands in for it."""
    known = name if name in published.TABLE2 else None
    if any(path.glob("*.train.rating")):
        # The authors' numbers come from the files as they stand, with their repeated rows.
        split = load_split(path, check=fidelity == "paper")
        return DataSet(name, source, "the authors' files", _preset(preset or known), split, is_papers=known is not None)
    (validation,), (test,) = path.glob("*.valid.rating"), path.glob("*.test.negative")
    split = load_split(validation, test=test, check=fidelity == "paper")
    about = (
        "the paper's own validation file stands in as the training set (its training file is not available), a ninth "
        "of it held out for validation; the paper's own test"
    )
    return DataSet(_name(path), source, about, _preset(preset or known), split)


def _authors_name(folder: Path) -> str | None:
    """What the authors call the data in a folder, by the names of the files; None if there are none of theirs."""
    names = {path.name.partition(".")[0] for path in folder.glob("*.valid.rating")}
    names &= {path.name.partition(".")[0] for path in folder.glob("*.test.negative")}
    if len(names) != 1:
        return None
    spelt = {"amazon_book": "amazon-book", "amazonbook": "amazon-book", "amazon": "amazon-book"}
    return spelt.get(names.copy().pop().lower(), names.pop().lower())


def _name(path: Path) -> str:
    """The last part of a path that says something."""
    parts = [part for part in path.parts if not re.match(r"interactions|\.+$", part)]
    return Path(parts[-1]).stem if parts else "data"


def _preset(name: str | None) -> str:
    if name is None:
        return OTHERS_PRESET
    if name not in published.TABLE2:
        raise ConfigError(f"the paper has no data set '{name}': {did_you_mean(name, published.TABLE2)}")
    return name
