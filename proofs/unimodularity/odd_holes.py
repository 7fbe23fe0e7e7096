"""Short reasons why a matrix is not totally unimodular: chordless cycles of nonzeros whose sum is 2 modulo 4.

Rows and columns are the vertices of a bipartite graph, nonzeros its edges. A cycle without chords (a *hole*) is a
square submatrix with two nonzeros in each line. If its entries sum to 2 modulo 4 the hole is *odd*: the submatrix is a
minimal violator with determinant -2 or 2 (Camion 1965). Matrices that are not totally unimodular usually have one of
a few lines, which breadth-first search finds long before a decomposition would.

**Where is looked.** Breadth-first search from a line gives each line it reaches a shortest path from there. An edge
between two of these paths closes a cycle, short ones first. A chord cuts a cycle C in two, and as it belongs to both,
the sums of the two are together that of C plus 2 modulo 4: if C is odd, both are odd or both are even. The cycle is
cut at chords of the first kind; with one of the second it is given up.

**How long.** The search promises nothing: finding an odd hole is hard in general. Line number k, those of the most
nonzeros first, may spend 1/k of as many steps as there are nonzeros, and at least `MIN_STEPS`: together about
log(nonzeros) passes over the matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ipforest._internal.kernels import inner_njit, njit

Array = NDArray[np.int64]

MIN_STEPS = 64
"""Steps that every line may spend."""
MIN_STEPS_OF_MATRIX = 1 << 16
"""A matrix with fewer nonzeros is searched as if it had so many."""


def odd_hole(matrix: sparse.csr_array) -> tuple[Array, Array] | None:
    """Look for a short chordless cycle of nonzeros whose sum is 2 modulo 4.

    Parameters
    ----------
    matrix : (m, n) scipy csr_array of -1, 1
        Each entry stored once.

    Returns
    -------
    rows, columns : arrays of int64, or None
        A minimal violating submatrix, ascending. None says nothing about the matrix.
    """
    m = matrix.shape[0]
    by_row, by_column = sparse.csr_array(matrix), sparse.csc_array(matrix)
    start = np.concatenate([by_row.indptr, by_row.nnz + by_column.indptr[1:]]).astype(np.int64)
    line = np.concatenate([by_row.indices + m, by_column.indices]).astype(np.int64)
    entry = np.concatenate([by_row.data, by_column.data]).astype(np.int64)
    order = np.argsort(-np.diff(start), kind="stable")
    hole = np.sort(_search(start, line, entry, order, max(by_row.nnz, MIN_STEPS_OF_MATRIX)))
    return (hole[hole < m], hole[hole >= m] - m) if hole.size else None


@njit
def _search(start: Array, line: Array, entry: Array, order: Array, steps: int) -> Array:
    """Search from each line in turn; return the lines of an odd hole, or none."""
    lines = order.size
    above, depth, total = np.empty(lines, np.int64), np.empty(lines, np.int64), np.empty(lines, np.int64)
    reached = np.full(lines, -1, np.int64)  # the last search that reached a line
    place = np.full(lines, -1, np.int64)  # of a line on the cycle that is looked at
    queue, cycle, step = np.empty(lines, np.int64), np.empty(lines, np.int64), np.empty(lines, np.int64)
    for number in range(lines):
        left = max(MIN_STEPS, steps // (number + 1))
        source = order[number]
        reached[source], above[source], depth[source], total[source] = number, -1, 0, 0
        queue[0] = source
        head, tail = 0, 1
        while head < tail and left > 0:
            one = queue[head]
            head += 1
            for edge in range(start[one], start[one + 1]):
                left -= 1
                two = line[edge]
                if reached[two] != number:
                    reached[two], above[two], depth[two] = number, one, depth[one] + 1
                    total[two] = total[one] + entry[edge]
                    queue[tail] = two
                    tail += 1
                elif two != above[one]:
                    size = _close(above, depth, total, one, two, entry[edge], cycle, step)
                    left -= size
                    if step[:size].sum() % 4 == 2:
                        size, looked = _without_chords(start, line, entry, cycle, step, size, place)
                        left -= looked
                        if size > 0:
                            return cycle[:size]
                if left <= 0:
                    break
    return cycle[:0]


@inner_njit
def _close(
    above: Array, depth: Array, total: Array, one: int, two: int, closing: int, cycle: Array, step: Array
) -> int:
    """Write down the cycle that an edge closes and its entries, each between a line and the next; return its length.

    It goes up from `one` to where the two shortest paths meet, and down to `two`.
    """
    meeting, other, climbed = one, two, 0
    while meeting != other:
        if depth[meeting] >= depth[other]:
            cycle[climbed], step[climbed] = meeting, total[meeting] - total[above[meeting]]
            climbed += 1
            meeting = above[meeting]
        else:
            other = above[other]
    size = climbed + 1 + depth[two] - depth[meeting]
    for number in range(size - 1, climbed, -1):
        cycle[number], step[number - 1] = two, total[two] - total[above[two]]
        two = above[two]
    cycle[climbed], step[size - 1] = meeting, closing
    return int(size)


@inner_njit
def _without_chords(
    start: Array, line: Array, entry: Array, cycle: Array, step: Array, size: int, place: Array
) -> tuple[int, int]:
    """Cut an odd cycle at its chords, in place; return its length, or 0 if it is given up, and the steps this took."""
    looked = 0
    while size > 0:
        nonzeros = np.zeros(2, np.int64)
        for number in range(size):
            place[cycle[number]] = number
            nonzeros[number % 2] += start[cycle[number] + 1] - start[cycle[number]]
        side = 0 if nonzeros[0] <= nonzeros[1] else 1  # a chord joins a row and a column: either side shows all
        looked += 2 * size + nonzeros[side]
        one, two, chord, n_chords = -1, -1, 0, 0
        for number in range(side, size, 2):
            for edge in range(start[cycle[number]], start[cycle[number] + 1]):
                other = place[line[edge]]
                if one >= 0 or other < 0 or abs(other - number) in (1, size - 1):
                    continue
                n_chords += 1
                first, last = min(number, other), max(number, other)
                if (step[first:last].sum() + entry[edge]) % 4 == 2:
                    one, two, chord = first, last, entry[edge]
        for number in range(size):
            place[cycle[number]] = -1
        if one < 0:
            return (0 if n_chords else size), looked
        size = two - one + 1
        for number in range(size):
            cycle[number], step[number] = cycle[one + number], step[one + number]
        step[size - 1] = chord
    return size, looked
