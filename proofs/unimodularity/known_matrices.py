"""Matrices whose total unimodularity is known from the literature.

Sources: Schrijver, "Theory of Linear and Integer Programming", sections 19.3-19.4 and 20; Seymour, "Decomposition
of regular matroids" (1980); Oxley, "Matroid Theory", appendix.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proofs.unimodularity.signings import Chain, closed_chain

Matrix = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class KnownMatrix:
    """A matrix with the answer the literature gives.

    Attributes
    ----------
    name : str
        What it is called.
    matrix : (m, n) int64 ndarray
        Its entries.
    totally_unimodular : bool
        The known answer.
    source : str
        The source, or the reason in one line.
    """

    name: str
    matrix: Matrix
    totally_unimodular: bool
    source: str

    def __post_init__(self) -> None:
        self.matrix.flags.writeable = False


def known_matrices() -> list[KnownMatrix]:
    """List the matrices, each with its answer and its source."""
    fano = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]])
    k5 = graphic_matrix(list(combinations(range(5), 2)), tree=[(0, 1), (0, 2), (0, 3), (0, 4)])
    k33_edges = [(a, b) for a in range(3) for b in range(3, 6)]
    k33 = graphic_matrix(k33_edges, tree=[(0, 3), (0, 4), (0, 5), (1, 3), (2, 3)])
    return [
        KnownMatrix("F7", fano, False, "the Fano matroid is not regular (Tutte)"),
        KnownMatrix("F7 dual", fano.T.copy(), False, "the dual of F7 is not regular (Tutte)"),
        KnownMatrix("R10 (Hoffman)", r10_hoffman(), True, "Schrijver, section 19.4, (52) left"),
        KnownMatrix("R10 (Bixby)", r10_bixby(), True, "Schrijver, section 19.4, (52) right"),
        KnownMatrix("R12", r12(), True, "Seymour (1980); signed by `signed_support`"),
        KnownMatrix("K5 graphic", k5, True, "a network matrix"),
        KnownMatrix("K5 cographic", -k5.T, True, "the transpose of a network matrix"),
        KnownMatrix("K3,3 graphic", k33, True, "a network matrix"),
        KnownMatrix("K3,3 cographic", -k33.T, True, "the transpose of a network matrix"),
        *(
            KnownMatrix(f"{kind} cycle of length {length}", cycle(length, signed), signed or length % 2 == 0, why)
            for length in (3, 4, 5, 6)
            for kind, signed, why in (
                ("unsigned", False, "vertices against edges: TU iff the graph is bipartite"),
                ("signed", True, "vertices against arcs of a directed graph (Poincare)"),
            )
        ),
        KnownMatrix("interval", interval_matrix([(0, 3), (1, 2), (1, 5), (2, 6), (4, 6)], 6), True, "consecutive ones"),
    ]


def r10_hoffman() -> Matrix:
    """Return Hoffman's 5 x 5 matrix of R10: neither a network matrix nor the transpose of one."""
    return np.array([[1, -1, 0, 0, -1], [-1, 1, -1, 0, 0], [0, -1, 1, -1, 0], [0, 0, -1, 1, -1], [-1, 0, 0, -1, 1]])


def r10_bixby() -> Matrix:
    """Return Bixby's 0/1 matrix of R10, one pivot away from Hoffman's."""
    return np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 0, 1, 1], [1, 1, 0, 0, 1]])


def r12() -> Matrix:
    """Return Seymour's R12, regular but neither graphic nor cographic; signs found by `signed_support`."""
    support = np.array(
        [
            [1, 1, 1, 0, 0, 0],
            [1, 1, 0, 1, 0, 0],
            [1, 0, 0, 0, 1, 0],
            [0, 1, 0, 0, 0, 1],
            [0, 0, 1, 0, 1, 1],
            [0, 0, 0, 1, 1, 1],
        ]
    )
    return signed_support(support)


def signed_support(support: Matrix) -> Matrix:
    """Sign a 0/1 matrix by Camion's rule; the result is totally unimodular if any signing of it is.

    A spanning forest of the bipartite graph of rows and columns keeps +1. Every further entry closes a cycle
    with entries signed before; on a shortest such cycle (a chordless one, an Eulerian submatrix with two
    entries a line) the sum must be divisible by four, which fixes the sign.
    """
    signed = np.zeros_like(support)
    left = [(int(i), int(j)) for i, j in np.argwhere(support)]
    while left:
        entries = sparse.csr_array(signed)
        closed = [(chain, place) for place in left if (chain := closed_chain(entries, *place)) is not None]
        chain, place = min(closed, key=lambda found: found[0].length, default=(Chain(0, 1), left[0]))
        signed[place] = chain.sign
        left.remove(place)
    return signed


def graphic_matrix(edges: list[tuple[int, int]], tree: list[tuple[int, int]]) -> Matrix:
    """Return the network matrix of a spanning tree (rows) against the other edges (columns).

    Edges are arcs from the first to the second vertex. Entry (a, e) is +1 or -1 when the tree path from the tail
    of e to its head uses the arc a forwards or backwards.
    """
    steps: dict[int, Matrix] = {tree[0][0]: np.zeros(len(tree), dtype=np.int64)}
    left = list(range(len(tree)))
    while left:
        place = next((a for a in left if (tree[a][0] in steps) != (tree[a][1] in steps)), None)
        if place is None:
            raise ValueError("tree: expected the edges of a spanning tree of the graph")
        tail, head = tree[place]
        known, new, sign = (tail, head, 1) if tail in steps else (head, tail, -1)
        steps[new] = steps[known].copy()
        steps[new][place] = sign
        left.remove(place)
    return np.array([steps[head] - steps[tail] for tail, head in edges if (tail, head) not in tree]).T


def cycle(length: int, signed: bool) -> Matrix:
    """Return vertices against edges of a cycle; the second end of an edge is -1 when signed."""
    matrix = np.eye(length, dtype=np.int64)
    for place in range(length):
        matrix[(place + 1) % length, place] = -1 if signed else 1
    return matrix


def interval_matrix(intervals: list[tuple[int, int]], width: int) -> Matrix:
    """Return a 0/1 matrix whose row r has ones on the half-open interval number r."""
    places = np.arange(width)
    return np.array([((places >= start) & (places < stop)).astype(np.int64) for start, stop in intervals])


def random_network_matrix(rng: np.random.Generator, rows: int, columns: int) -> Matrix:
    """Draw a network matrix: a random tree with `rows` arcs against random arcs between its vertices."""
    tree = []
    for vertex in range(1, rows + 1):
        ends = (int(rng.integers(vertex)), vertex)
        tree.append(ends if rng.integers(2) else ends[::-1])
    steps = np.zeros((rows + 1, rows), dtype=np.int64)  # the signed arcs on the way from vertex 0
    for place, (tail, head) in enumerate(tree):
        vertex = place + 1
        steps[vertex] = steps[min(tail, head)]
        steps[vertex, place] = 1 if head == vertex else -1
    tails, heads = rng.integers(rows + 1, size=(2, columns))
    matrix: Matrix = (steps[heads] - steps[tails]).T
    return matrix
