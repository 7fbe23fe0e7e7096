"""Signs of a 0/+-1 matrix up to negating rows and columns; and the short cycles that tell two signings apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

Array = NDArray[np.int64]


def scaling(one: sparse.csc_array, two: sparse.csc_array) -> tuple[Array, Array] | None:
    """Find signs of rows and columns that turn one matrix into another with the same support.

    Parameters
    ----------
    one, two : (m, n) scipy csc_array of 1, -1, with equal `indptr` and `indices`

    Returns
    -------
    (m,) and (n,) arrays of 1, -1, or None
        `two` is `one` with rows and columns multiplied by them; None if there are no such signs.
    """
    m, n = one.shape
    row, column, differs = _entries(one, two)
    lines = m + n
    copies = np.where(differs, lines, 0)
    # two copies of every line; an entry that differs joins unlike copies, any other like ones
    tails = np.concatenate([row, row + lines])
    heads = np.concatenate([m + column + copies, m + column + lines - copies])
    graph = sparse.coo_array((np.ones(tails.size, dtype=np.int8), (tails, heads)), shape=(2 * lines, 2 * lines))
    _, label = csgraph.connected_components(graph, directed=False)
    if (label[:lines] == label[lines:]).any():
        return None
    # in every pair of copies, one lies in the component with the smaller label, all over a connected block
    signs = np.where(label[:lines] < label[lines:], 1, -1)
    return signs[:m], signs[m:]


def odd_cycle(one: sparse.csc_array, two: sparse.csc_array) -> tuple[Array, Array]:
    """Find a chordless cycle of nonzeros along which two matrices of one support differ an odd number of times.

    If `one` is totally unimodular, the rows and columns of the cycle are a minimal violating submatrix of `two`: its
    nonzeros, two a line, sum to 0 modulo 4 in `one` (Camion 1965), hence to 2 in `two`, and its determinant is -2 or 2.

    Returns
    -------
    rows, columns : arrays of int64

    Raises
    ------
    ValueError
        If there is none, that is, `scaling` finds signs.
    """
    m = one.shape[0]
    row, column, differs = _entries(one, two)
    graph = sparse.csr_array(
        (np.tile(np.where(differs, -1, 1), 2), (np.concatenate([row, m + column]), np.concatenate([m + column, row]))),
        shape=(sum(one.shape),) * 2,
    )
    cycle = _some_odd_cycle(graph)
    shorter = np.sort(_shortest_odd_cycle(graph[cycle][:, cycle]))
    lines = np.sort(cycle[shorter])
    return lines[lines < m], lines[lines >= m] - m


class Chain(NamedTuple):
    """A chain of nonzeros between a row and a column: how many, and the sign that closes it by Camion's rule."""

    length: int
    sign: int


def closed_chain(matrix: sparse.csr_array, row: int, column: int) -> Chain | None:
    """Find a shortest chain of nonzeros between a row and a column whose own entry is 0; None if there is none.

    With that entry it is a chordless cycle, whose sum must be divisible by four (Camion 1965).
    """
    m, graph = matrix.shape[0], bipartite(matrix)
    order, before = csgraph.breadth_first_order(graph, row, directed=False)
    if m + column not in order:
        return None
    length, total, line = 0, 0, m + column
    while line != row:
        above = int(before[line])
        length, total, line = length + 1, total + int(graph[min(line, above), max(line, above)]), above
    return Chain(length, 1 if (total + 1) % 4 == 0 else -1)


def bipartite(matrix: sparse.csr_array | NDArray[Any]) -> sparse.csr_array:
    """Return the graph of rows and columns whose edges are the nonzeros, each from its row to its column."""
    entries = sparse.coo_array(matrix)
    m, n = entries.shape
    return sparse.csr_array((entries.data, (entries.row, m + entries.col)), shape=(m + n, m + n))


def _entries(one: sparse.csc_array, two: sparse.csc_array) -> tuple[Array, Array, NDArray[np.bool_]]:
    column = np.repeat(np.arange(one.shape[1]), np.diff(one.indptr))
    return one.indices.astype(np.int64), column, one.data != two.data


def _some_odd_cycle(graph: sparse.csr_array) -> Array:
    """Close a path of a breadth-first forest by an edge whose sign the forest does not explain."""
    size = graph.shape[0]
    _, block = csgraph.connected_components(graph, directed=False)
    roots = np.unique(block, return_index=True)[1]
    top = sparse.csr_array((np.ones(roots.size, dtype=np.int64), (np.zeros_like(roots), roots)), shape=(1, size))
    rooted = sparse.block_array([[graph, None], [top, sparse.csr_array((1, 1), dtype=np.int64)]], format="csr")
    order, above = csgraph.breadth_first_order(rooted, size)
    steps = np.asarray(rooted[above[order[1:]], order[1:]]).ravel()
    sign, depth = np.ones(size + 1, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    for vertex, step in zip(order[1:].tolist(), steps.tolist(), strict=True):
        sign[vertex] = sign[above[vertex]] * step
        depth[vertex] = depth[above[vertex]] + 1
    entries = graph.tocoo()
    wrong = np.flatnonzero(sign[entries.row] * sign[entries.col] != entries.data)
    if wrong.size == 0:
        raise ValueError("two: expected signs that no scaling explains")
    one, two = int(entries.row[wrong[0]]), int(entries.col[wrong[0]])
    cycle = [one, two]
    while one != two:
        if depth[one] >= depth[two]:
            one = int(above[one])
            cycle.append(one)
        else:
            two = int(above[two])
            cycle.append(two)
    return np.unique(cycle)


def _shortest_odd_cycle(graph: sparse.csr_array) -> Array:
    """Search from each vertex, in two copies of the graph, the shortest way to its other copy."""
    size = graph.shape[0]
    entries = graph.tocoo()
    shift = np.where(entries.data < 0, size, 0)
    tails = np.concatenate([entries.row, entries.row + size])
    heads = np.concatenate([entries.col + shift, entries.col + size - shift])
    cover = sparse.csr_array((np.ones(tails.size), (tails, heads)), shape=(2 * size, 2 * size))
    best: list[int] = []
    for start in range(size):
        order, before = csgraph.breadth_first_order(cover, start)
        if start + size not in order:
            continue
        way, vertex = [], start + size
        while vertex != start:
            vertex = int(before[vertex])
            way.append(vertex % size)
        if not best or len(way) < len(best):
            best = way
    return np.array(best, dtype=np.int64)
