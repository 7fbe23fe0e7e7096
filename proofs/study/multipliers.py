"""Multipliers of Chvatal-Gomory cuts, by the mixed-integer program of Fischetti and Lodi (2007), made exact.

Of rows a_r x <= b_r in integers, multipliers 0 <= u < 1 are wanted for which alpha = sum u_r a_r is integral and the
cut alpha x <= floor(sum u_r b_r) is violated at a point most:

    max  alpha x* - alpha_0   with  alpha = sum u_r a_r,  sum u_r b_r < alpha_0 + 1,  alpha and alpha_0 integral.

HiGHS finds alpha in floats. The multipliers are then a vertex of the linear program min sum u_r b_r with
sum u_r a_r = alpha and 0 <= u <= 1, in fractions, so that the cut is proved whatever HiGHS did. That there is none is
HiGHS's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from ipforest._internal.arrays import FloatArray
from ipforest.solvers.highs import run
from ipforest.solvers.linear_program import LinearProgram
from proofs.integrality.vertices import Vector
from proofs.study.programs import ExactProgram

__all__ = ["IntegerRow", "find_multipliers"]

ROOM = 1 / 5040
"""sum u b is at least so far below alpha_0 + 1: multipliers have denominators up to 5040."""
SPARSE = 1e-4
"""What a multiplier costs, so that few rows are used."""
TIME_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class IntegerRow:
    """An inequality a x <= b in integers."""

    name: str
    entries: dict[int, int]
    right: int

    def slack(self, point: Vector) -> Fraction:
        """Return b - a x."""
        return self.right - sum((a * point[j] for j, a in self.entries.items()), Fraction(0))


def find_multipliers(rows: Sequence[IntegerRow], point: Vector) -> list[tuple[IntegerRow, Fraction]] | None:
    """Find multipliers of a Chvatal-Gomory cut that a point violates.

    Parameters
    ----------
    rows : sequence of IntegerRow
        Bounds of variables are rows, too; an equation is two.
    point : tuple of Fraction

    Returns
    -------
    list of (IntegerRow, Fraction) or None
        Those that are not 0; None if HiGHS finds none.
    """
    A = _matrix(rows, len(point))
    alpha = _violated_most(A, rows, point)
    if alpha is None or not alpha.any():
        return None
    used = [(row, factor) for row, factor in zip(rows, _exact(A, rows, alpha), strict=True) if factor]
    right = floor(sum((factor * row.right for row, factor in used), Fraction(0)))
    reached = sum((int(a) * x for a, x in zip(alpha, point, strict=True)), Fraction(0))
    return used if reached > right else None


def _matrix(rows: Sequence[IntegerRow], width: int) -> csr_array:
    dense = np.zeros((len(rows), width))
    for place, row in enumerate(rows):
        for j, a in row.entries.items():
            dense[place, j] = a
    return csr_array(dense)


def _violated_most(A: csr_array, rows: Sequence[IntegerRow], point: Vector) -> FloatArray | None:
    """Return the coefficients of the cut that HiGHS finds, coprime whole numbers."""
    m, n = A.shape
    right = np.array([float(row.right) for row in rows])
    adds_up = hstack([A.T, -eye_array(n), csr_array((n, 1))])
    rounds_down = csr_array(np.concatenate([right, np.zeros(n), [-1.0]])[None, :])
    most = float(abs(A).sum(axis=0).max(initial=0)) + 1
    most_right = float(np.abs(right).sum()) + 1
    program = LinearProgram(
        A=csr_array(vstack([adds_up, rounds_down])),
        senses=np.array(["=="] * n + ["<="]),
        rhs=np.append(np.zeros(n), 1 - ROOM),
        objective=np.concatenate([np.full(m, SPARSE), [-float(x) for x in point], [1.0]]),
        constant=0.0,
        lower=np.concatenate([np.zeros(m), np.full(n, -most), [-most_right]]),
        upper=np.concatenate([np.full(m, 1 - ROOM), np.full(n, most), [most_right]]),
        integer=np.arange(m + n + 1) >= m,
        row_labels=[f"row {row}" for row in range(n + 1)],
        column_labels=[f"column {column}" for column in range(m + n + 1)],
    )
    values = run(program, time_limit=TIME_LIMIT_S).values
    if values is None:
        return None
    alpha: FloatArray = np.rint(values[m : m + n])
    return alpha / max(1, int(np.gcd.reduce(alpha.astype(np.int64))))


def _exact(A: csr_array, rows: Sequence[IntegerRow], alpha: FloatArray) -> Vector:
    """Return multipliers in fractions that give these coefficients, of the least right-hand side."""
    m, n = A.shape
    program = LinearProgram(
        A=csr_array(A.T),
        senses=np.full(n, "=="),
        rhs=alpha,
        objective=np.array([float(row.right) for row in rows]),
        constant=0.0,
        lower=np.zeros(m),
        upper=np.ones(m),
        integer=np.zeros(m, dtype=bool),
        row_labels=[f"row {row}" for row in range(n)],
        column_labels=[row.name for row in rows],
    )
    optimum = ExactProgram(program).optimum()
    if optimum is None:
        raise ArithmeticError("rows: expected multipliers of a cut that HiGHS found, got none that are exact")
    return optimum.point
