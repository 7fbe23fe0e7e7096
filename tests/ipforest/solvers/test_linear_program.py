"""A linear program from one's own arrays: any matrix is taken, and what is no program is refused by the field."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import proofs
from formulations import LinearProgram
from formulations.diagnosis import shadow_prices

MATRIX = np.array([[1.0, 1.0], [1.0, -1.0]])


def program(**changes: Any) -> LinearProgram:
    fields: dict[str, Any] = {
        "A": MATRIX,
        "senses": ["<=", "=="],
        "rhs": [4, 1],
        "objective": [-1, -2],
        "constant": 3,
        "lower": [-np.inf, -5],
        "upper": [np.inf, np.inf],
        "integer": [False, False],
        "row_labels": ["most", "apart"],
        "column_labels": ["x", "y"],
    }
    return LinearProgram(**fields | changes)


@pytest.mark.parametrize(
    "matrix",
    [
        MATRIX,
        MATRIX.astype(int),
        MATRIX.tolist(),
        sparse.csc_array(MATRIX),
        sparse.coo_matrix(MATRIX),
        sparse.coo_array(MATRIX),
    ],
)
def test_any_matrix_is_taken(matrix: Any) -> None:
    read = program(A=matrix)
    assert (type(read.A), read.A.dtype) == (sparse.csr_array, np.float64)
    assert shadow_prices(read).objective == -2.5
    assert not proofs.is_totally_unimodular(read)


@pytest.mark.parametrize(
    ("field", "value", "error", "text"),
    [
        ("A", MATRIX[0], ValueError, "expected a matrix, got 1 dimensions"),
        ("A", np.where(MATRIX > 0, np.nan, MATRIX), ValueError, "expected finite numbers, got NaN or infinity"),
        ("A", MATRIX.astype(str), TypeError, "expected numbers, got <U"),
        ("senses", ["<=", "="], ValueError, "expected == or <= or >=, got '='"),
        ("senses", ["L", "E"], ValueError, "expected == or <= or >=, got 'L'"),
        ("senses", [b"<=", b"=="], TypeError, r"expected texts, got \|S2"),
        ("rhs", [[4], [1]], ValueError, r"expected shape \(2,\), got \(2, 1\)"),
        ("rhs", [np.nan, 1], ValueError, "expected numbers, got NaN"),
        ("rhs", ["4", "1"], TypeError, "expected numbers, got <U1"),
        ("objective", [np.inf, 0], ValueError, "expected finite numbers, got infinity"),
        ("constant", None, ValueError, "expected a finite number, got None"),
        ("constant", np.nan, ValueError, "expected a finite number, got nan"),
        ("lower", [None, 0], TypeError, "expected numbers, got object"),
        ("integer", ["x", "y"], TypeError, "expected bools, got <U1"),
        ("integer", [0, 1], TypeError, "expected bools, got int64"),
        ("row_labels", None, ValueError, "expected 2 labels, got NoneType"),
        ("column_labels", ["x"], ValueError, "expected 2 labels, got 1"),
    ],
)
def test_what_is_no_program_is_refused_by_the_field(field: str, value: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=f"^{field}: {text}"):
        program(**{field: value})


def test_a_program_may_have_no_rows() -> None:
    empty = program(A=np.zeros((0, 2)), senses=[], rhs=[], row_labels=[])
    assert (empty.n_rows, empty.n_columns) == (0, 2)
    assert proofs.is_totally_unimodular(empty)


def test_entries_of_one_place_are_added() -> None:
    twice = sparse.csr_array(
        (np.array([1.0, 1, 1, -1, 1]), np.array([0, 0, 1, 1, 0]), np.array([0, 3, 5])), shape=(2, 2)
    )
    read = program(A=twice)
    assert read.A.nnz == 4
    assert twice.nnz == 5
    assert read.A.toarray().tolist() == [[2, 1], [1, -1]]
    assert shadow_prices(read).objective == shadow_prices(program(A=[[2.0, 1], [1, -1]])).objective
