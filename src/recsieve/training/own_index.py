"""Where a rank's own interactions stand among all, the other way round."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

BLOCK = 64  # interactions of all ranks: this many are looked through instead of searching all that are here


class OwnIndex:
    """Finds interactions that are held here, given where they stand among those of all ranks."""

    def __init__(self, rows: NDArray[np.int64] | None) -> None:
        """Take `Interactions.rows`: ascending; None: all are here."""
        self._rows = rows
        last = 0 if rows is None or len(rows) == 0 else int(rows[-1])
        self._starts = None if rows is None else np.searchsorted(rows, np.arange(0, last + 1, BLOCK))

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where interactions stand here; −1 stays."""
        return ids if self._rows is None else _look_up(ids, self._rows, self._starts)


@njit(nogil=True, cache=True)
def _look_up(ids, rows, starts):
    index = np.empty_like(ids)
    for k in range(len(ids)):
        place = np.int64(-1)
        if ids[k] >= 0:
            place = starts[ids[k] // BLOCK]
            while rows[place] < ids[k]:
                place += 1
        index[k] = place
    return index
