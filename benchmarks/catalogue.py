"""What is compared, at which shapes of data, and what must be reached. Light to import: it is the runner's."""

from __future__ import annotations

from dataclasses import dataclass

SIDES = ("agree", "plain", "ours")  # the order of running: a time counts only where the results agree


@dataclass(frozen=True)
class Comparison:
    """One row of the table; `required` and `aim` are ratios at Yelp's shape."""

    title: str
    unit: str
    required: float | None = None
    aim: float | None = None


COMPARISONS = {
    "gmf-epoch": Comparison("GMF with T-CE, epoch with sampling", "s/epoch", 40, 50),
    "neumf-epoch": Comparison("NeuMF with T-CE, epoch with sampling", "s/epoch", 20, 30),
    "cdae-epoch": Comparison("CDAE, epoch (plain: all items; ours: sampled)", "s/epoch"),
    "recbole-neumf": Comparison("NeuMF, epoch, against RecBole 1.2.1", "s/epoch"),
    "recbole-cdae": Comparison("CDAE, epoch, against RecBole 1.2.1", "s/epoch", 30, 50),
    "recbole-bpr": Comparison("MF with BPR, epoch, against RecBole 1.2.1", "s/epoch", 10),
    "recbole-lightgcn": Comparison("LightGCN with BPR, epoch, against RecBole 1.2.1", "s/epoch", 5),
    "gmf-ranking": Comparison("GMF full ranking, top 100", "s/user", 250, 500),
    "neumf-ranking": Comparison("NeuMF full ranking, top 100", "s/user", 7, 12),
    "reading": Comparison("reading and encoding the authors' file", "s", 20, 40),
    "sampling": Comparison("sampling the negatives of an epoch", "s/epoch"),
    "file-to-epoch": Comparison("from a Parquet file to an epoch of GMF", "s"),
}


@dataclass(frozen=True)
class Effort:
    """How much of the slow way is run before the rest is extrapolated, and how often ours is repeated."""

    agree_steps: int = 300
    plain_steps: int = 200
    cdae_steps: int = 5  # of 1,024 users and all items each
    plain_users: int = 100
    our_users: int = 500  # of a model that is slow to rank; a fast one ranks all
    repeats: int = 3


@dataclass(frozen=True)
class Shape:
    """Data to compare on: simulated like Yelp's at a scale, or real where there is no scale."""

    comparisons: tuple[str, ...]
    scale: float | None = None
    effort: Effort = Effort()
    most_memory_mb: float | None = None  # that ours may need


_AT_ONE_SIZE = tuple(name for name in COMPARISONS if name != "file-to-epoch")
_YELP_INTERACTIONS = 1_672_520
_GROWTH = Effort(agree_steps=100)

SHAPES = {
    "yelp": Shape(_AT_ONE_SIZE, 1.0),
    "ml-1m": Shape(_AT_ONE_SIZE),
    "0.1M": Shape(("file-to-epoch",), 1e5 / _YELP_INTERACTIONS, _GROWTH),
    "1M": Shape(("file-to-epoch",), 1e6 / _YELP_INTERACTIONS, _GROWTH),
    "10M": Shape(("file-to-epoch",), 1e7 / _YELP_INTERACTIONS, _GROWTH, most_memory_mb=1_600),
    "small": Shape(tuple(COMPARISONS), 0.01, Effort(20, 5, 1, 10, 10, 1)),  # to try the benchmarks themselves
}


def required_at(shape: str, comparison: str) -> float | None:
    """The ratio that must be reached, which is said of Yelp's shape only."""
    return COMPARISONS[comparison].required if shape == "yelp" else None
