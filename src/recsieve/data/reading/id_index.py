"""A lookup between the user's own ids and codes, in both directions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


class IdIndex:
    """The ids of all users or items in the order of their codes; an id is looked up by its text."""

    def __init__(self, ids: pl.Series) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.ids.cast(pl.String).to_list())}

    def codes(self, texts: Iterable[str]) -> NDArray[np.int32]:
        """The code of each id, −1 if it is unknown."""
        codes = self._codes
        return np.array([codes.get(text, -1) for text in texts], np.int32)

    @cached_property
    def values(self) -> list[Any]:
        """The id of each code, as a Python value."""
        return self.ids.to_list()

    def texts(self, codes: NDArray[np.integer[Any]]) -> list[str]:
        """The ids of codes, as text."""
        return self.ids.gather(codes).cast(pl.String).to_list()
