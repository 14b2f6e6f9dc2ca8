"""The search ranges of options."""

from collections.abc import Mapping
from typing import NamedTuple


class Range(NamedTuple):
    """Numbers from low to high on a log scale: from 0.01 to 0.02 is as far as from 0.1 to 0.2."""

    low: float
    high: float
    whole: bool = False


# By option: a range of numbers, or the words to choose from.
SearchSpace = Mapping[str, Range | tuple[str, ...]]
