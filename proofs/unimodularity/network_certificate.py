r"""Network certificates: total unimodularity at any size, checked in linear time.

Take a directed tree and a list of (tail, head) pairs of its vertices. The matrix with a row for each pair and a column
for each arc, holding +1 / -1 where the path from tail to head runs along / against the arc, is totally unimodular: it
is the transpose of a network matrix (Tutte 1965; Schrijver, section 19.3, example 4). So a directed tree whose arcs are
the columns, with one pair for each row, proves total unimodularity, and more than that: it names the network.

**Why one product checks it.** The incidence vectors (head minus tail) of a tree's arcs are linearly independent, so the
only way to write head - tail of a row as a combination of them is the path. The matrix A is the path matrix iff
A T = R, where T has the incidence vectors of the arcs as rows and R those of the pairs: a sparse product with two
entries in each row of T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proofs.verdict import Verdict, accept, refuse


@dataclass(frozen=True, slots=True, eq=False)
class NetworkCertificate:
    """A directed tree and one path in it for every row of a matrix (for every column when `transposed`).

    Attributes
    ----------
    parent : (n_vertices,) int64 ndarray
        The tree: each vertex's parent, which comes before it; -1 for vertex 0.
    column_vertex : (n_columns,) int64 ndarray
        Column c is the arc between this vertex and its parent; no vertex occurs twice.
    away : (n_columns,) bool ndarray
        Whether the arc points from the parent to the vertex.
    tail, head : (n_rows,) int64 ndarray
        The ends of each row's path.
    transposed : bool
        Whether the roles of rows and columns are exchanged.
    """

    parent: NDArray[np.int64]
    column_vertex: NDArray[np.int64]
    away: NDArray[np.bool_]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix it is about."""
        rows, columns = self.tail.size, self.column_vertex.size
        return (columns, rows) if self.transposed else (rows, columns)

    def transpose(self) -> NetworkCertificate:
        """Return the certificate of the transposed matrix."""
        return replace(self, transposed=not self.transposed)

    def check(self, matrix: Any) -> Verdict:
        """Check that `matrix` is the path matrix of this tree; linear in vertices, rows and nonzeros.

        Parameters
        ----------
        matrix : (n_rows, n_columns) scipy sparse matrix or array_like

        Returns
        -------
        Verdict
        """
        fault = self._tree_fault()
        if fault:
            return refuse(fault)
        entries = sparse.csr_array(matrix)
        if entries.shape != self.shape:
            return refuse(f"the matrix is {entries.shape}, the certificate is about {self.shape}")
        if self.transposed:
            entries = sparse.csr_array(entries.T)
        if not np.isin(entries.data, (-1, 0, 1)).all():
            return refuse("the matrix has an entry other than 0, 1, -1")
        entries = entries.astype(np.int64)
        vertices = self.parent.size
        above = self.parent[self.column_vertex]
        arcs = _incidence(
            np.where(self.away, above, self.column_vertex), np.where(self.away, self.column_vertex, above), vertices
        )
        difference = entries @ arcs - _incidence(self.tail, self.head, vertices)
        if difference.nnz:
            line = int(np.flatnonzero(np.diff(difference.indptr))[0])
            return refuse(
                f"{'column' if self.transposed else 'row'} {line} is not the path from vertex {self.tail[line]} to "
                f"vertex {self.head[line]}"
            )
        return accept(f"{self.shape[0]} x {self.shape[1]} network certificate, {entries.nnz} nonzeros")

    def _tree_fault(self) -> str | None:
        vertices = self.parent.size
        if vertices == 0 or self.parent[0] != -1:
            return "vertex 0 must be the root, with parent -1"
        if (self.parent[1:] < 0).any() or (self.parent[1:] >= np.arange(1, vertices)).any():
            return "a vertex does not come after its parent: not a tree"
        if self.away.shape != self.column_vertex.shape or self.tail.shape != self.head.shape:
            return "column_vertex and away, or tail and head, differ in length"
        if ((self.column_vertex < 1) | (self.column_vertex >= vertices)).any():
            return "a column's arc is not in the tree"
        if np.bincount(self.column_vertex, minlength=1).max() > 1:
            return "two columns are the same arc"
        for ends in (self.tail, self.head):
            if ((ends < 0) | (ends >= vertices)).any():
                return "a path ends outside the tree"
        return None


def _incidence(tail: NDArray[np.int64], head: NDArray[np.int64], vertices: int) -> sparse.csr_array:
    """Rows head - tail; the zero row where they coincide."""
    ends = np.stack([head, tail], axis=1).ravel()
    signs = np.tile(np.array([1, -1], dtype=np.int64), head.size)
    return sparse.csr_array((signs, ends, np.arange(0, ends.size + 1, 2)), shape=(head.size, vertices))
