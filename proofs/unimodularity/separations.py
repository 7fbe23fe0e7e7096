r"""Where does a regular matroid come apart? Exact 2- and 3-separations of a 0/1 matrix over GF(2).

**2-separations.** Parts (R1, C1) and (R2, C2) of the lines are a 2-separation iff, up to the names of the parts, the
block (R1, C2) is zero and the block (R2, C1) has rank 1. With a nonzero (r, c) of that block given, this says: no
nonzero has its row in part 1 and its column in part 2, and no entry that differs from :math:`A_{ic} A_{rj}` has its row
in part 2 and its column in part 1. These are implications between lines, so a separation with r in part 2 and c in part
1 exists iff their graph on the other lines is not strongly connected. The nonzeros in question connect the two parts in
the graph of the matrix, so the edges of one spanning tree are enough to try.

**3-separations.** A 3-connected regular matroid that is neither graphic nor cographic is R10 or has a minor R12, whose
separation into 6 + 6 elements extends to it (Seymour 1980). "Some 3-connected component is neither graphic nor
cographic" is passed on from minors, and the minimal matroids with this property are F7, its dual, R10 and R12: deleting
and contracting while it lasts finds one of them. From R12 the separation grows by implications as above.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from ipforest._internal.kernels import inner_njit, njit
from proofs.unimodularity.graph_realisation import realise
from proofs.unimodularity.signings import bipartite

Array = NDArray[np.int64]
Support = NDArray[np.bool_]

FURTHER_TRIES = 16
"""Nonzeros tried for a more even separation when one is found."""


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Which lines belong to the first part.

    Attributes
    ----------
    first_rows : (m,) bool ndarray
    first_columns : (n,) bool ndarray
    """

    first_rows: Support
    first_columns: Support


def two_separation(support: Support) -> Separation | None:
    """Find a 2-separation of a connected matrix without parallel or unit lines, an even one if there are many.

    The block of the first rows and the other columns is zero; None if the matroid is 3-connected. Even separations keep
    decompositions of long chains shallow, so that certificates are short and quick to check.
    """
    m, n = support.shape
    _, before = csgraph.breadth_first_order(bipartite(support), 0, directed=False)
    lines = 1 + np.random.default_rng(0).permutation(m + n - 1)
    rows = np.minimum(lines, before[lines])
    columns = np.maximum(lines, before[lines]) - m
    first = np.zeros(m + n, dtype=np.bool_)
    if not _mark_separation(support, rows.astype(np.int64), columns.astype(np.int64), first):
        return None
    return Separation(first[:m], first[m:])


@njit
def _mark_separation(support: Support, rows: Array, columns: Array, first: Support) -> bool:
    """Try the nonzeros given, some more after the first separation; mark the first part of the most even one."""
    m, n = support.shape
    queue = np.empty(m + n, dtype=np.int64)
    reached = np.empty(m + n, dtype=np.bool_)
    most, left = 0, FURTHER_TRIES
    for row, column in zip(rows, columns):  # noqa: B905, compiled
        if most > 0:
            left -= 1
            if left < 0 or 4 * most >= m + n:
                break
        start = 0 if row != 0 else 1
        for forwards in (True, False):
            reached[:] = False
            size = _reach(support, row, column, start, forwards, queue, reached) + 1
            if size < m + n - 1 and min(size, m + n - size) > most:
                most = min(size, m + n - size)
                first[:] = reached
                if not forwards:  # what cannot reach the start is closed, the row not among it
                    first[:] = ~reached
                    first[row] = False
                first[m + column] = True
    return most > 0


@inner_njit
def _reach(support: Support, row: int, column: int, start: int, forwards: bool, queue: Array, reached: Support) -> int:
    """Mark the lines that the start reaches (or that reach it) by implications, the given row and column aside."""
    m, n = support.shape
    queue[0] = start
    reached[start] = True
    n_reached = 1
    place = 0
    while place < n_reached:
        line = queue[place]
        place += 1
        if line < m:
            for j in range(n):
                if reached[m + j] or j == column:
                    continue
                product = support[line, column] and support[row, j]
                if support[line, j] if forwards else support[line, j] != product:
                    reached[m + j] = True
                    queue[n_reached] = m + j
                    n_reached += 1
        else:
            j = line - m
            for i in range(m):
                if reached[i] or i == row:
                    continue
                product = support[i, column] and support[row, j]
                if support[i, j] != product if forwards else support[i, j]:
                    reached[i] = True
                    queue[n_reached] = i
                    n_reached += 1
    return n_reached


def three_separation(support: Support) -> Separation | None:
    """Find a 3-separation with six elements or more on either side in a 3-connected matroid that is no network's.

    Parameters
    ----------
    support : (m, n) bool ndarray
        Represents a 3-connected binary matroid, neither graphic nor cographic.

    Returns
    -------
    Separation or None
        None if the matroid is R10 or not regular.
    """
    m, n = support.shape
    minor = _smallest_minor(support)
    if minor.rows.size != 6 or minor.columns.size != 6:
        return None
    for half in combinations(range(11), 6):
        rows = np.array([line for line in half if line < 6], dtype=np.int64)
        columns = np.array([line - 6 for line in half if line >= 6], dtype=np.int64)
        first = _extended(minor, rows, columns)
        if first is not None:
            elements = np.concatenate([minor.row_element[first[:m]], minor.column_element[first[m:]]])
            side = np.zeros(m + n, dtype=np.bool_)
            side[elements] = True
            return Separation(side[:m], side[m:])
    return None


@dataclass(slots=True)
class _Minor:
    """A matrix after pivots, the elements that its lines stand for, and a submatrix.

    An element is a line of the matrix before the pivots: row i is i, column j is m + j.
    """

    matrix: Support
    row_element: Array
    column_element: Array
    rows: Array
    columns: Array

    @property
    def part(self) -> Support:
        part: Support = self.matrix[np.ix_(self.rows, self.columns)]
        return part

    def keep(self, rows: Array, columns: Array) -> bool:
        """Go on with the largest component of a part that is no network's; return whether there is one."""
        found = _component_without_network(self.matrix, rows, columns)
        if found is not None:
            self.rows, self.columns = found
        return found is not None

    def pivot(self, row: int, column: int) -> None:
        self.matrix = _pivoted(self.matrix, row, column)
        self.row_element[row], self.column_element[column] = self.column_element[column], self.row_element[row]


def _smallest_minor(support: Support) -> _Minor:
    """Delete and contract elements while a 3-connected component remains that is neither graphic nor cographic."""
    m, n = support.shape
    minor = _Minor(support, np.arange(m), m + np.arange(n), np.arange(m), np.arange(n))
    chunk = max(1, (m + n) // 2)
    while True:
        if _drop_lines(minor, chunk):
            continue
        if chunk > 1:
            chunk //= 2
        elif not _drop_after_pivot(minor):
            return minor


def _drop_lines(minor: _Minor, chunk: int) -> bool:
    """Drop lines, `chunk` at a time: contract row elements, delete column elements."""
    dropped = False
    lines = np.concatenate([minor.rows, -1 - minor.columns])
    for start in range(0, lines.size, chunk):
        going = lines[start : start + chunk]
        rows, columns = np.setdiff1d(minor.rows, going), np.setdiff1d(minor.columns, -1 - going)
        if rows.size + columns.size < minor.rows.size + minor.columns.size:
            dropped |= minor.keep(rows, columns)
    return dropped


def _drop_after_pivot(minor: _Minor) -> bool:
    """Drop one line after it has changed sides: delete a row element, contract a column element."""
    pivots = [(int(row), int(minor.columns[np.argmax(minor.matrix[row, minor.columns])])) for row in minor.rows]
    pivots += [(int(minor.rows[np.argmax(minor.matrix[minor.rows, column])]), int(column)) for column in minor.columns]
    for number, (row, column) in enumerate(pivots):
        tried = _Minor(minor.matrix, minor.row_element.copy(), minor.column_element.copy(), minor.rows, minor.columns)
        tried.pivot(row, column)
        rows, columns = minor.rows, minor.columns
        if number < minor.rows.size:
            columns = columns[columns != column]
        else:
            rows = rows[rows != row]
        if tried.keep(rows, columns):
            minor.matrix, minor.row_element, minor.column_element = (
                tried.matrix,
                tried.row_element,
                tried.column_element,
            )
            minor.rows, minor.columns = tried.rows, tried.columns
            return True
    return False


def _component_without_network(matrix: Support, rows: Array, columns: Array) -> tuple[Array, Array] | None:
    """Find a 3-connected component of a submatrix that is neither graphic nor cographic."""
    todo = [(rows, columns)]
    while todo:
        rows, columns = _without_series_parallel(matrix, *todo.pop())
        part = matrix[np.ix_(rows, columns)]
        if min(part.shape) < 3 or is_graphic(part) or is_graphic(part.T):
            continue
        n_blocks, label = csgraph.connected_components(bipartite(part), directed=False)
        if n_blocks > 1:
            for block in range(n_blocks):
                todo.append((rows[label[: rows.size] == block], columns[label[rows.size :] == block]))
            continue
        separation = two_separation(part)
        if separation is None:
            return rows, columns
        for part_rows, part_columns in two_sum_lines(part, separation):
            todo.append((rows[part_rows], columns[part_columns]))
    return None


def two_sum_lines(support: Support, separation: Separation) -> list[tuple[Array, Array]]:
    """Return rows and columns of the two parts of a 2-sum; the last row, and the last column, are those they share."""
    rows, columns = np.flatnonzero(separation.first_rows), np.flatnonzero(separation.first_columns)
    others, behind = np.flatnonzero(~separation.first_rows), np.flatnonzero(~separation.first_columns)
    place, across = np.argwhere(support[np.ix_(others, columns)])[0]
    return [(np.append(rows, others[place]), columns), (others, np.append(behind, columns[across]))]


def is_graphic(support: Support) -> bool:
    """Return whether some tree has the rows as edges and the columns as paths."""
    return realise(sparse.csc_array(support)) is not None


def _without_series_parallel(matrix: Support, rows: Array, columns: Array) -> tuple[Array, Array]:
    """Leave out lines with at most one nonzero and all but one of parallel lines, as long as there are any."""
    while True:
        size = rows.size + columns.size
        part = matrix[np.ix_(rows, columns)]
        kept = np.unique(part, axis=0, return_index=True)[1]
        rows = rows[np.sort(kept[part[kept].sum(axis=1) > 1])]
        part = matrix[np.ix_(rows, columns)].T
        kept = np.unique(part, axis=0, return_index=True)[1]
        columns = columns[np.sort(kept[part[kept].sum(axis=1) > 1])]
        if rows.size + columns.size == size:
            return rows, columns


def _extended(minor: _Minor, rows: Array, columns: Array) -> Support | None:
    """Extend a 3-separation of a 6 x 6 submatrix to the whole matrix; the lines of the first part, or None."""
    part = minor.part
    other_rows, other_columns = np.setdiff1d(np.arange(6), rows), np.setdiff1d(np.arange(6), columns)
    above, below = part[np.ix_(rows, other_columns)], part[np.ix_(other_rows, columns)]
    up, down = _basis(above), _basis(below)
    if up[0].size + down[0].size != 2:
        return None
    right = _product(minor.matrix, minor.rows[rows[up[0]]], minor.columns[other_columns[up[1]]])
    left = _product(minor.matrix, minor.rows[other_rows[down[0]]], minor.columns[columns[down[1]]])
    pulls_column, pulls_row = minor.matrix != right, minor.matrix != left
    m, n = minor.matrix.shape
    in_rows, in_columns = np.zeros(m, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    in_rows[minor.rows[rows]] = True
    in_columns[minor.columns[columns]] = True
    while True:
        more_columns = in_columns | pulls_column[in_rows].any(axis=0)
        more_rows = in_rows | pulls_row[:, more_columns].any(axis=1)
        if np.array_equal(more_columns, in_columns) and np.array_equal(more_rows, in_rows):
            break
        in_rows, in_columns = more_rows, more_columns
    if in_rows[minor.rows[other_rows]].any() or in_columns[minor.columns[other_columns]].any():
        return None
    return np.concatenate([in_rows, in_columns])


def _basis(block: Support) -> tuple[Array, Array]:
    """Return rows and columns of a largest nonsingular submatrix over GF(2)."""
    left = block.copy()
    rows: list[int] = []
    columns: list[int] = []
    while left.any():
        row, column = (int(place) for place in np.argwhere(left)[0])
        left ^= np.outer(left[:, column], left[row])
        rows.append(row)
        columns.append(column)
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _product(matrix: Support, rows: Array, columns: Array) -> Support:
    """Continue a nonsingular submatrix to a matrix of the same rank that agrees on its rows and columns."""
    product = np.zeros_like(matrix)
    left = matrix[np.ix_(rows, columns)].copy()
    across, down = matrix[rows].copy(), matrix[:, columns].copy()
    for place in range(rows.size):
        product ^= np.outer(down[:, place], across[place])
        multiples = left[:, place].copy()
        across ^= np.outer(multiples, across[place])
        down ^= np.outer(down[:, place], left[place])
        left ^= np.outer(multiples, left[place])
    return product


def _pivoted(matrix: Support, row: int, column: int) -> Support:
    changed = matrix ^ np.outer(matrix[:, column], matrix[row])
    changed[row], changed[:, column] = matrix[row], matrix[:, column]
    return changed
