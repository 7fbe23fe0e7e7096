"""Is a small matrix a network matrix? A search for the directed tree, exact in both answers.

Contracting an arc of a tree deletes its row from the network matrix. So every tree for the first k + 1 rows comes from
one for the first k rows by splitting a vertex in two, sharing out its arcs, and joining the halves by the new arc. The
search walks through all such splits, and keeps those in which every column, restricted to the rows so far, is a path.

Most totally unimodular matrices that one meets are network matrices or transposes of such; R10 and R12 are the least
that are neither (Seymour 1980).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.small_matrices import is_totally_unimodular

MOST_ROWS = 8
"""The search refuses matrices with more rows."""

_Arcs = tuple[tuple[int, int], ...]


def find_network(matrix: Any) -> NetworkCertificate | None:
    """Find a directed tree whose arcs are the rows and in which every column is a path.

    Parameters
    ----------
    matrix : (m, n) array_like of 0, 1, -1, m at most `MOST_ROWS`

    Returns
    -------
    NetworkCertificate or None
        With `transposed` set, as columns are the paths; None if the matrix is no network matrix.

    Raises
    ------
    ValueError
        For an entry other than 0, 1, -1, or too many rows.
    """
    entries = np.asarray(matrix)
    if entries.ndim != 2 or not np.isin(entries, (-1, 0, 1)).all():
        raise ValueError("matrix: expected two dimensions and entries 0, 1, -1")
    if entries.shape[0] > MOST_ROWS:
        raise ValueError(f"matrix: expected at most {MOST_ROWS} rows, got {entries.shape[0]}; transpose or shrink it")
    if entries.size and not is_totally_unimodular(entries):
        return None
    order = np.argsort(-np.abs(entries).sum(axis=1), kind="stable")  # dense rows first: they decide early
    columns = np.unique(entries[order].astype(np.int64), axis=1).T.tolist()
    arcs = _grow((), columns, entries.shape[0])
    if arcs is None:
        return None
    return _certificate([arcs[int(place)] for place in np.argsort(order)], entries.astype(np.int64))


def _grow(arcs: _Arcs, columns: list[list[int]], n_rows: int) -> _Arcs | None:
    """Extend a tree for the first rows to one for all of them, depth first."""
    if len(arcs) == n_rows:
        return arcs
    new = len(arcs) + 1
    for vertex in range(new):
        touching = [place for place, ends in enumerate(arcs) if vertex in ends]
        for size in range(len(touching) + 1):
            for moved in combinations(touching, size):
                split = tuple(
                    tuple(new if end == vertex and place in moved else end for end in ends)
                    for place, ends in enumerate(arcs)
                )
                candidate = (*((tail, head) for tail, head in split), (vertex, new))
                if all(_ends(candidate, column) is not None for column in columns):
                    found = _grow(candidate, columns, n_rows)
                    if found is not None:
                        return found
    return None


def _ends(arcs: _Arcs, column: list[int]) -> tuple[int, int] | None:
    """Return tail and head of the path that a column's first entries walk along the arcs; None if they are no path."""
    balance = [0] * (len(arcs) + 1)
    for (tail, head), entry in zip(arcs, column, strict=False):
        balance[tail] -= entry
        balance[head] += entry
    uneven = [(value, vertex) for vertex, value in enumerate(balance) if value]
    if not uneven:
        return 0, 0
    if len(uneven) != 2 or {value for value, _ in uneven} != {-1, 1}:
        return None
    (_, tail), (_, head) = sorted(uneven)
    return tail, head


def _certificate(arcs: list[tuple[int, int]], entries: NDArray[np.int64]) -> NetworkCertificate:
    """Write the certificate down, the tree's vertices numbered from vertex 0 outwards."""
    number, parent = {0: 0}, [-1]
    child_of = {}
    while len(number) <= len(arcs):
        for place, (tail, head) in enumerate(arcs):
            if (tail in number) != (head in number):
                above, below = (tail, head) if tail in number else (head, tail)
                number[below] = len(parent)
                parent.append(number[above])
                child_of[place] = number[below]
    ends = [_ends(tuple(arcs), column) or (0, 0) for column in entries.T.tolist()]
    return NetworkCertificate(
        parent=np.array(parent, dtype=np.int64),
        column_vertex=np.array([child_of[place] for place in range(len(arcs))], dtype=np.int64),
        away=np.array([number[head] == child_of[place] for place, (_, head) in enumerate(arcs)], dtype=np.bool_),
        tail=np.array([number[tail] for tail, _ in ends], dtype=np.int64),
        head=np.array([number[head] for _, head in ends], dtype=np.int64),
        transposed=True,
    )
