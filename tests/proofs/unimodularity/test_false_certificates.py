"""One false certificate of total unimodularity for each condition of the checkers, right but for that condition.

`tests/mutation_gate.py` removes the conditions one by one; each removal must fail a test here.
"""

from dataclasses import replace

import numpy as np
import pytest
from refusals import assert_refused
from scipy import sparse

from proofs.unimodularity.counterexample import Counterexample
from proofs.unimodularity.decomposition import (
    Blocks,
    Certificate,
    Peeling,
    Pivot,
    ThreeSum,
    TwoSum,
    pivoted,
    sparse_matrix,
    submatrix,
    three_sum_parts,
)
from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.network_form import NetworkForm
from proofs.unimodularity.small_matrices import (
    ColouringCertificate,
    EulerianCertificate,
    by_colouring,
    by_eulerian_submatrices,
    by_subdeterminants,
)

ODD_CYCLE = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
"""Determinant 2."""
ALL_OF_THREE = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1]])
"""Determinant -4: three copies of one arc, two one way and one the other."""
NONE = np.zeros(0, dtype=np.int64)


def network(parent, columns, away, tail, head, transposed=False) -> NetworkCertificate:
    return NetworkCertificate(
        np.array(parent, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        np.array(away, dtype=bool),
        np.array(tail, dtype=np.int64),
        np.array(head, dtype=np.int64),
        transposed,
    )


TREE = network([-1, 0, 0, 1], [1, 2, 3], [1, 1, 1], [0, 1, 3, 2], [3, 2, 0, 2])
PATHS = np.array([[1, 0, 1], [-1, 1, 0], [-1, 0, -1], [0, 0, 0]])

TRUE_NETWORKS = {
    "rows are paths": (TREE, PATHS),
    "columns are paths": (replace(TREE, transposed=True), PATHS.T),
    "sparse": (TREE, sparse.coo_array(PATHS)),
    "no columns": (network([-1], NONE, NONE, [0], [0]), np.zeros((1, 0))),
    "no rows": (network([-1, 0], [1], [1], NONE, NONE), np.zeros((0, 1))),
    "against the arcs": (network([-1, 0], [1], [0], [1], [0]), np.array([[1]])),
}
ONE_ARC = network([-1, 0], [1], [1], [0], [1])
FALSE_NETWORKS = {
    "no vertex": (replace(ONE_ARC, parent=NONE), [[1]], "vertex 0 must be the root"),
    "a root with a parent": (replace(ONE_ARC, parent=np.array([0, 0])), [[1]], "vertex 0 must be the root"),
    "two roots": (replace(TREE, parent=np.array([-1, 0, 0, 1, -1])), PATHS, "a vertex does not come after its parent"),
    "a cycle of arcs": (
        network([-1, 2, 3, 1], [1, 2, 3], [1, 1, 1], [3, 1, 2], [1, 2, 3]),
        ODD_CYCLE,
        "a vertex does not come after its parent",
    ),
    "one direction for all": (replace(TREE, away=np.array([True])), PATHS, "column_vertex and away, or tail and head"),
    "a tail too many": (replace(ONE_ARC, tail=np.array([0, 0])), [[1]], "column_vertex and away, or tail and head"),
    "the root's arc": (replace(ONE_ARC, column_vertex=np.array([0])), [[1]], "a column's arc is not in the tree"),
    "no vertex's arc": (replace(ONE_ARC, column_vertex=np.array([2])), [[1]], "a column's arc is not in the tree"),
    "one arc three times": (
        network([-1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1]),
        ALL_OF_THREE,
        "two columns are the same arc",
    ),
    "one arc twice": (network([-1, 0], [1, 1], [1, 1], [0], [0]), [[1, -1]], "two columns are the same arc"),
    "a vertex as its own parent": (
        replace(ONE_ARC, parent=np.array([-1, 1])),
        [[1]],
        "a vertex does not come after its parent",
    ),
    "a root with a parent before the first": (
        replace(ONE_ARC, parent=np.array([-2, 0])),
        [[1]],
        "vertex 0 must be the root",
    ),
    "a direction too many": (
        replace(TREE, away=np.array([True] * 4)),
        PATHS,
        "column_vertex and away, or tail and head",
    ),
    "a head too many": (replace(ONE_ARC, head=np.array([1, 1])), [[1]], "column_vertex and away, or tail and head"),
    "a row more": (TREE, np.vstack([PATHS, [[0, 0, 0]]]), "the matrix is (5, 3), the certificate is about (4, 3)"),
    "a tail outside": (replace(ONE_ARC, tail=np.array([-1])), [[1]], "a path ends outside the tree"),
    "a head outside": (replace(ONE_ARC, head=np.array([2])), [[1]], "a path ends outside the tree"),
    "a row less": (TREE, PATHS[:-1], "the matrix is (3, 3), the certificate is about (4, 3)"),
    "entries of another size": (ONE_ARC, [[1.5]], "the matrix has an entry other than 0, 1, -1"),
    "another path": (replace(TREE, head=np.array([1, 2, 0, 2])), PATHS, "row 0 is not the path from vertex 0"),
    "another path of a column": (
        replace(TREE, head=np.array([1, 2, 0, 2]), transposed=True),
        PATHS.T,
        "column 0 is not the path from vertex 0 to vertex 1",
    ),
}


@pytest.mark.parametrize(("certificate", "matrix"), TRUE_NETWORKS.values(), ids=TRUE_NETWORKS)
def test_networks_are_accepted(certificate, matrix):
    assert certificate.check(matrix), certificate.check(matrix)


@pytest.mark.parametrize(("certificate", "matrix", "reason"), FALSE_NETWORKS.values(), ids=FALSE_NETWORKS)
def test_false_networks_are_refused(certificate, matrix, reason):
    assert_refused(certificate.check(np.array(matrix)), reason)


STUMP = NetworkForm(
    columns=("z0", "z1", "z2"),
    equality=np.array([[1, 1, 0], [1, 0, 1]]),
    operations=np.array([[-1, 0], [1, -1], [0, 1]]),
    network=np.array([[-1, -1, 0], [0, 1, -1], [1, 0, 1]]),
)


def form(equality, operations) -> NetworkForm:
    """Give a form whose network is the product of its parts."""
    equality, operations = np.array(equality), np.array(operations)
    names = tuple(f"z{column}" for column in range(equality.shape[1]))
    return NetworkForm(names, equality, operations, operations @ equality)


FALSE_FORMS = {
    "operations turned over": (replace(STUMP, operations=STUMP.operations.T), "the shapes do not fit together"),
    "a network too small": (replace(STUMP, network=STUMP.network[:-1]), "the shapes do not fit together"),
    "a name less": (replace(STUMP, columns=("z0", "z1")), "the shapes do not fit together"),
    "operations that lose a row": (form([[1]], [[0], [0]]), "the row operations have determinant 0"),
    "a name too many": (replace(STUMP, columns=(*STUMP.columns, "z3")), "the shapes do not fit together"),
    "another network": (replace(STUMP, network=STUMP.network[:, ::-1]), "the network matrix is not"),
    "operations that stretch": (form([[1]], [[2], [-2]]), "the row operations have determinant 2"),
    "operations that do not sum up": (form([[1]], [[-1], [0]]), "the last operation is not minus the sum"),
    "a column of zeros": (form([[1, 0]], [[-1], [1]]), "a column is not one +1 and one -1"),
    "a column of long steps": (form([[2]], [[-1], [1]]), "a column is not one +1 and one -1"),
    "a column of four": (
        form([[1], [2], [0]], [[-1, 0, 0], [0, -1, 0], [1, 0, 1], [0, 1, -1]]),
        "a column is not one +1 and one -1",
    ),
    "a unit backwards": (form([[1]], [[1], [-1]]), "the right-hand side is not one unit"),
    "units on the way": (form([[1], [0]], [[-1, 0], [1, 1], [0, -1]]), "the right-hand side is not one unit"),
}


def test_forms_are_accepted():
    assert STUMP.check().reason == "2 constraints on 3 variables: a graph of 3 vertices and 3 arcs"


@pytest.mark.parametrize(("wrong", "reason"), FALSE_FORMS.values(), ids=FALSE_FORMS)
def test_false_forms_are_refused(wrong, reason):
    assert_refused(wrong.check(), reason)


FALSE_COUNTEREXAMPLES = {
    "no square": ((0, 1, 2), (0, 1), 2, "3 rows and 2 columns are no square submatrix"),
    "a column too many for a square": ((0, 1), (0, 1, 2), 2, "2 rows and 3 columns are no square submatrix"),
    "one more than the determinant": ((0, 1, 2), (0, 1, 2), 3, "the determinant is 2, not 3"),
    "nothing": ((), (), 1, "0 rows and 0 columns are no square submatrix"),
    "a row twice": ((0, 1, 1), (0, 1, 2), 0, "a row or a column is listed twice"),
    "a column twice": ((0, 1, 2), (0, 1, 1), 0, "a row or a column is listed twice"),
    "a row from behind": ((0, 1, -1), (0, 1, 2), 2, "a row or a column lies outside"),
    "a column from behind": ((0, 1, 2), (0, 1, -1), 2, "a row or a column lies outside"),
    "a row too many": ((0, 1, 3), (0, 1, 2), 2, "a row or a column lies outside"),
    "a column too many": ((0, 1, 2), (0, 1, 3), 2, "a row or a column lies outside"),
    "another determinant": ((0, 1, 2), (0, 1, 2), -2, "the determinant is 2, not -2"),
    "a harmless one": ((0, 1), (0, 1), 1, "the determinant 1 does not violate"),
}


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_no_determinant_of_a_unimodular_matrix_is_a_violation(sign):
    verdict = Counterexample(np.diag([1, sign]), (0, 1), (0, 1), sign).check()
    assert not verdict
    assert verdict.reason == f"the determinant {sign} does not violate total unimodularity"


def test_counterexamples_are_accepted():
    assert Counterexample(ODD_CYCLE, (0, 1, 2), (0, 1, 2), 2).check()


def test_counterexamples_are_told_by_the_names_of_rows_and_columns():
    named = Counterexample(ODD_CYCLE, (0, 1, 2), (0, 1, 2), 2, ("buy", "keep", "cap"), ("z[0]", "z[1]", "w[0]"))
    assert named.check().reason == "rows [buy, keep, cap], columns [z[0], z[1], w[0]] have determinant 2"


@pytest.mark.parametrize(
    ("rows", "columns", "stated", "reason"), FALSE_COUNTEREXAMPLES.values(), ids=FALSE_COUNTEREXAMPLES
)
def test_false_counterexamples_are_refused(rows, columns, stated, reason):
    assert_refused(Counterexample(ODD_CYCLE, rows, columns, stated).check(), reason)


TRIANGLE = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1]])
"""Intervals."""
COLOURED, HALVED = by_colouring(TRIANGLE), by_eulerian_submatrices(TRIANGLE)
FOURS = by_eulerian_submatrices(np.ones((4, 4), dtype=np.int64))
"""All lines sum to 4, and half of that is even."""
ZERO_LINE = by_colouring(np.array([[0, 0]]))
TALL = TRIANGLE[:2].T
SUBSETS = (np.arange(8)[:, None] >> np.arange(3)) & 1

FALSE_COLOURINGS = {
    "another entry": (replace(COLOURED, matrix=2 * TRIANGLE), "the matrix has an entry other than"),
    "a set less": (replace(COLOURED, signs=COLOURED.signs[:-1]), "expected 8 colourings of 3 lines"),
    "a third colour": (replace(ZERO_LINE, signs=np.array([[0], [2]])), "a colour is not -1, 0 or 1"),
    "no colours": (
        ColouringCertificate(ODD_CYCLE, False, np.zeros((8, 3), dtype=np.int8)),
        "a colouring does not colour exactly the lines of its set",
    ),
    "one colour": (
        ColouringCertificate(ODD_CYCLE, False, SUBSETS.astype(np.int8)),
        "the colouring of set 0b11 has a sum",
    ),
}
FALSE_HALVES = {
    "another entry": (replace(HALVED, matrix=2 * TRIANGLE), "the matrix has an entry other than"),
    "a set less": (replace(HALVED, halves=HALVED.halves[:-1]), "expected 8 subsets"),
    "halves outside": (
        EulerianCertificate(np.array([[1, 1], [1, -1], [0, 1]]), True, np.array([0, 0, 0, 0]) | 4),
        "a subset Q is not inside its set R",
    ),
    "halves before the first line": (replace(HALVED, halves=HALVED.halves - 8), "a subset Q is not inside its set R"),
    "no halves": (
        EulerianCertificate(ODD_CYCLE, False, np.zeros(8, dtype=np.int64)),
        "the subset given for set 0b11 does not halve",
    ),
}


def test_colourings_and_halves_are_accepted():
    for certificate in (COLOURED, HALVED, ZERO_LINE, by_colouring(TALL), by_eulerian_submatrices(TALL), FOURS):
        assert certificate.check(), certificate.check()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [*FALSE_COLOURINGS.values(), *FALSE_HALVES.values()],
    ids=[*FALSE_COLOURINGS, *(f"{name} (eulerian)" for name in FALSE_HALVES)],
)
def test_false_colourings_and_halves_are_refused(wrong, reason):
    assert_refused(wrong.check(), reason)


def leaf(matrix) -> ColouringCertificate:
    """Colour all sets of lines of a small matrix."""
    dense = matrix.toarray() if sparse.issparse(matrix) else np.array(matrix)
    coloured = by_colouring(dense)
    assert isinstance(coloured, ColouringCertificate), dense
    return coloured


def test_nothing_needs_no_leaf():
    verdict = Certificate(np.zeros((0, 0)), blocks([], [])).check()
    assert verdict.reason == "0 x 0: 1 1-sum, 0 leaves ()"


def at(rows, columns, matrix):
    """Cut rows and columns out of a matrix and colour them."""
    return leaf(submatrix(sparse_matrix(matrix), np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)))


def peeling(lines, partners, rest) -> Peeling:
    return Peeling(np.array(lines, dtype=np.int64), np.array(partners, dtype=np.int64), rest)


def blocks(rows, columns, *proofs) -> Blocks:
    return Blocks(np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), proofs)


def marked(*values) -> np.ndarray:
    return np.array(values, dtype=bool)


DIAGONAL = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
PARALLEL = np.array([[1, 1], [-1, -1], [0, 1]])
LOWER = np.array([[1, 1, 0], [1, 1, 1], [-1, -1, -1]])
"""A 2-sum of rows {0} and columns {0, 1} with the rest: below the first block (1, -1) times (1, 1)."""
TWO = TwoSum(marked(1, 0, 0), marked(1, 1, 0), 1, 0, at([0, 1], [0, 1], LOWER), at([1, 2], [2, 0], LOWER))
ROLLED = LOWER[:, [2, 0, 1]]
THREE_PARTS = (marked(1, 1, 0, 0), marked(1, 1, 0, 0), (0, 2), (2, 0), 1)
WHOLE = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 1]])


def three(matrix, rows, columns, above, below, sign, check=True) -> ThreeSum:
    """Split a matrix by a 3-sum into leaves."""
    first, second = three_sum_parts(sparse_matrix(matrix), rows, columns, above, below, sign)
    return ThreeSum(rows, columns, above, below, sign, leaf(first), leaf(second))


def pivot(matrix, row, column) -> Pivot:
    """Pivot, and colour what comes out."""
    return Pivot(row, column, leaf(pivoted(sparse_matrix(matrix), row, column)))


def stored_in_parts(*parts) -> sparse.csr_array:
    """Give a matrix of one entry that is stored as a sum."""
    return sparse.csr_array((np.array(parts), np.zeros(len(parts), dtype=np.int64), [0, len(parts)]), shape=(1, 1))


TRUE_PROOFS = {
    "a leaf": (TRIANGLE, COLOURED),
    "a sparse matrix": (sparse.csr_array(TRIANGLE), COLOURED),
    "an entry 1 as 2 - 1": (stored_in_parts(2, -1), leaf([[1]])),
    "an entry 1 as two halves": (stored_in_parts(0.5, 0.5), leaf([[1]])),
    "a network": (PATHS, TREE),
    "unit lines": (DIAGONAL, peeling([2, 5, 1], [-1, -1, -1], at([0], [0, 1], DIAGONAL))),
    "parallel rows": (PARALLEL, peeling([1], [0], at([0, 2], [0, 1], PARALLEL))),
    "a parallel last row": (PARALLEL[[0, 2, 1]], peeling([2], [0], at([0, 2], [0, 1], PARALLEL))),
    "parallel columns": (PARALLEL.T, peeling([3], [2], at([0, 1], [0, 2], PARALLEL.T))),
    "blocks": (DIAGONAL, blocks([0, 0, 1], [0, 0, 1], at([0, 1], [0, 1], DIAGONAL), at([2], [2], DIAGONAL))),
    "no rows": (np.zeros((0, 1)), blocks([], [0], leaf(np.zeros((0, 1), dtype=np.int64)))),
    "no columns": (np.zeros((1, 0)), blocks([0], [], leaf(np.zeros((1, 0), dtype=np.int64)))),
    "a 2-sum": (LOWER, TWO),
    "a 2-sum through -1 in the last row": (LOWER, replace(TWO, row=2, first=at([0, 2], [0, 1], LOWER))),
    "a 2-sum through the last column": (
        ROLLED,
        TwoSum(marked(1, 0, 0), marked(0, 1, 1), 1, 2, at([0, 1], [1, 2], ROLLED), at([1, 2], [0, 2], ROLLED)),
    ),
    "a 3-sum": (WHOLE, three(WHOLE, *THREE_PARTS)),
    "a pivot": (TRIANGLE, pivot(TRIANGLE, 0, 1)),
    "a pivot in the first corner": (TRIANGLE, pivot(TRIANGLE, 0, 0)),
    "a pivot in the last corner": (TRIANGLE, pivot(TRIANGLE, 2, 2)),
}

DENSE = ODD_CYCLE
TWICE = np.array([[1, 1], [1, -1]])
MINUS = np.array([-1, 0], dtype=np.int8)
FALSE_PROOFS = {
    "another entry": (2 * TRIANGLE, COLOURED, "the matrix has an entry other than 0, 1, -1"),
    "another entry, sparse": (sparse.csr_array(2 * TRIANGLE), COLOURED, "the matrix has an entry other than 0, 1, -1"),
    "an entry 2 as 1 + 1": (
        stored_in_parts(1, 1),
        peeling([0], [-1], leaf(np.zeros((0, 1), dtype=np.int64))),
        "the matrix has an entry other than 0, 1, -1",
    ),
    "colourings of another matrix": (DENSE, COLOURED, "the colourings are about another matrix"),
    "a leaf that is none": (
        ODD_CYCLE,
        ColouringCertificate(ODD_CYCLE, False, SUBSETS.astype(np.int8)),
        "the colouring of set 0b11",
    ),
    "a network of another matrix": (-PATHS, TREE, "row 0 is not the path"),
    "a line twice": (DIAGONAL, peeling([2, 2], [-1, -1], at([0, 1], [0, 1, 2], DIAGONAL)), "Peeling: line 2"),
    "a line that is none": (DIAGONAL, peeling([6], [-1], leaf(DIAGONAL)), "Peeling: line 6 is not there"),
    "lines as a list": (DIAGONAL, Peeling([0], np.array([-1]), leaf(DIAGONAL)), "Peeling: lines: expected a one-dim"),
    "partners that are no integers": (
        DIAGONAL,
        Peeling(np.array([1]), np.array([-1.0]), at([0, 2], [0, 1, 2], DIAGONAL)),
        "Peeling: partners: expected a one-dimensional int64 array, got ndarray of float64",
    ),
    "a line without partner": (
        DIAGONAL,
        peeling([1, 2], [-1], at([0], [0, 1, 2], DIAGONAL)),
        "Peeling: partners: expected 2 entries, got 1",
    ),
    "a full line": (DENSE, peeling([0], [-1], at([1, 2], [0, 1, 2], DENSE)), "Peeling: line 0 has more"),
    "a column as partner of a row": (
        DENSE,
        peeling([0], [3], at([1, 2], [0, 1, 2], DENSE)),
        "Peeling: line 3 is no partner of line 0",
    ),
    "a row as partner of a column": (
        DENSE,
        peeling([3], [0], at([0, 1, 2], [1, 2], DENSE)),
        "Peeling: line 0 is no partner of line 3",
    ),
    "a partner before the first": (
        DIAGONAL,
        peeling([2], [-2], at([0, 1], [0, 1, 2], DIAGONAL)),
        "Peeling: line -2 is no partner of line 2",
    ),
    "itself as partner": (DENSE, peeling([0], [0], at([1, 2], [0, 1, 2], DENSE)), "Peeling: line 0 is no partner"),
    "a partner that is gone": (
        PARALLEL[:, [0, 1, 1]][[0, 0, 1]],
        peeling([1, 2], [0, 1], at([0], [0, 1, 2], PARALLEL[:, [0, 1, 1]])),
        "Peeling: line 1 is no partner of line 2",
    ),
    "lines of other places": (DENSE, peeling([0], [1], at([1, 2], [0, 1, 2], DENSE)), "Peeling: lines 0 and 1"),
    "lines of other signs": (TWICE, peeling([0], [1], at([1], [0, 1], TWICE)), "Peeling: lines 0 and 1"),
    "a row without block": (
        DIAGONAL,
        blocks([0, 0], [0, 0, 0], leaf(DIAGONAL[:2])),
        "Blocks: row_block: expected 3 entries, got 2",
    ),
    "a column without block": (
        DIAGONAL,
        blocks([0, 0, 0], [0, 0, 0, 0], leaf(DIAGONAL)),
        "Blocks: column_block: expected 3 entries, got 4",
    ),
    "blocks of 32 bits": (
        DIAGONAL,
        Blocks(np.zeros(3, dtype=np.int32), np.zeros(3, dtype=np.int64), (leaf(DIAGONAL),)),
        "Blocks: row_block: expected a one-dimensional int64 array, got ndarray of int32",
    ),
    "columns in blocks of 32 bits": (
        DIAGONAL,
        Blocks(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int32), (leaf(DIAGONAL),)),
        "Blocks: column_block: expected a one-dimensional int64 array, got ndarray of int32",
    ),
    "a negative block": (
        DIAGONAL,
        blocks([0, 0, -1], [0, 0, -1], at([0, 1], [0, 1], DIAGONAL)),
        "Blocks: a row or column belongs to no block",
    ),
    "a block without proof": (
        DIAGONAL,
        blocks([0, 0, 1], [0, 0, 1], at([0, 1], [0, 1], DIAGONAL)),
        "Blocks: a row or column belongs to no block",
    ),
    "a nonzero outside the blocks": (
        DENSE,
        blocks([0, 0, 1], [0, 0, 1], at([0, 1], [0, 1], DENSE), at([2], [2], DENSE)),
        "Blocks: a nonzero lies outside the blocks",
    ),
    "a nonzero above the blocks": (
        np.array([[1, 1], [0, 1]]),
        blocks([0, 1], [0, 1], leaf([[1]]), leaf([[1]])),
        "Blocks: a nonzero lies outside the blocks",
    ),
    "a nonzero below the blocks": (
        np.array([[1, 0], [1, 1]]),
        blocks([0, 1], [0, 1], leaf([[1]]), leaf([[1]])),
        "Blocks: a nonzero lies outside the blocks",
    ),
    "a 2-sum of less than a product": (
        np.array([[1, 0, 0], [1, 1, 1], [1, 0, 1]]),
        TwoSum(marked(1, 0, 0), marked(1, 1, 0), 1, 0, leaf([[1, 0], [1, 1]]), leaf([[1, 1], [1, 1]])),
        "TwoSum: a block has 3 nonzeros, not 2 x 2",
    ),
    "a 2-sum with something above": (
        DENSE,
        TwoSum(marked(1, 0, 0), marked(1, 0, 0), 2, 0, at([0, 2], [0], DENSE), at([1, 2], [1, 2, 0], DENSE)),
        "TwoSum: the block that should be zero has a nonzero",
    ),
    "a 2-sum of more than a product": (
        np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 1]]),
        TwoSum(
            marked(1, 0, 0, 0),
            marked(1, 1, 0, 0),
            1,
            0,
            leaf([[1, 1], [1, 0]]),
            leaf([[1, 0, 1], [1, 0, 0], [1, 1, 0]]),
        ),
        "TwoSum: a block has 2 nonzeros, not 1 x 1",
    ),
    "a 2-sum of other signs": (
        np.array([[1, 0, 0], [1, 1, 1], [1, -1, 1]]),
        TwoSum(marked(1, 0, 0), marked(1, 1, 0), 1, 0, leaf([[1, 0], [1, 1]]), leaf([[1, 1], [1, 1]])),
        "TwoSum: a block is not the product of a column and a row",
    ),
    "a product through a zero": (LOWER, replace(TWO, row=0), "TwoSum: row 0, column 0 is no nonzero of its block"),
    "a product through a row from behind": (
        LOWER,
        replace(TWO, row=-2),
        "TwoSum: row -2, column 0 is no nonzero of its block",
    ),
    "a product through a row too far": (LOWER, replace(TWO, row=3), "TwoSum: row 3, column 0 is no nonzero"),
    "a product through a column from behind": (
        LOWER,
        replace(TWO, column=-3),
        "TwoSum: row 1, column -3 is no nonzero of its block",
    ),
    "a product through a column too far": (LOWER, replace(TWO, column=3), "TwoSum: row 1, column 3 is no nonzero"),
    "parts without a row": (
        LOWER,
        replace(TWO, first_rows=marked(1, 0)),
        "TwoSum: first_rows: expected 3 entries, got 2",
    ),
    "parts with a row too many": (
        LOWER,
        replace(TWO, first_rows=marked(1, 0, 0, 0)),
        "TwoSum: first_rows: expected 3 entries, got 4",
    ),
    "parts with a column too many": (
        LOWER,
        replace(TWO, first_columns=marked(1, 1, 0, 0)),
        "TwoSum: first_columns: expected 3 entries, got 4",
    ),
    "parts marked by -1, whose complement is nothing": (
        TWICE,
        TwoSum(MINUS, MINUS, 1, 0, leaf([[1], [1]]), leaf([[-1, 1]])),
        "TwoSum: first_rows: expected a one-dimensional bool array, got ndarray of int8",
    ),
    "columns marked by -1": (
        TWICE,
        TwoSum(MINUS.astype(bool), MINUS, 1, 0, leaf([[1], [1]]), leaf([[-1, 1]])),
        "TwoSum: first_columns: expected a one-dimensional bool array, got ndarray of int8",
    ),
    "3-sum of parts marked by numbers": (
        WHOLE,
        replace(TRUE_PROOFS["a 3-sum"][1], first_rows=np.array([-1, -1, 0, 0])),
        "ThreeSum: first_rows: expected a one-dimensional bool array, got ndarray of int64",
    ),
    "a 3-sum without corner": (
        WHOLE,
        replace(TRUE_PROOFS["a 3-sum"][1], sign=0),
        "ThreeSum: the corner is 0, not 1 or -1",
    ),
    "a 3-sum of more than a product above": (
        np.array([[1, 0, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 1]]),
        TRUE_PROOFS["a 3-sum"][1],
        "ThreeSum: a block has 2 nonzeros, not 1 x 1",
    ),
    "a 3-sum of more than a product below": (
        np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1]]),
        TRUE_PROOFS["a 3-sum"][1],
        "ThreeSum: a block has 2 nonzeros, not 1 x 1",
    ),
    "a pivot on nothing": (DENSE, pivot(DENSE, 0, 2), "Pivot: there is no 1 or -1 to pivot on in row 0, column 2"),
    "a pivot from behind": (TRIANGLE, replace(pivot(TRIANGLE, 2, 1), row=-1), "Pivot: there is no 1 or -1 to pivot on"),
    "a pivot in a row too far": (TRIANGLE, replace(pivot(TRIANGLE, 2, 1), row=3), "Pivot: there is no 1 or -1"),
    "a pivot in a column from behind": (TRIANGLE, replace(pivot(TRIANGLE, 2, 1), column=-2), "Pivot: there is no 1"),
    "a pivot in a column too far": (TRIANGLE, replace(pivot(TRIANGLE, 2, 1), column=3), "Pivot: there is no 1 or -1"),
}


@pytest.mark.parametrize(("matrix", "proof"), TRUE_PROOFS.values(), ids=TRUE_PROOFS)
def test_proofs_are_accepted(matrix, proof):
    verdict = Certificate(matrix, proof).check()
    assert verdict, verdict
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    assert by_subdeterminants(dense) is True


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("a leaf", "3 x 3: no sums, 1 leaf (1 small)"),
        ("a pivot", "3 x 3: 1 pivot, 1 leaf (1 small)"),
        ("a 2-sum", "3 x 3: 1 2-sum, 2 leaves (2 small)"),
    ],
)
def test_verdicts_name_the_steps(name, steps):
    assert Certificate(*TRUE_PROOFS[name]).check().reason == steps


def test_checks_leave_the_matrix_as_it_is():
    matrix = stored_in_parts(2, -1)
    assert Certificate(matrix, leaf([[1]])).check()
    assert matrix.data.tolist() == [2, -1]


@pytest.mark.parametrize(("matrix", "proof", "reason"), FALSE_PROOFS.values(), ids=FALSE_PROOFS)
def test_false_proofs_are_refused(matrix, proof, reason):
    assert_refused(Certificate(matrix, proof).check(), reason)
