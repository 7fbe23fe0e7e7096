r"""Network certificates: total unimodularity of the pruning programs at any size, checked in linear time.

Take a directed tree and a list of (tail, head) pairs of its vertices. The matrix with a row for each pair and a column
for each arc, holding +1 / -1 where the path from tail to head runs along / against the arc, is totally unimodular: it
is the transpose of a network matrix (Tutte 1965; Schrijver, section 19.3, example 4). So a directed tree whose arcs are
the columns, with one pair for each row, proves total unimodularity, and more than that: it names the network.

**The trees of the pruning programs.** One vertex :math:`\rho`; for every forest node h a vertex :math:`v_h` and the
arc :math:`z_h: v_{parent(h)} \to v_h` (from :math:`\rho` for a root), away from :math:`\rho`; for every other variable
one vertex and one arc into :math:`\rho`.

============  =====================================================  ============================================
program     row                                                    path
============  =====================================================  ============================================
IP0           sum of z over p(h) = 1, leaf h                         :math:`\rho \to v_h`
IP3/IP        :math:`w^{(t)}_{k,i}` + sum of z over p(u) = 1         from the tail of :math:`w^{(t)}_{k,i}` through
                                                                     :math:`\rho` down to :math:`v_u`
IP3/IP        :math:`w^{(t)}_{k,i} - w_{k,i} \le 0`                  along :math:`w^{(t)}_{k,i}` into :math:`\rho`,
                                                                     back against :math:`w_{k,i}`
IP2, compact  :math:`w_{k,i}` + sum of z over p(u) = 1, >= 1         from the tail of :math:`w_{k,i}` down to
                                                                     :math:`v_u`
closure       :math:`x_h - x_{parent(h)} \le 0`                      along one arc of a star, back against another
closure       :math:`x_u - w_{k,i} \le 0`                            the same
============  =====================================================  ============================================

The z_h have laminar row sets (subtrees), the w_{k,i} of the compact form disjoint ones: pivoting the
:math:`w^{(t)}_{k,i}` out of IP3's coupling rows (which keeps total unimodularity) gives the compact rows; the tree
above carries both without pivoting. This proves Theorem 4.2 of the optimal-pruning paper and Theorem 3.2 of
BudgetPrune: with an integral right-hand side and integral bounds, every vertex of the relaxation is integral (Hoffman
and Kruskal 1956).

**Why one product checks it.** The incidence vectors (head minus tail) of a tree's arcs are linearly independent, so the
only way to write head - tail of a row as a combination of them is the path. The matrix A is the path matrix iff
A T = R, where T has the incidence vectors of the arcs as rows and R those of the pairs: a sparse product with two
entries in each row of T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proofs.verdict import Verdict, accept, refuse

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

FORMULATIONS = ("ip0", "ip2", "ip3", "compact", "closure")
"""Programs with a network certificate by construction; "ip" is another name of "ip3"."""


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


def network_certificate(instance: PruningInstance, formulation: str) -> NetworkCertificate:
    """Build the certificate of a program's matrix, rows and columns in the order of `formulation_matrix`.

    Parameters
    ----------
    instance : PruningInstance
    formulation : {"ip0", "ip2", "ip3", "ip", "compact", "closure"}

    Returns
    -------
    NetworkCertificate
        Built without looking at any matrix; `.check(matrix)` compares.

    Raises
    ------
    ValueError
        For a program that has no network matrix, an unknown name, or IP2 with several trees.
    """
    n_nodes, n_internal = instance.n_nodes, instance.n_internal
    n_triples, n_acquisitions = instance.n_triples, instance.n_acquisitions
    node_vertex = np.arange(1, n_nodes + 1)
    is_leaf = np.ones(n_nodes, dtype=bool)
    is_leaf[instance.internal_nodes] = False
    leaf_vertex = node_vertex[is_leaf]
    needed_at = node_vertex[instance.internal_nodes][instance.triple_node]
    name = _known_name(instance, formulation)
    if name == "closure":
        below = np.flatnonzero(instance.parent >= 0)
        tails = np.concatenate([below, instance.triple_node]) + 1
        heads = np.concatenate([instance.parent[below] + 1, n_internal + 1 + instance.indices.astype(np.int64)])
        return _forest_with_star(np.zeros(0, dtype=np.int64), n_internal + n_acquisitions, tails, heads)
    root = np.zeros(leaf_vertex.size, dtype=np.int64)
    triple = n_nodes + 1 + np.arange(n_triples)
    if name == "ip0":
        return _forest_with_star(instance.node_parent, 0, root, leaf_vertex)
    if name == "ip3":
        coupled = n_nodes + 1 + n_triples + instance.indices.astype(np.int64)
        tails, heads = np.concatenate([root, triple, triple]), np.concatenate([leaf_vertex, needed_at, coupled])
        return _forest_with_star(instance.node_parent, n_triples + n_acquisitions, tails, heads)
    acquisition = n_nodes + 1 + instance.indices.astype(np.int64)
    tails, heads = np.concatenate([root, acquisition]), np.concatenate([leaf_vertex, needed_at])
    return _forest_with_star(instance.node_parent, n_acquisitions, tails, heads)


def formulation_matrix(instance: PruningInstance, formulation: str) -> sparse.csr_array:
    """Write down a program's constraint matrix row by row from its definition, without any tree of arcs.

    Columns: z by node (or x by internal node for the closure form), then w^(t) by triple (IP3), then w by acquisition
    (all but IP0); IP2, stated for one tree, has one triple for each acquisition. Rows: leaves, then triples, then for
    IP3 the coupling rows; for the closure form the parent rows, then the triples. Bounds are left out: unit rows keep
    total unimodularity.

    Raises
    ------
    ValueError
        For an unknown name, or IP2 with several trees.
    """
    n_internal, n_triples = instance.n_internal, instance.n_triples
    picks = sparse.eye_array(n_triples, dtype=np.int64, format="csr")
    needs = sparse.csr_array(
        (np.ones(n_triples, dtype=np.int64), instance.indices, np.arange(n_triples + 1)),
        shape=(n_triples, instance.n_acquisitions),
    )
    name = _known_name(instance, formulation)
    if name == "closure":
        below = np.flatnonzero(instance.parent >= 0)
        identity = sparse.eye_array(n_internal, dtype=np.int64, format="csr")
        order = identity[below] - identity[instance.parent[below]]
        blocks = [[order, None], [identity[instance.triple_node], -needs]]
        return sparse.csr_array(sparse.block_array(blocks, format="csr"))
    paths = _path_rows(instance.node_parent)
    is_leaf = np.ones(instance.n_nodes, dtype=bool)
    is_leaf[instance.internal_nodes] = False
    leaf_rows = paths[np.flatnonzero(is_leaf)]
    use_rows = paths[instance.internal_nodes[instance.triple_node]]
    layouts: dict[str, list[list[Any]]] = {
        "ip0": [[leaf_rows]],
        "ip2": [[leaf_rows, None], [use_rows, needs]],
        "ip3": [[leaf_rows, None, None], [use_rows, picks, None], [None, picks, -needs]],
        "compact": [[leaf_rows, None], [use_rows, needs]],
    }
    return sparse.csr_array(sparse.block_array(layouts[name], format="csr"))


def _known_name(instance: PruningInstance, formulation: str) -> str:
    name = "ip3" if formulation == "ip" else formulation
    if name not in FORMULATIONS:
        raise ValueError(f"formulation: expected one of {', '.join(FORMULATIONS)}, got {formulation!r}")
    if name == "ip2" and instance.n_trees > 1:
        raise ValueError(f"instance: expected one tree for ip2, got {instance.n_trees}; ip3 states an ensemble")
    return name


def _path_rows(node_parent: NDArray[np.int32]) -> sparse.csr_array:
    """Row h marks p(h), the nodes from the root to h."""
    n_nodes = node_parent.size
    rows, columns = [np.arange(n_nodes)], [np.arange(n_nodes)]
    parent = node_parent.astype(np.int64)
    while rows[-1].size:
        above = parent[columns[-1]]
        rows.append(rows[-1][above >= 0])
        columns.append(above[above >= 0])
    entries = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(entries[0].size, dtype=np.int64), entries), shape=(n_nodes, n_nodes))


def _forest_with_star(
    node_parent: NDArray[Any], n_star: int, tail: NDArray[np.int64], head: NDArray[np.int64]
) -> NetworkCertificate:
    """Hang the forest below vertex 0 (arcs away from it) and `n_star` further vertices (arcs into it)."""
    parent = np.concatenate([[-1], node_parent.astype(np.int64) + 1, np.zeros(n_star, dtype=np.int64)])
    away = np.arange(1, parent.size) <= node_parent.size
    return NetworkCertificate(parent, np.arange(1, parent.size), away, tail, head)


def _incidence(tail: NDArray[np.int64], head: NDArray[np.int64], vertices: int) -> sparse.csr_array:
    """Rows head - tail; the zero row where they coincide."""
    ends = np.stack([head, tail], axis=1).ravel()
    signs = np.tile(np.array([1, -1], dtype=np.int64), head.size)
    return sparse.csr_array((signs, ends, np.arange(0, ends.size + 1, 2)), shape=(head.size, vertices))
