"""Is a matrix a network matrix? Near-linear time, at any size; the answer yes is a directed tree.

First a tree in which the support of every column is a path (`graph_realisation`), then directions of its arcs. All
totally unimodular signings of one support differ by the signs of whole rows and columns (Camion 1963). So any tree
will do: its matrix with all arcs pointing away from the root is compared with the given one, and a row to be negated is
an arc to be turned, a column a path to be walked backwards.

Most totally unimodular matrices that one meets are network matrices or transposes of such; R10 and R12 are the least
that are neither (Seymour 1980).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from ipforest._internal.kernels import njit
from proofs.unimodularity.graph_realisation import Realisation, realise
from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.signings import scaling

Array = NDArray[np.int64]


def find_network(matrix: Any) -> NetworkCertificate | None:
    """Find a directed tree whose arcs are the rows and in which every column is a path.

    Parameters
    ----------
    matrix : (m, n) array_like or scipy sparse matrix of 0, 1, -1

    Returns
    -------
    NetworkCertificate or None
        With `transposed` set, as columns are the paths; None if the matrix is no network matrix.

    Raises
    ------
    ValueError
        For an entry other than 0, 1, -1.
    """
    entries = sparse.coo_array(matrix if sparse.issparse(matrix) else np.asarray(matrix))
    if entries.ndim != 2 or not np.isin(entries.data, (-1, 0, 1)).all():
        raise ValueError("matrix: expected two dimensions and entries 0, 1, -1")
    columns = sparse.csc_array(entries.astype(np.int64))
    columns.eliminate_zeros()
    columns.sort_indices()
    realisation = realise(columns)
    return None if realisation is None else orient(realisation, columns)


def orient(realisation: Realisation, matrix: sparse.csc_array) -> NetworkCertificate | None:
    """Direct the arcs of a tree so that its columns have the signs of a matrix; None if that is impossible."""
    away = away_from_root(realisation)
    signs = scaling(path_matrix(away, matrix), matrix)
    if signs is None:
        return None
    rows, columns = signs
    forwards = columns > 0
    return NetworkCertificate(
        away.parent,
        away.column_vertex,
        rows > 0,
        np.where(forwards, away.tail, away.head),
        np.where(forwards, away.head, away.tail),
        transposed=True,
    )


def path_matrix(away: NetworkCertificate, support: sparse.csc_array) -> sparse.csc_array:
    """Return the matrix of a tree whose arcs point away from its root, the support being known: -1 up, +1 down."""
    first, last = _ranges(away.parent)
    column = np.repeat(np.arange(support.shape[1]), np.diff(support.indptr))
    below = away.column_vertex[support.indices]
    tail = away.tail[column]
    upwards = (first[below] <= first[tail]) & (first[tail] < last[below])
    signs = np.where(upwards, -1, 1)
    return sparse.csc_array((signs, support.indices, support.indptr), shape=support.shape)


def away_from_root(realisation: Realisation) -> NetworkCertificate:
    """Root the tree at vertex 0, with all arcs pointing away from it."""
    n_vertices, (one, two) = realisation.n_vertices, realisation.row_ends.T
    graph = sparse.coo_array((np.ones(one.size, dtype=np.int8), (one, two)), shape=(n_vertices, n_vertices))
    order, before = csgraph.breadth_first_order(sparse.csr_array(graph), 0, directed=False)
    if order.size != n_vertices or one.size != n_vertices - 1:
        raise RuntimeError("two keys of the graph realisation coincide: report this matrix")
    number = np.empty(n_vertices, dtype=np.int64)
    number[order] = np.arange(n_vertices)
    parent = np.concatenate([[-1], number[before[order[1:]]]])
    vertex = np.maximum(number[one], number[two])
    tail, head = number[realisation.column_ends].T
    return NetworkCertificate(parent, vertex, np.ones(one.size, dtype=np.bool_), tail, head, transposed=True)


@njit
def _ranges(parent: Array) -> tuple[Array, Array]:
    """Return the range of depth-first numbers of the vertices below each vertex, itself included."""
    size = np.ones(parent.size, dtype=np.int64)
    for vertex in range(parent.size - 1, 0, -1):
        size[parent[vertex]] += size[vertex]
    first = np.zeros(parent.size, dtype=np.int64)
    following = np.ones(parent.size, dtype=np.int64)
    for vertex in range(1, parent.size):
        above = parent[vertex]
        first[vertex] = following[above]
        following[above] += size[vertex]
        following[vertex] = first[vertex] + 1
    return first, first + size
