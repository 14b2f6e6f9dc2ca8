"""Where a rank's own interactions stand among all, the other way round."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

BITS = 64  # of a word


class OwnIndex:
    """Finds interactions that are held here, given where they stand among those of all ranks: by counting bits."""

    def __init__(self, rows: NDArray[np.int64] | None) -> None:
        """Take `Interactions.rows`: ascending; None: all are here."""
        self._all_here, rows = rows is None, np.zeros(0, np.int64) if rows is None else rows
        n_words = rows[-1] // BITS + 1 if len(rows) else 0
        self._words = _words(rows, n_words)
        self._before = np.searchsorted(rows, BITS * np.arange(n_words))  # how many there are ahead of each word

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where interactions stand here; −1 stays."""
        return ids if self._all_here else _look_up(ids, self._words, self._before)


@njit(nogil=True, cache=True)
def _words(rows, n_words):
    """A bit for each interaction of all ranks, set for those that are here."""
    words = np.zeros(n_words, np.uint64)
    for row in rows:
        words[row // BITS] |= uint64(1) << uint64(row % BITS)
    return words


@njit(nogil=True, cache=True)
def _look_up(ids, words, before):
    index = np.empty_like(ids)
    for k in range(len(ids)):
        index[k] = -1
        if ids[k] >= 0:
            word, bit = ids[k] // BITS, uint64(ids[k] % BITS)
            index[k] = before[word] + _count(words[word] & ((uint64(1) << bit) - uint64(1)))
    return index


@njit(nogil=True, cache=True)
def _count(word):
    """How many bits are set: in each two of them, each four, each eight, then all bytes are added up."""
    word = word - ((word >> uint64(1)) & uint64(0x5555555555555555))
    word = (word & uint64(0x3333333333333333)) + ((word >> uint64(2)) & uint64(0x3333333333333333))
    word = (word + (word >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * uint64(0x0101010101010101)) >> uint64(56))
