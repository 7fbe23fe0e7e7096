"""A program in fractions: the vertex that a solver's floats stand for, and all vertices of a small relaxation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from ipforest.solvers.linear_program import LinearProgram
from proofs.exact import simplest
from proofs.integrality.vertices import Polytope, TooManyVerticesError, Vector, vertices

__all__ = [
    "Ends",
    "ExactRows",
    "Row",
    "asked_columns",
    "bounds_in_fractions",
    "meets",
    "polytope_of",
    "relaxation",
    "rows_in_fractions",
]

BOUND_TOLERANCE = 1e-6
"""How far from an integer a bound of an integer variable may lie to be that integer."""
MAX_BETWEEN = 1000
"""Vertices with more coordinates between their bounds are not recomputed in fractions."""
MAX_COLUMNS, MAX_COMPARISONS = 40, 50_000_000
"""Of relaxations with more columns, or that need more comparisons, the vertices are not enumerated."""
CLOSENESSES = (1e-7, 1e-10)
"""How near to a side, as a part of the terms of its row, a solver's point may be to lie on it; one after the other."""
Ends = tuple[Fraction | None, Fraction | None]
"""A lower and an upper bound, None where there is none."""
Row = tuple[dict[int, Fraction], str, Fraction]
"""Entries by column, sense ("==", "<=", ">=") and right-hand side."""


def relaxation(program: LinearProgram) -> LinearProgram:
    """Let integer variables be continuous between their bounds, which are rounded inwards."""
    return replace(
        program,
        lower=np.where(program.integer, np.ceil(program.lower - BOUND_TOLERANCE), program.lower),
        upper=np.where(program.integer, np.floor(program.upper + BOUND_TOLERANCE), program.upper),
        integer=np.zeros(program.n_columns, dtype=bool),
    )


def asked_columns(program: LinearProgram) -> NDArray[np.bool_]:
    """Mark the columns in which a vertex of the relaxation is to be integral: the integer ones, or all without any."""
    return program.integer if program.is_integer else np.ones(program.n_columns, dtype=bool)


def rows_in_fractions(program: LinearProgram, numbers: Iterable[int]) -> list[Row]:
    """Return some rows of a program, each float as the simplest fraction that it is nearest to.

    Raises
    ------
    OverflowError
        A right-hand side is infinite.
    """
    A, senses, found = program.A, program.senses.tolist(), []
    for row in numbers:
        places = slice(A.indptr[row], A.indptr[row + 1])
        pairs = zip(A.indices[places].tolist(), A.data[places].tolist(), strict=True)
        entries = {column: simplest(value) for column, value in pairs if value}
        found.append((entries, senses[row], simplest(float(program.rhs[row]))))
    return found


def bounds_in_fractions(program: LinearProgram) -> list[Ends]:
    """Return the bounds of each column in fractions."""
    sides = (program.lower.tolist(), program.upper.tolist())
    lower, upper = ([simplest(each) if isfinite(each) else None for each in side] for side in sides)
    return list(zip(lower, upper, strict=True))


def meets(row: Row, point: Sequence[Fraction]) -> bool:
    """Return whether a point satisfies a row."""
    entries, sense, side = row
    left = sum((entry * point[column] for column, entry in entries.items()), Fraction(0))
    return left == side if sense == "==" else left <= side if sense == "<=" else left >= side


def polytope_of(
    rows: Sequence[Row], names: tuple[str, ...], lower: Fraction | None = None, upper: Fraction | None = None
) -> Polytope:
    """Return the polytope of rows, and of bounds that all columns share."""
    return Polytope(
        [[entries.get(column, Fraction(0)) for column in range(len(names))] for entries, _, _ in rows],
        [sense.replace("==", "=") for _, sense, _ in rows],
        [side for _, _, side in rows],
        names,
        lower,
        upper,
    )


@dataclass(frozen=True)
class ExactRows:
    """The rows and bounds of a linear program in fractions, each the simplest one that its float is nearest to.

    Parameters
    ----------
    program : LinearProgram
    """

    program: LinearProgram

    @cached_property
    def rows(self) -> list[Row]:
        """The rows; those without a side bind nothing and are left out."""
        return rows_in_fractions(self.program, np.flatnonzero(np.isfinite(self.program.rhs)).tolist())

    @cached_property
    def bounds(self) -> list[Ends]:
        """The bounds by column."""
        return bounds_in_fractions(self.program)

    def vertex(self, point: NDArray[np.float64]) -> Vector | None:
        """Compute the vertex whose rows and bounds a solver's point meets up to rounding; None if they give none."""
        found = (self._vertex(point.tolist(), closeness) for closeness in CLOSENESSES)
        return next((vertex for vertex in found if vertex is not None), None)

    def _vertex(self, point: Sequence[float], closeness: float) -> Vector | None:
        exact = [_at_bound(value, ends, closeness) for value, ends in zip(point, self.bounds, strict=True)]
        between = [column for column, value in enumerate(exact) if value is None]
        if len(between) > MAX_BETWEEN:
            return None
        active = (self._line(row, point, exact, closeness) for row in self.rows)
        solved = _solution((line for line in active if line is not None), len(between))
        if solved is None:  # they leave a coordinate free, or contradict one another
            return None
        whole = tuple(solved[column] if value is None else value for column, value in enumerate(exact))
        return whole if self._contains(whole) else None

    def _line(
        self, row: Row, point: Sequence[float], exact: Sequence[Fraction | None], closeness: float
    ) -> tuple[dict[int, Fraction], Fraction] | None:
        """Write a row that the point lies on as an equation of the columns that are not known; None for other rows."""
        entries, _, side = row
        terms = [float(entry) * point[column] for column, entry in entries.items()]
        size = sum(map(abs, terms)) + abs(float(side))
        if abs(sum(terms) - float(side)) > closeness * max(1.0, size):
            return None
        known = sum((entries[column] * value for column in entries if (value := exact[column])), Fraction(0))
        return {column: entry for column, entry in entries.items() if exact[column] is None}, side - known

    def _contains(self, point: Vector) -> bool:
        for value, (low, high) in zip(point, self.bounds, strict=True):
            if (low is not None and value < low) or (high is not None and value > high):
                return False
        return all(meets(row, point) for row in self.rows)

    def every_vertex(self) -> list[Vector] | None:
        """Enumerate all vertices; None where there are, or may be, too many. The program contains no line."""
        names = tuple(self.program.column_labels)
        if len(names) > MAX_COLUMNS:
            return None
        rows = list(self.rows)
        for column, (low, high) in enumerate(self.bounds):
            rows += [({column: Fraction(1)}, ">=", low)] if low is not None else []
            rows += [({column: Fraction(1)}, "<=", high)] if high is not None else []
        try:
            return vertices(polytope_of(rows, names), MAX_COMPARISONS)
        except TooManyVerticesError:
            return None


def _at_bound(value: float, ends: Ends, closeness: float) -> Fraction | None:
    """Return the bound that a float is at, up to rounding; None between them."""
    return next(
        (end for end in ends if end is not None and abs(value - float(end)) <= closeness * max(1.0, abs(float(end)))),
        None,
    )


def _solution(lines: Iterable[tuple[dict[int, Fraction], Fraction]], count: int) -> dict[int, Fraction] | None:
    """Solve as many equations as determine so many unknowns; None if these do not, or one contradicts those before."""
    pivots: dict[int, tuple[dict[int, Fraction], Fraction]] = {}  # the rest of an equation has no unknown before it
    for entries, right in lines:
        if len(pivots) == count:
            break
        left = dict(entries)
        for unknown, (others, side) in pivots.items():
            factor = left.pop(unknown, Fraction(0))
            if factor:
                right -= factor * side
                for column, entry in others.items():
                    left[column] = left.get(column, Fraction(0)) - factor * entry
        left = {column: entry for column, entry in left.items() if entry}
        if left:
            unknown, lead = left.popitem()
            pivots[unknown] = {column: entry / lead for column, entry in left.items()}, right / lead
        elif right:
            return None
    if len(pivots) < count:
        return None
    solved: dict[int, Fraction] = {}
    for unknown, (others, side) in reversed(pivots.items()):
        solved[unknown] = side - sum((entry * solved[column] for column, entry in others.items()), Fraction(0))
    return solved
