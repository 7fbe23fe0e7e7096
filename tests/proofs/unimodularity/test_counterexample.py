"""Counterexamples: their check recomputes, every corruption is refused; what is accepted as a matrix."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from proofs.unimodularity.counterexample import Counterexample, NoViolationError, as_matrix
from proofs.unimodularity.known_matrices import known_matrices
from proofs.unimodularity.total_unimodularity import is_minimal, is_totally_unimodular

FANO = next(known.matrix for known in known_matrices() if known.name == "F7")


@pytest.mark.parametrize("matrix", [FANO, sparse.csr_array(FANO)])
def test_every_corruption_of_a_counterexample_is_refused(matrix):
    answer = is_totally_unimodular(matrix)
    assert answer.check()
    assert is_minimal(answer)
    assert abs(answer.determinant) == 2
    assert "determinant is" in replace(answer, determinant=3).check().reason
    assert "no square" in replace(answer, rows=answer.rows[:-1]).check().reason
    assert "twice" in replace(answer, rows=(0, 0, 1)).check().reason
    assert "outside" in replace(answer, columns=(0, 1, 9)).check().reason


def test_no_part_of_a_long_odd_cycle_is_eliminated_densely(monkeypatch):
    """A cycle of 16,001 rows took 4 GB."""
    eliminated = []
    monkeypatch.setattr("proofs.exact._dense_determinant", lambda rows: eliminated.append(rows) or rows[0][0])
    place = np.arange(16001)
    cycle = sparse.csr_array((np.ones(2 * 16001), (np.tile(place, 2), np.append(place, np.roll(place, 1)))))
    found = Counterexample.of(cycle, range(16001), range(16001))
    assert found.determinant in (-2, 2)
    assert "18, 19 and 15981 more], columns [0, 1" in str(found)
    assert {len(rows) for rows in eliminated} == {1}


def test_a_sparse_matrix_with_entries_in_parts_has_the_determinant_of_their_sums():
    """A checker may be given any sparse array, not only what `as_matrix` makes."""
    parts = sparse.csr_array(([1, 2, 1, 1, -1], [0, 0, 1, 1, 1], [0, 2, 5]), shape=(2, 2))
    assert Counterexample(parts, (0, 1), (0, 1), 3).check()


def test_a_harmless_submatrix_is_no_counterexample():
    harmless = Counterexample(np.eye(2, dtype=np.int64), (0,), (0,), 1)
    assert "does not violate" in harmless.check().reason
    assert str(harmless) == "no counterexample: the determinant 1 does not violate total unimodularity"


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_no_harmless_submatrix_is_stated(sign):
    with pytest.raises(NoViolationError, match=f"the determinant {sign} does not violate"):
        Counterexample.of(np.diag([1, sign]), (0, 1), (0, 1))


def test_no_submatrix_that_is_not_square_is_stated():
    """The answer of the audit's 6 x 7 matrix: a failed search for a decomposition, taken for a violator."""
    with pytest.raises(NoViolationError, match="2 rows and 3 columns are no square submatrix"):
        Counterexample.of(np.ones((2, 3), dtype=np.int64), (0, 1), (0, 1, 2))


def test_a_larger_submatrix_than_needed_is_not_minimal():
    matrix = np.array([[1, 1, 0], [1, -1, 0], [0, 0, 1]])
    assert not is_minimal(Counterexample.of(matrix, (0, 1, 2), (0, 1, 2)))
    assert is_minimal(Counterexample.of(matrix, (0, 1), (0, 1)))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, np.nan]], "finite numbers"),
        ([[np.inf]], "finite numbers"),
        (sparse.csr_array([[np.inf]]), "finite numbers"),
        ([1, 0, 1], "two dimensions"),
        ([["a"]], "expected numbers"),
        (np.array([["x"]], dtype=object), "int or Fraction"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        is_totally_unimodular(matrix)


@pytest.mark.parametrize(
    ("matrix", "entry"),
    [
        ([[1, 2], [0, 1]], 2),
        ([[0.5]], Fraction(1, 2)),
        (np.array([[Fraction(2, 3)]], dtype=object), Fraction(2, 3)),
        ([[-7]], -7),
        (sparse.csr_array(np.diag([1, 1, 3])), 3),
        (2 * sparse.eye_array(1000), 2),
    ],
)
def test_another_entry_is_a_counterexample_of_order_one(matrix, entry):
    answer = is_totally_unimodular(matrix)
    assert isinstance(answer, Counterexample)
    assert answer.determinant == entry
    assert len(answer.rows) == 1
    assert answer.check()


def test_the_matrix_of_an_answer_cannot_be_changed():
    matrix = np.eye(3, dtype=np.int64)
    answer = is_totally_unimodular(matrix)
    matrix[0, 0] = 5
    assert answer.check()
    with pytest.raises(ValueError, match="read-only"):
        answer.matrix[0, 0] = 5
    copied = as_matrix(sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="read-only"):
        copied.data[0] = 5
