"""Matrices that are totally unimodular by construction: networks of every shape, sums, scrambled."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from proofs.unimodularity.decomposition import pivoted, sparse_matrix
from proofs.unimodularity.known_matrices import r10_bixby, r10_hoffman, random_network_matrix
from proofs.unimodularity.total_unimodularity import is_totally_unimodular

Matrix = NDArray[np.int64]


def random_graphic_matrices(random: np.random.Generator, largest: int = 12) -> Iterator[Matrix]:
    """Yield network matrices without end: a tree's arcs (rows) against paths in it (columns), in random order.

    Trees are long, bushy or uniform; paths short or long, so that all kinds of 3-connected components occur.
    """
    while True:
        n_arcs = int(random.integers(2, largest + 1))
        reach = int(random.choice([1, 2, 3, n_arcs]))
        ways = np.zeros((n_arcs + 1, n_arcs), dtype=np.int64)  # signed arcs on the way from vertex 0
        for vertex in range(1, n_arcs + 1):
            above = int(random.integers(max(0, vertex - reach), vertex))
            ways[vertex] = ways[above]
            ways[vertex, vertex - 1] = random.choice([-1, 1])
        tails = random.integers(n_arcs + 1, size=int(random.integers(1, 2 * n_arcs + 1)))
        span = int(random.choice([2, 4, n_arcs + 1]))
        heads = (tails + random.integers(1, span + 1, size=tails.size)) % (n_arcs + 1)
        yield (ways[heads] - ways[tails])[:, random.permutation(n_arcs)].T


def scrambled(random: np.random.Generator, matrix: Matrix, pivots: int = 0) -> Matrix:
    """Permute and negate lines, and pivot: none of them changes the answer."""
    m, n = matrix.shape
    matrix = matrix[random.permutation(m)][:, random.permutation(n)]
    changed = sparse_matrix(matrix * random.choice([-1, 1], size=(m, 1)) * random.choice([-1, 1], size=(1, n)))
    for _ in range(pivots):
        entries = changed.tocoo()
        place = int(random.integers(entries.nnz))
        changed = pivoted(changed, int(entries.row[place]), int(entries.col[place]))
    return np.asarray(changed.toarray())


def one_sum(one: Matrix, two: Matrix) -> Matrix:
    """Put one matrix beside another."""
    return np.asarray(linalg.block_diag(one, two))


def two_sum(one: Matrix, two: Matrix) -> Matrix:
    """Glue the last row of one matrix to the first column of another."""
    zero = np.zeros((len(one) - 1, two.shape[1] - 1), dtype=np.int64)
    return np.block([[one[:-1], zero], [two[:, :1] @ one[-1:], two[:, 1:]]])


def three_sum(one: Matrix, two: Matrix) -> Matrix:
    """Glue (A a a; c 0 1) and (1 0 b; d d B)."""
    above, below = one[:-1, -1:] @ two[:1, 2:], two[1:, :1] @ one[-1:, :-2]
    return np.block([[one[:-1, :-2], above], [below, two[1:, 2:]]])


def network_to_glue(random: np.random.Generator, size: int) -> Matrix:
    """Draw a network matrix (A a a; c 0 1): a column once with and once without an arc at its end."""
    while True:
        matrix = random_network_matrix(random, size, 2 * size)
        if not (matrix == 1).any():
            continue
        row, column = (int(place) for place in random.choice(np.argwhere(matrix == 1)))
        without = matrix[:, [column]].copy()
        without[row] = 0
        wide = np.hstack([matrix, without, matrix[:, [column]]])
        wide = np.vstack([np.delete(wide, row, axis=0), wide[row]])
        if without.any() and wide[-1, :-2].any() and is_totally_unimodular(wide):
            return wide


def transposed_network_to_glue(random: np.random.Generator, size: int) -> Matrix:
    """Draw the transpose (1 0 b; d d B) of a network matrix: two arcs in series, a path through one of them."""
    while True:
        matrix = random_network_matrix(random, size, 2 * size)
        if not (matrix == 1).any():
            continue
        row, column = (int(place) for place in random.choice(np.argwhere(matrix == 1)))
        tall = np.vstack([matrix[row], matrix[row], np.delete(matrix, row, axis=0)])
        path = np.concatenate([[1, 0], np.delete(matrix[:, column], row)])
        wide = np.column_stack([path, tall]).T
        if path[2:].any() and is_totally_unimodular(wide):
            return wide


def composed(random: np.random.Generator, size: int) -> dict[str, Matrix]:
    """Draw sums of network matrices, transposes and R10."""
    network, transpose = random_network_matrix(random, size, size), random_network_matrix(random, size, size).T
    three = three_sum(network_to_glue(random, size), transposed_network_to_glue(random, size))
    return {
        "1-sum": one_sum(network, transpose),
        "2-sum": two_sum(network, transpose),
        "2-sums with R10": two_sum(two_sum(network, r10_hoffman()), transpose),
        "3-sum": three,
        "3-sum with R10": two_sum(three, r10_bixby()),
    }
