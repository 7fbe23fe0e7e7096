"""Programs in exact numbers: the points of mixed programs."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from ipforest.solvers.linear_program import LinearProgram
from proofs.integrality.vertices import Polytope, vertices
from proofs.study.programs import ExactProgram


def program(A, senses, rhs, upper, integer):
    rows, columns = np.shape(A)
    return LinearProgram(
        A=csr_array(np.array(A, dtype=np.float64)),
        senses=np.array(senses, dtype="<U2"),
        rhs=np.array(rhs, dtype=np.float64),
        objective=np.zeros(columns),
        constant=0.0,
        lower=np.zeros(columns),
        upper=np.array(upper, dtype=np.float64),
        integer=np.array(integer),
        row_labels=[f"row[{row}]" for row in range(rows)],
        column_labels=[f"v[{column}]" for column in range(columns)],
    )


def points_one_by_one(stated):
    """Fix the integer columns in every way, and enumerate the vertices of all columns."""
    senses = [sense.replace("==", "=") for sense in stated.senses.tolist()]
    integer = np.flatnonzero(stated.integer)
    found = []
    for values in product(*(range(int(stated.upper[j]) + 1) for j in integer)):
        rows, right = stated.A.toarray().astype(int).tolist(), stated.rhs.astype(int).tolist()
        sides = list(senses)
        for column in range(stated.n_columns):
            unit = [int(column == other) for other in range(stated.n_columns)]
            rows.append(unit)
            sides.append("<=")
            right.append(int(stated.upper[column]))
        for column, value in zip(integer.tolist(), values, strict=True):
            rows.append([int(column == other) for other in range(stated.n_columns)])
            sides.append("=")
            right.append(value)
        found += vertices(Polytope(rows, sides, right, tuple(stated.column_labels), 0, int(stated.upper.max())))
    return found


def test_points_of_mixed_programs_are_the_vertices_at_each_integer_point():
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(60):
        columns, integers = int(rng.integers(2, 6)), int(rng.integers(0, 4))
        A = rng.integers(-2, 3, size=(int(rng.integers(1, 5)), columns))
        inside, upper = rng.integers(0, 3, columns), rng.integers(2, 4, columns)
        stated = program(
            A,
            rng.choice(["==", "<=", ">="], len(A)),
            A @ inside,
            upper,
            np.arange(columns) < min(integers, columns - 1),
        )
        points = ExactProgram(stated).integer_points()
        assert sorted(points) == sorted(points_one_by_one(stated))
        seen += len(points)
    assert seen > 100


def test_flows_that_equations_determine_are_not_enumerated():
    length = 80
    chain = np.eye(length, length + 1, 1) - np.eye(length, length + 1)
    stated = program(chain, ["=="] * length, [0] * length, [1] * (length + 1), np.arange(length + 1) == 0)
    exact = ExactProgram(stated)
    assert exact.enumerable
    assert exact.integer_points() == [(0,) * (length + 1), (1,) * (length + 1)]


def test_a_box_of_many_continuous_columns_is_not_enumerated():
    columns = 20
    stated = program(np.ones((1, columns)), ["<="], [columns], [1] * columns, np.arange(columns) < 2)
    assert not ExactProgram(stated).enumerable


def unbounded(stated, **bounds):
    return replace(stated, **{name: np.array(values, dtype=np.float64) for name, values in bounds.items()})


def test_bounds_that_rows_imply_need_not_be_given():
    """A slack, the flow behind it, and a difference that only two rows together bound."""
    rows = [[1, 1, 0, 0], [0, -1, 1, 0], [0, 0, 2, 3]]
    stated = program(rows, ["==", "==", "<="], [1, 0, 8], [1] * 4, [True, False, False, False])
    free = unbounded(stated, lower=[0, 0, 0, 0], upper=[1, np.inf, np.inf, np.inf])
    exact = ExactProgram(free)
    assert exact.lower == [0, 0, 0, 0]
    assert exact.upper == [1, 1, 1, Fraction(8, 3)]
    assert {point[3] for point in exact.integer_points()} == {0, 2, Fraction(8, 3)}


def test_a_bound_that_no_row_implies_is_asked_for():
    stated = program([[1, -1]], ["<="], [0], [1, 1], [True, False])
    with pytest.raises(ValueError, match=r"v\[1\]: expected .* got \[0.0, inf\]; .* no rows imply"):
        ExactProgram(unbounded(stated, upper=[1, np.inf]))
    with pytest.raises(ValueError, match=r"v\[0\]: .* got \[-inf, 1.0\]"):
        ExactProgram(unbounded(stated, lower=[-np.inf, -np.inf], upper=[1, np.inf]))
