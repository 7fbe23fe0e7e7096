"""Exact linear algebra on small matrices: Python integers and fractions only, and the fraction that a float means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

Number = int | Fraction
MAX_DENOMINATOR = 10**6


def simplest(value: float) -> Fraction:
    """Return the fraction of a denominator up to 10^6 that a float is nearest to, or the float itself if none is."""
    simple = Fraction(value).limit_denominator(MAX_DENOMINATOR)
    return simple if float(simple) == value else Fraction(value)


def determinant(rows: Sequence[Sequence[Number]]) -> Number:
    """Compute a determinant without rounding.

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
    if any(len(row) != len(rows) for row in rows):
        raise ValueError(f"rows: expected a square matrix, got {len(rows)} rows of lengths {[len(r) for r in rows]}")
    return sparse_determinant([{j: entry for j, entry in enumerate(row) if entry != 0} for row in rows])


def sparse_determinant(rows: Sequence[Mapping[int, Number]]) -> Number:
    """Compute the determinant of a square matrix of which each row has its nonzeros by column.

    Pivots on entries 1 and -1 in columns of few nonzeros as long as there are any: all entries stay minors of the
    matrix, up to their signs. Bareiss's fraction-free elimination does the rest.
    """
    left = {i: dict(row) for i, row in enumerate(rows)}
    lines: dict[int, set[int]] = {j: set() for j in left}
    for i, row in left.items():
        for j in row:
            lines[j].add(i)
    pivots: dict[int, int] = {}
    value: Number = 1
    queue = [(len(found), j) for j, found in lines.items()]
    heapify(queue)
    while queue:
        _, column = heappop(queue)
        units = [i for i in lines.get(column, ()) if left[i][column] in (-1, 1)]
        if not units:
            continue  # the column is done, or queues again when an entry of it changes
        i = min(units, key=lambda unit: len(left[unit]))
        row, pivots[i] = left.pop(i), column
        pivot = row.pop(column)
        value *= pivot
        for j in row:
            lines[j].remove(i)
        for other in lines.pop(column) - {i}:
            factor = left[other].pop(column) * pivot
            for j, entry in row.items():
                changed = left[other].get(j, 0) - factor * entry
                if changed != 0:
                    left[other][j] = changed
                    lines[j].add(other)
                else:
                    left[other].pop(j, None)
                    lines[j].discard(other)
        for j in row:
            heappush(queue, (len(lines[j]), j))
    if not all(left.values()) or not all(lines.values()):
        return 0
    rest = _dense_determinant([[row.get(j, 0) for j in lines] for row in left.values()])
    return value * rest * _sign(pivots | dict(zip(left, lines, strict=True)))


def _sign(permutation: dict[int, int]) -> int:
    """Return 1 for an even permutation and -1 for an odd one."""
    sign = 1
    while permutation:
        start, place = permutation.popitem()
        while place != start:
            place, sign = permutation.pop(place), -sign
    return sign


def _dense_determinant(work: list[list[Number]]) -> Number:
    """Compute a determinant by Bareiss's fraction-free elimination, in place."""
    size = len(work)
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
