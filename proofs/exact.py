"""Exact linear algebra on small matrices: Python integers and fractions only, and the fraction that a float means."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Number = int | Fraction
MAX_DENOMINATOR = 10**6


def simplest(value: float) -> Fraction:
    """Return the fraction of a denominator up to 10^6 that a float is nearest to, or the float itself if none is."""
    simple = Fraction(value).limit_denominator(MAX_DENOMINATOR)
    return simple if float(simple) == value else Fraction(value)


def determinant(rows: Sequence[Sequence[Number]]) -> Number:
    """Compute a determinant without rounding, by Bareiss's fraction-free elimination.

    Parameters
    ----------
    rows : square sequence of sequences of int or Fraction
        The matrix, row by row. A 0 x 0 matrix has determinant 1.

    Returns
    -------
    int or Fraction
        The determinant; an int when every entry is one.

    Raises
    ------
    ValueError
        If the matrix is not square.
    """
    work = [list(row) for row in rows]
    size = len(work)
    if any(len(row) != size for row in work):
        raise ValueError(f"rows: expected a square matrix, got {size} rows of lengths {[len(r) for r in work]}")
    sign: int = 1
    previous: Number = 1
    for k in range(size):
        pivot_row = next((i for i in range(k, size) if work[i][k] != 0), None)
        if pivot_row is None:
            return 0
        if pivot_row != k:
            work[k], work[pivot_row] = work[pivot_row], work[k]
            sign = -sign
        pivot = work[k][k]
        for i in range(k + 1, size):
            if work[i][k] == 0 and pivot == previous:
                continue  # the row stays as it is
            for j in range(k + 1, size):
                work[i][j] = _exact_quotient(work[i][j] * pivot - work[i][k] * work[k][j], previous)
        previous = pivot
    return sign * previous


def _exact_quotient(numerator: Number, denominator: Number) -> Number:
    if isinstance(numerator, int) and isinstance(denominator, int):
        return numerator // denominator
    return Fraction(numerator) / Fraction(denominator)


def solve_square(rows: Sequence[Sequence[Number]], right: Sequence[Number]) -> list[Fraction] | None:
    """Solve a square system exactly; None when it is singular."""
    reduced, pivots = reduced_rows([(*row, b) for row, b in zip(rows, right, strict=True)])
    return [row[-1] for row in reduced] if pivots == list(range(len(rows))) else None


def reduced_rows(rows: Sequence[Sequence[Number]]) -> tuple[list[list[Fraction]], list[int]]:
    """Bring rows into reduced echelon form by Gauss-Jordan elimination; return them and the columns of the pivots."""
    work = [[Fraction(value) for value in row] for row in rows]
    pivots: list[int] = []
    for column in range(len(work[0]) if work else 0):
        place = len(pivots)
        found = next((i for i in range(place, len(work)) if work[i][column] != 0), None)
        if found is None:
            continue
        work[place], work[found] = work[found], work[place]
        pivot = work[place][column]
        work[place] = [value / pivot for value in work[place]]
        for i in range(len(work)):
            factor = work[i][column]
            if i != place and factor != 0:
                work[i] = [a - factor * b for a, b in zip(work[i], work[place], strict=True)]
        pivots.append(column)
    return work, pivots


def independent_rows(rows: Sequence[Sequence[Number]]) -> list[int]:
    """Choose rows, the first ones, that are linearly independent and span all."""
    return reduced_rows(list(zip(*rows, strict=True)))[1]


def rank(rows: Sequence[Sequence[Number]]) -> int:
    """Return the rank over the rationals."""
    work = [[Fraction(value) for value in row] for row in rows]
    found = 0
    for column in range(len(work[0]) if work else 0):
        pivot_row = next((i for i in range(found, len(work)) if work[i][column] != 0), None)
        if pivot_row is None:
            continue
        work[found], work[pivot_row] = work[pivot_row], work[found]
        for i in range(found + 1, len(work)):
            factor = work[i][column] / work[found][column]
            if factor != 0:
                work[i] = [a - factor * b for a, b in zip(work[i], work[found], strict=True)]
        found += 1
    return found
