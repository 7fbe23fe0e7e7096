"""Is a matrix totally unimodular? At any size, with a decomposition that checks or a minimal violating submatrix.

The questions, in this order: an entry other than 0, 1, -1? A short odd hole (`odd_holes`), which most matrices that are
not totally unimodular have? A network matrix, or the transpose of one? Lines that are zero, unit vectors or parallel to
others, which change nothing? A short side (colourings of all sets of at most five lines, which covers R10)? Several
blocks? A 2-separation? A 3-separation? After each split the parts are asked the same. A matrix that is none of these,
and from which nothing can be split off, is not totally unimodular (Seymour 1980; Truemper 1990).

If a matrix is not, lines are left out as long as it stays so. What remains is minimal, and has determinant -2 or 2
(Camion 1965). Where only signs are wrong, a shortest cycle of nonzeros with the wrong sum is found at once.

**A failed search is no answer.** A no is given with a submatrix whose determinant has been computed, and in no other
way. Should the search end at one that violates nothing, then a step of it has missed something: all sets of the shorter
side's lines are coloured instead, and where there are too many the question is left open with a `RuntimeError`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from proofs.unimodularity.counterexample import Counterexample, NoViolationError, as_matrix
from proofs.unimodularity.decomposition import (
    Blocks,
    Certificate,
    LinesOf,
    Matrix,
    Peeling,
    Pivot,
    Proof,
    ThreeSum,
    TwoSum,
    blocks_of,
    pivoted,
    sparse_matrix,
    submatrix,
    three_sum_parts,
)
from proofs.unimodularity.graph_realisation import realise
from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.network_recognition import away_from_root, orient, path_matrix
from proofs.unimodularity.odd_holes import odd_hole
from proofs.unimodularity.separations import Separation, three_separation, two_separation, two_sum_lines
from proofs.unimodularity.signings import bipartite, closed_chain, odd_cycle
from proofs.unimodularity.small_matrices import MAX_SHORT_SIDE, by_colouring

if TYPE_CHECKING:
    from ipforest.solvers.linear_program import LinearProgram

Array = NDArray[np.int64]

SHORT_SIDE = 5
"""Matrices with so few rows or columns are decided by colourings of all sets of lines."""


@dataclass(frozen=True, slots=True, eq=False)
class _Violation:
    """Rows and columns of a submatrix in which the search found no way to be totally unimodular."""

    rows: Array
    columns: Array
    is_minimal: bool = False

    def within(self, rows: Array, columns: Array) -> _Violation:
        return _Violation(rows[self.rows], columns[self.columns], self.is_minimal)


def is_totally_unimodular(matrix: Any) -> Certificate | Counterexample:
    """Decide total unimodularity, and prove the answer.

    Parameters
    ----------
    matrix : (m, n) array_like, scipy sparse matrix, Pyomo or linopy model, or path of an .mps or .lp file
        Any finite numbers. Of a model it is the matrix of the constraints, without bounds on single variables, which
        change nothing; a counterexample then has the names of rows and columns. An entry other than 0, 1, -1 is itself
        a violating 1 x 1 submatrix. A matrix without rows or without columns is totally unimodular.

    Returns
    -------
    Certificate or Counterexample
        Truthy or falsy; either way ``.check()`` recomputes everything. The submatrix of a counterexample is minimal:
        all of its proper submatrices are totally unimodular.

    Raises
    ------
    ValueError
        If the input is not a matrix of finite numbers, or a model that is not linear, see
        `formulations.any_model.linear_program_of`.
    RuntimeError
        If the search ends without evidence, which would be a fault in it, and all sides are too long for colourings.

    Examples
    --------
    >>> bool(is_totally_unimodular([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    False
    >>> is_totally_unimodular([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).determinant
    2
    """
    program = _program_of(matrix)
    if program is None:
        return _answer(matrix)
    answer = _answer(program.A)
    if isinstance(answer, Counterexample):
        return replace(answer, row_labels=program.row_labels, column_labels=program.column_labels)
    return answer


def _program_of(source: Any) -> LinearProgram | None:
    """Take a model apart; None for a matrix, for which nothing is imported."""
    if isinstance(source, np.ndarray | list | tuple) or sparse.issparse(source):
        return None
    from formulations.any_model import linear_program_of, states_a_program

    return linear_program_of(source) if states_a_program(source) else None


def _answer(matrix: Any) -> Certificate | Counterexample:
    values = as_matrix(matrix)
    other = _other_entry(values)
    if other is not None:
        return Counterexample.of(values, *other)
    entries = sparse_matrix(values)
    answer = _decide(entries)
    if not isinstance(answer, _Violation):
        return Certificate(values, answer)
    violator = _stated(values, _minimal(entries, answer))
    return _coloured(values) if violator is None else violator


def is_minimal(counterexample: Counterexample) -> bool:
    """Return whether deleting any row or column of the violating submatrix leaves a totally unimodular one."""
    part = counterexample.submatrix
    smaller = [np.delete(part, i, axis) for axis in (0, 1) for i in range(len(counterexample.rows))]
    return all(is_totally_unimodular(candidate) for candidate in smaller)


def _stated(values: NDArray[Any] | sparse.csr_array, violation: _Violation) -> Counterexample | None:
    """Compute the determinant of what is left after a search; None if it violates nothing."""
    rows, columns = sorted(violation.rows.tolist()), sorted(violation.columns.tolist())
    try:
        return Counterexample.of(values, rows, columns)
    except NoViolationError:
        return None


def _coloured(values: NDArray[Any] | sparse.csr_array) -> Certificate | Counterexample:
    """Decide by colourings, whatever they take."""
    if min(values.shape) > MAX_SHORT_SIDE:
        raise RuntimeError(
            f"matrix: the search on this {values.shape[0]} x {values.shape[1]} matrix ended without evidence; whether "
            "it is totally unimodular stays open; report this matrix"
        )
    answer = by_colouring(values)
    return answer if isinstance(answer, Counterexample) else Certificate(values, answer)


def _other_entry(values: NDArray[Any] | sparse.csr_array) -> tuple[list[int], list[int]] | None:
    """Find an entry other than 0, 1, -1."""
    if isinstance(values, np.ndarray):
        found = np.argwhere(~np.isin(values, (-1, 0, 1)))
        return ([int(found[0, 0])], [int(found[0, 1])]) if found.size else None
    places = np.flatnonzero(~np.isin(values.data, (-1, 0, 1)))
    if places.size == 0:
        return None
    row = int(np.searchsorted(values.indptr, places[0], side="right")) - 1
    return [row], [int(values.indices[places[0]])]


def _decide(matrix: Matrix) -> Proof | _Violation:
    """Find a proof, or a submatrix that is not totally unimodular (the whole matrix at worst)."""
    m, n = matrix.shape
    hole = odd_hole(matrix)
    if hole is not None:
        return _Violation(*hole, is_minimal=True)
    for transposed in (False, True):
        answer = _network(sparse.csc_array(matrix.T if transposed else matrix))
        if isinstance(answer, _Violation):
            return _Violation(answer.columns, answer.rows, answer.is_minimal) if transposed else answer
        if answer is not None:
            return answer.transpose() if transposed else answer
    peeled = _peel(matrix)
    if peeled is not None:
        return peeled
    if min(m, n) <= SHORT_SIDE:
        coloured = by_colouring(matrix.toarray())
        if isinstance(coloured, Counterexample):
            return _Violation(np.array(coloured.rows), np.array(coloured.columns))
        return coloured
    n_blocks, label = csgraph.connected_components(bipartite(matrix), directed=False)
    if n_blocks > 1:
        return _split_blocks(matrix, label[:m].astype(np.int64), label[m:].astype(np.int64), n_blocks)
    support = matrix.toarray() != 0
    separation = two_separation(support)
    if separation is not None:
        return _split_two_sum(matrix, support, separation)
    separation = three_separation(support)
    if separation is None:
        return _whole(matrix)
    return _split_three_sum(matrix, separation)


def _whole(matrix: Matrix) -> _Violation:
    m, n = matrix.shape
    return _Violation(np.arange(m), np.arange(n))


def _network(columns: sparse.csc_array) -> NetworkCertificate | _Violation | None:
    """Recognise a network matrix; if only the signs are wrong, say where."""
    columns.sort_indices()
    realisation = realise(columns)
    if realisation is None:
        return None
    certificate = orient(realisation, columns)
    if certificate is not None:
        return certificate
    return _Violation(*odd_cycle(path_matrix(away_from_root(realisation), columns), columns), is_minimal=True)


def _peel(matrix: Matrix) -> Proof | _Violation | None:
    """Take off lines with at most one nonzero or parallel to others; None if there are none."""
    m, n = matrix.shape
    left = LinesOf(matrix)
    numbers = np.random.default_rng(0).integers(1, 1 << 62, size=m + n).tolist()
    keys = [reduce(xor, (numbers[other] for other in left[line]), 0) for line in range(m + n)]
    filed: dict[int, int] = {}
    lines: list[int] = []
    partners: list[int] = []
    todo = list(range(m + n))
    while todo:
        line = todo.pop()
        if line not in left:
            continue
        partner = -1
        if len(left[line]) > 1:
            partner = filed.get(keys[line], -1)
            if partner == line or partner not in left or left[partner].keys() != left[line].keys():
                filed[keys[line]] = line
                continue
            if not left.are_parallel(line, partner):
                return _unlike_pair(left, line, partner, m)
        lines.append(line)
        partners.append(partner)
        for other in left[line]:
            keys[other] ^= numbers[line]
            todo.append(other)
        left.remove(line)
    if not lines:
        return None
    keep = np.ones(m + n, dtype=np.bool_)
    keep[lines] = False
    rows, columns = np.flatnonzero(keep[:m]), np.flatnonzero(keep[m:])
    rest = _decide(submatrix(matrix, rows, columns))
    if isinstance(rest, _Violation):
        return rest.within(rows, columns)
    return Peeling(np.array(lines, dtype=np.int64), np.array(partners, dtype=np.int64), rest)


def _unlike_pair(left: LinesOf, line: int, other: int, m: int) -> _Violation:
    """Find the 2 x 2 submatrix of determinant 2 in two lines with equal supports that are not parallel."""
    entries, others = left[line], left[other]
    places = list(entries)
    first = places[0]
    unlike = next(place for place in places if entries[place] * others[place] != entries[first] * others[first])
    pair, across = sorted((line, other)), sorted((first, unlike))
    rows, columns = (pair, across) if line < m else (across, pair)
    return _Violation(np.array(rows), np.array(columns) - m)


def _split_blocks(matrix: Matrix, row_block: Array, column_block: Array, n_blocks: int) -> Proof | _Violation:
    proofs: list[Proof] = []
    for number, block in enumerate(blocks_of(matrix, row_block, column_block, n_blocks)):
        proof = _decide(block)
        if isinstance(proof, _Violation):
            return proof.within(np.flatnonzero(row_block == number), np.flatnonzero(column_block == number))
        proofs.append(proof)
    return Blocks(row_block, column_block, tuple(proofs))


def _split_two_sum(matrix: Matrix, support: NDArray[np.bool_], separation: Separation) -> Proof | _Violation:
    first, second = two_sum_lines(support, separation)
    row, column = int(first[0][-1]), int(second[1][-1])
    fault = _unlike_product(matrix, second[0], first[1], row, column)
    if fault is not None:
        return fault
    proofs: list[Proof] = []
    for rows, columns in (first, second):
        proof = _decide(submatrix(matrix, rows, columns))
        if isinstance(proof, _Violation):
            return proof.within(rows, columns)
        proofs.append(proof)
    return TwoSum(separation.first_rows, separation.first_columns, row, column, *proofs)


def _split_three_sum(matrix: Matrix, separation: Separation) -> Proof | _Violation:
    """Split, after a pivot that shares out the rank if one of the two blocks is zero."""
    first_rows, first_columns = separation.first_rows, separation.first_columns
    blocks = [(np.flatnonzero(first_rows == side), np.flatnonzero(first_columns != side)) for side in (True, False)]
    nonzeros = [_some_nonzero(matrix, rows, columns) for rows, columns in blocks]
    if None in nonzeros:
        row, column = nonzeros[0] or nonzeros[1] or (0, 0)
        changed = pivoted(matrix, row, column)
        if not np.isin(changed.data, (-1, 1)).all():
            return _whole(matrix)
        in_rows, in_columns = first_rows.copy(), first_columns.copy()
        in_rows[row], in_columns[column] = first_columns[column], first_rows[row]
        rest = _split_three_sum(changed, Separation(in_rows, in_columns))
        return _whole(matrix) if isinstance(rest, _Violation) else Pivot(row, column, rest)
    above, below = (place for place in nonzeros if place is not None)
    for (rows, columns), place in zip(blocks, (above, below), strict=True):
        fault = _unlike_product(matrix, rows, columns, *place)
        if fault is not None:
            return fault
    with_one = three_sum_parts(matrix, first_rows, first_columns, above, below, 1)
    first_corner, second_corner = (with_one[0].shape[0] - 1, with_one[0].shape[1] - 1), (0, 0)
    signs = {_corner_sign(part, *corner) for part, corner in zip(with_one, (first_corner, second_corner), strict=True)}
    signs.discard(0)
    if len(signs) == 2:
        return _whole(matrix)
    sign = signs.pop() if signs else 1
    proofs: list[Proof] = []
    for part in three_sum_parts(matrix, first_rows, first_columns, above, below, sign):
        proof = _decide(part)
        if isinstance(proof, _Violation):
            return _whole(matrix)
        proofs.append(proof)
    return ThreeSum(first_rows, first_columns, above, below, sign, *proofs)


def _some_nonzero(matrix: Matrix, rows: Array, columns: Array) -> tuple[int, int] | None:
    entries = submatrix(matrix, rows, columns).tocoo()
    return (int(rows[entries.row[0]]), int(columns[entries.col[0]])) if entries.nnz else None


def _unlike_product(matrix: Matrix, rows: Array, columns: Array, row: int, column: int) -> _Violation | None:
    """Find a 2 x 2 submatrix of determinant 2 in a block whose support is a product of a column and a row."""
    block = submatrix(matrix, rows, columns).toarray()
    entry = int(matrix[row, column])
    product = entry * np.outer(block[:, columns == column], block[rows == row])
    wrong = np.argwhere(block != product)
    if wrong.size == 0:
        return None
    return _Violation(np.array([row, rows[wrong[0, 0]]]), np.array([column, columns[wrong[0, 1]]]))


def _corner_sign(part: Matrix, row: int, column: int) -> int:
    """Return the sign of a corner that Camion's rule asks for; 0 if either will do."""
    open_corner = sparse.lil_array(part)
    open_corner[row, column] = 0
    entries = sparse.csr_array(open_corner)
    entries.eliminate_zeros()
    chain = closed_chain(entries, row, column)
    return 0 if chain is None else chain.sign


def _minimal(matrix: Matrix, violation: _Violation) -> _Violation:
    """Leave out lines, in large and then in small portions, as long as the rest is not totally unimodular."""
    portion = max(1, (violation.rows.size + violation.columns.size) // 2)
    while not violation.is_minimal:
        size = violation.rows.size + violation.columns.size
        for start in range(0, size, portion):
            lines = np.arange(start, start + portion)
            rows = np.delete(violation.rows, lines[lines < violation.rows.size])
            behind = lines[lines >= violation.rows.size] - violation.rows.size
            columns = np.delete(violation.columns, behind[behind < violation.columns.size])
            answer = _decide(submatrix(matrix, rows, columns))
            if isinstance(answer, _Violation):
                violation = answer.within(rows, columns)
                break
        if violation.rows.size + violation.columns.size == size:
            if portion == 1:
                break
            portion //= 2
        portion = min(portion, max(1, (violation.rows.size + violation.columns.size) // 2))
    return violation
