"""Perfect and ideal 0-1 matrices: textbook examples."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from proofs.study import matrices

TRIANGLE = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
WITH_ITS_CLIQUE = [*TRIANGLE, [1, 1, 1]]
FANO = [[1, 1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 1, 0, 1],
        [1, 0, 0, 0, 1, 1, 0], [0, 1, 0, 0, 0, 1, 1], [1, 0, 1, 0, 0, 0, 1]]  # fmt: skip
INTERVALS = [[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
Q6 = [[1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 0, 1], [0, 0, 0, 1, 1, 1]]
"""Triangles of K4 by their edges: ideal (Seymour 1977)."""


def asked(monkeypatch, check, rows):
    columns = tuple(f"x{column}" for column in range(len(rows[0])))
    program = SimpleNamespace(program=SimpleNamespace(A=sparse.csr_array(np.array(rows, dtype=float))), columns=columns)
    monkeypatch.setattr(matrices, "program_of", lambda formulation, problem, relaxed: program)
    return check(None, None)


@pytest.mark.parametrize(
    ("rows", "is_perfect", "is_ideal"),
    [(TRIANGLE, False, False), (WITH_ITS_CLIQUE, True, False), (FANO, False, False), (INTERVALS, True, True)],
)
def test_textbook_matrices(monkeypatch, rows, is_perfect, is_ideal):
    assert (asked(monkeypatch, matrices.perfect, rows) is None) == is_perfect
    assert (asked(monkeypatch, matrices.ideal, rows) is None) == is_ideal
    assert asked(monkeypatch, matrices.is_zero_one, rows)


def test_an_ideal_matrix_that_is_not_balanced(monkeypatch):
    assert asked(monkeypatch, matrices.ideal, Q6) is None
    found = asked(monkeypatch, matrices.perfect, TRIANGLE)
    assert found.text == "of A x <= 1 the vertex x0 = 1/2, x1 = 1/2, x2 = 1/2"
    assert not asked(monkeypatch, matrices.is_zero_one, [[1, -1]])
