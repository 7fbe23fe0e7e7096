"""Which rows of a table are equal to the last bit, found by hashing, without sorting."""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import Array, IntArray, in_rows
from ipforest._internal.kernels import inner_njit, njit

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio times 2**64: products by it spread over all bits (Knuth, volume 3, section 6.4)."""
HALF = np.uint64(32)


def distinct_rows(rows: Array) -> tuple[IntArray, IntArray]:
    """Find the rows that occur.

    Parameters
    ----------
    rows : ndarray of int64 or float64, shape (n, width)
        Floats are equal if all bits are.

    Returns
    -------
    first : ndarray of int64, shape (n_distinct,)
        Where each occurs first, ascending.
    number : ndarray of int64, shape (n,)
        Which of these each row is.
    """
    n = rows.shape[0]
    first, number = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    table = np.full(1 << (2 * n).bit_length(), -1, dtype=np.int64)
    n_distinct = _number(in_rows(rows).view(np.uint64), table, first, number)
    return first[:n_distinct].copy(), number


@njit
def _number(rows: Array, table: Array, first: Array, number: Array) -> int:
    """Look rows up in an open hash table of the numbers of distinct ones, at most half full."""
    n_distinct, last = 0, table.size - 1
    for i in range(rows.shape[0]):
        code = np.uint64(0)
        for k in range(rows.shape[1]):
            code = (code ^ rows[i, k]) * MULTIPLIER
            code ^= code >> HALF
        place = np.int64(code & np.uint64(last))
        while table[place] >= 0 and not _are_equal(rows, first[table[place]], i):
            place = (place + 1) & last
        if table[place] < 0:
            table[place] = n_distinct
            first[n_distinct] = i
            n_distinct += 1
        number[i] = table[place]
    return n_distinct


@inner_njit
def _are_equal(rows: Array, i: int, j: int) -> bool:
    k = 0
    while k < rows.shape[1] and rows[i, k] == rows[j, k]:
        k += 1
    return bool(k == rows.shape[1])
