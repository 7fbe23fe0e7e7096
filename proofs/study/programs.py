"""Linear programs in exact numbers: their 0-1 points one by one, optima of relaxations with exact duals.

A model's floats stand for fractions: each for the simplest one that it is nearest to, so that 0.1 is 1/10. Those of an
objective are often sums and products of floats, so there the simplest fraction within their rounding is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, isfinite, lcm, prod

import numpy as np
from numpy.typing import NDArray

from ipforest.results import Status
from ipforest.solvers.highs import run
from ipforest.solvers.linear_program import LinearProgram, Solution
from proofs.exact import MAX_DENOMINATOR, simplest
from proofs.integrality.exact_points import Row, bounds_in_fractions, meets, polytope_of, rows_in_fractions
from proofs.integrality.vertices import Polytope, Vector, vertices

__all__ = ["MAX_INTEGER_COLUMNS", "ExactProgram", "Optimum"]

MAX_INTEGER_COLUMNS = 16
"""Programs with at most so many 0-1 columns, or as many points of integer columns, are enumerated."""
FEASIBILITY = 1e-6
ROUNDING = Fraction(1, 2**44)
"""How far sums and products of floats may have taken a coefficient of an objective, of the largest one."""


def _in_units(values: Sequence[float], unit: Fraction) -> list[Fraction]:
    """Measure an objective's floats in a unit: each as an integer or a simple fraction of it, up to rounding."""
    exact = [Fraction(value) / unit for value in values]
    room = ROUNDING * max(map(abs, exact), default=Fraction(0))
    return [_simplest_within(value, room) for value in exact]


def _simplest_within(value: Fraction, room: Fraction) -> Fraction:
    candidates = (value.limit_denominator(most) for most in (1, 1000, MAX_DENOMINATOR))
    return next((simple for simple in candidates if abs(simple - value) <= room), value)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The exact optimum of a relaxation.

    Parameters
    ----------
    value : Fraction
    point : tuple of Fraction
        An optimal vertex.
    """

    value: Fraction
    point: Vector


@dataclass(frozen=True, slots=True)
class _SolvedRows:
    """Rows after equations were solved for columns.

    Parameters
    ----------
    columns : dict
        Each column that an equation was solved for: the entries of the others, and a constant.
    rows : list of Row
        In the other columns.
    free : set of int
        The columns that no equation was solved for.
    """

    columns: dict[int, tuple[dict[int, Fraction], Fraction]]
    rows: list[Row]
    free: set[int]


class ExactProgram:
    """A `LinearProgram` in fractions.

    Parameters
    ----------
    program : LinearProgram
        Its variables have bounds, or rows imply them.
    unit : Fraction, optional
        What the objective is measured in, where the program's floats are not in integers already.

    Raises
    ------
    ValueError
        A variable without a bound, and none that a row implies by the bounds of its other variables.
    """

    def __init__(self, program: LinearProgram, unit: Fraction | None = None) -> None:
        self.program = program
        self.columns = tuple(program.column_labels)
        self.row_names = tuple(program.row_labels)
        floats = [*program.objective.tolist(), program.constant]
        *self.objective, self.constant = map(simplest, floats) if unit is None else _in_units(floats, unit)
        self.lower, self.upper = self._bounds()

    def _bounds(self) -> tuple[list[Fraction], list[Fraction]]:
        """Read the bounds, those that are missing off rows."""
        given = bounds_in_fractions(self.program)
        lower, upper = [low for low, _ in given], [high for _, high in given]
        missing = -1
        while missing != (missing := lower.count(None) + upper.count(None)):
            for entries, sense, side in self.rows:
                for sign in {"<=": (1,), ">=": (-1,), "==": (1, -1)}[sense]:
                    _imply(lower, upper, {j: sign * a for j, a in entries.items()}, sign * side)
        unknown = next((j for j, bounds in enumerate(zip(lower, upper, strict=True)) if None in bounds), None)
        if unknown is not None:
            raise ValueError(
                f"{self.columns[unknown]}: expected a lower and an upper bound, got [{self.program.lower[unknown]}, "
                f"{self.program.upper[unknown]}]; give the variable both, as no rows imply them"
            )
        return [low for low in lower if low is not None], [high for high in upper if high is not None]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows in fractions."""
        return rows_in_fractions(self.program, range(self.program.n_rows))

    @property
    def polytope(self) -> Polytope:
        """The relaxation; bounds of single variables are rows where they are not those of all."""
        lower, upper = min(self.lower, default=Fraction(0)), max(self.upper, default=Fraction(1))
        rows = list(self.rows)
        rows += [({j: Fraction(1)}, ">=", bound) for j, bound in enumerate(self.lower) if bound > lower]
        rows += [({j: Fraction(1)}, "<=", bound) for j, bound in enumerate(self.upper) if bound < upper]
        return polytope_of(rows, self.columns, lower, upper)

    @property
    def polytope_row_names(self) -> tuple[str, ...]:
        """The names of the rows of `polytope`, in its order."""
        lower, upper = min(self.lower, default=Fraction(0)), max(self.upper, default=Fraction(1))
        below = (f"{name} >= {bound}" for name, bound in zip(self.columns, self.lower, strict=True) if bound > lower)
        above = (f"{name} <= {bound}" for name, bound in zip(self.columns, self.upper, strict=True) if bound < upper)
        return (*self.row_names, *below, *above)

    @property
    def enumerable(self) -> bool:
        """Whether the points of the integer columns are few enough, with two for each column that they leave free."""
        return self._points_to_try << len(self._solved_rows.free) <= 1 << MAX_INTEGER_COLUMNS

    @cached_property
    def _solved_rows(self) -> _SolvedRows:
        """The rows, with the equations solved for columns that are not integer."""
        rest = np.flatnonzero(~self.program.integer).tolist()
        bounds = [({j: Fraction(1)}, ">=", self.lower[j]) for j in rest]
        bounds += [({j: Fraction(1)}, "<=", self.upper[j]) for j in rest]
        return _solve_for(rest, [*self.rows, *bounds])

    @property
    def _spans(self) -> list[range]:
        integer = np.flatnonzero(self.program.integer).tolist()
        return [range(ceil(self.lower[j]), floor(self.upper[j]) + 1) for j in integer]

    @property
    def _points_to_try(self) -> int:
        return prod(len(span) for span in self._spans)

    def value(self, point: Sequence[Fraction]) -> Fraction:
        """Evaluate the objective."""
        return self.constant + sum((a * b for a, b in zip(self.objective, point, strict=True) if a and b), Fraction(0))

    def contains(self, point: Sequence[Fraction]) -> bool:
        """Return whether a point satisfies every row and bound."""
        inside = all(low <= x <= high for low, x, high in zip(self.lower, point, self.upper, strict=True))
        return inside and all(meets(row, point) for row in self.rows)

    def integer_points(self) -> list[Vector]:
        """List the points whose integer columns are integers, the others (if any) at vertices of what is then left.

        Raises
        ------
        ValueError
            More than 2^16 points to try.
        """
        integer, spans, count = np.flatnonzero(self.program.integer), self._spans, self._points_to_try
        if count > 2**MAX_INTEGER_COLUMNS:
            raise ValueError(f"program: expected at most {2**MAX_INTEGER_COLUMNS} points to try, got {count}")
        grid = (
            np.stack([axis.ravel() for axis in np.meshgrid(*spans, indexing="ij")], axis=1)
            if spans
            else np.zeros((1, 0))
        )
        whole = np.zeros((len(grid), len(self.columns)), dtype=np.float64)
        whole[:, integer] = grid
        solved = self._solved_rows
        alone = [row for row in solved.rows if not solved.free & row[0].keys()]
        chosen = whole[_feasible(whole, alone)]
        points = [tuple(Fraction(int(x)) for x in point) for point in chosen.tolist()]
        mixed = solved.free or solved.columns
        return [full for point in points for full in self._completed(point)] if mixed else points

    def _completed(self, point: Vector) -> list[Vector]:
        """Complete a point of the integer columns with the vertices that the other columns may take."""
        solved = self._solved_rows
        free = sorted(solved.free)
        corners = self._corners(point, free) if free else [()]
        completed = []
        for corner in corners:
            values = list(point)
            for j, value in zip(free, corner, strict=True):
                values[j] = value
            for j, (entries, side) in solved.columns.items():
                values[j] = side + sum((a * values[k] for k, a in entries.items()), Fraction(0))
            completed.append(tuple(values))
        return sorted(completed)

    def _corners(self, point: Vector, free: list[int]) -> list[Vector]:
        """List the vertices of the columns that are free at a point of the integer columns."""
        matrix, senses, right = [], [], []
        for entries, sense, side in self._solved_rows.rows:
            if any(j in entries for j in free):
                matrix.append([entries.get(j, Fraction(0)) for j in free])
                senses.append(sense.replace("==", "="))
                right.append(side - sum((a * point[j] for j, a in entries.items() if j not in free), Fraction(0)))
        bounds = min(self.lower[j] for j in free), max(self.upper[j] for j in free)
        return vertices(Polytope(matrix, senses, right, tuple(self.columns[j] for j in free), *bounds))

    def optimum(self, objective: Sequence[int] | None = None) -> Optimum | None:
        """Optimise over the relaxation: HiGHS's point and duals as fractions, whose values must agree exactly.

        Parameters
        ----------
        objective : sequence of int, optional
            In place of the program's own, without a constant.

        Returns
        -------
        Optimum or None
            None for an empty relaxation.

        Raises
        ------
        ArithmeticError
            The fractions prove no optimum.
        """
        if objective is None:
            return self.minimum(self.objective, self.constant)
        return self.minimum([Fraction(value) for value in objective])

    def minimum(self, costs: Sequence[Fraction], constant: Fraction = Fraction(0)) -> Optimum | None:
        """Minimise any objective over the relaxation, as `optimum` does."""
        program = replace(
            self.program,
            objective=np.array([float(cost) for cost in costs]),
            constant=float(constant),
            integer=np.zeros(len(self.columns), dtype=bool),
        )
        solution = _solved(program)
        if solution is None:
            return None
        if solution.values is not None and solution.row_duals is not None:
            point = tuple(_near(value) for value in solution.values.tolist())
            value = constant + sum((a * b for a, b in zip(costs, point, strict=True)), Fraction(0))
            duals = [_near(value) for value in solution.row_duals.tolist()]
            if self.contains(point) and value == constant + self._dual_value(costs, duals):
                return Optimum(value, point)
        sizes = np.abs(self.program.A.data[self.program.A.data != 0])
        raise ArithmeticError(
            "program: expected a point and duals that agree exactly, got floats that do not; write rows in small "
            "integers or short decimals, a big M no larger than it must be (entries are "
            f"{sizes.min(initial=np.inf):g} to {sizes.max(initial=0):g})"
        )

    def _dual_value(self, costs: Sequence[Fraction], duals: Sequence[Fraction]) -> Fraction:
        """Compute the bound that any duals give; those of the wrong sign count as 0."""
        reduced, value = list(costs), Fraction(0)
        for (entries, sense, side), given in zip(self.rows, duals, strict=True):
            dual = max(given, Fraction(0)) if sense == ">=" else min(given, Fraction(0)) if sense == "<=" else given
            value += dual * side
            if dual:
                for j, a in entries.items():
                    reduced[j] -= dual * a
        for cost, low, high in zip(reduced, self.lower, self.upper, strict=True):
            value += cost * (low if cost > 0 else high)
        return value

    def best_integer_point(self) -> Vector | None:
        """Return HiGHS's optimal 0-1 point, its integer columns rounded; None if there is none.

        Raises
        ------
        ArithmeticError
            The rounded point violates a row.
        """
        solution = _solved(self.program)
        if solution is None or solution.values is None:
            return None
        values, integer = solution.values.tolist(), self.program.integer.tolist()
        point = tuple(Fraction(round(x)) if whole else _near(x) for x, whole in zip(values, integer, strict=True))
        if not self.contains(point):
            raise ArithmeticError("program: expected a 0-1 point of the solver, got one that violates a row")
        return point


def _solve_for(columns: Sequence[int], rows: Sequence[Row]) -> _SolvedRows:
    """Solve as many equations for as many columns as possible, and put what is found into the other rows."""
    wanted, left = set(columns), list(rows)
    found: dict[int, tuple[dict[int, Fraction], Fraction]] = {}
    while True:
        pivot = next(((row, j) for row in left if row[1] == "==" for j in row[0] if j in wanted), None)
        if pivot is None:
            return _SolvedRows(found, left, wanted)
        (entries, _, side), j = pivot
        others = {k: -a / entries[j] for k, a in entries.items() if k != j}
        solution = others, side / entries[j]
        left = [_substituted(row, j, solution) for row in left if row is not pivot[0]]
        for column, (known, constant) in found.items():
            if j in known:
                inserted, moved = _inserted(known, j, solution)
                found[column] = inserted, constant + moved
        found[j] = solution
        wanted.remove(j)


def _substituted(row: Row, j: int, solution: tuple[dict[int, Fraction], Fraction]) -> Row:
    entries, sense, side = row
    if j not in entries:
        return row
    inserted, moved = _inserted(entries, j, solution)
    return inserted, sense, side - moved


def _inserted(
    entries: dict[int, Fraction], j: int, solution: tuple[dict[int, Fraction], Fraction]
) -> tuple[dict[int, Fraction], Fraction]:
    """Replace a column by what it equals: the new entries, and the constant that joins them."""
    others, constant = solution
    factor, total = entries[j], {k: a for k, a in entries.items() if k != j}
    for k, a in others.items():
        total[k] = total.get(k, Fraction(0)) + factor * a
    return {k: a for k, a in total.items() if a}, factor * constant


def _imply(
    lower: list[Fraction | None], upper: list[Fraction | None], entries: dict[int, Fraction], side: Fraction
) -> None:
    """Fill in the bound that is missing of a row's only variable without one: entries times variables <= side."""
    least = {j: lower[j] if a > 0 else upper[j] for j, a in entries.items()}
    known = sum((entries[j] * bound for j, bound in least.items() if bound is not None), Fraction(0))
    open_ones = [j for j, bound in least.items() if bound is None]
    for j, a in entries.items():
        bounds = upper if a > 0 else lower
        if bounds[j] is None and not set(open_ones) - {j}:
            own = least[j]
            bounds[j] = (side - known + (a * own if own is not None else 0)) / a


def _solved(program: LinearProgram) -> Solution | None:
    """Solve with HiGHS; None for an infeasible program."""
    try:
        solution = run(program)
    except RuntimeError as problem:
        if "Infeasible" in str(problem):
            return None
        raise
    return solution if solution.status is Status.OPTIMAL else None


def _near(value: float) -> Fraction:
    """Return the fraction of a small denominator near a solver's float."""
    near = Fraction(value).limit_denominator(5040) if isfinite(value) else Fraction(0)
    return near if abs(near - Fraction(value)) < FEASIBILITY else Fraction(value).limit_denominator(MAX_DENOMINATOR)


def _feasible(points: NDArray[np.float64], rows: Sequence[Row]) -> NDArray[np.bool_]:
    """Return which integer points satisfy the rows, computed in scaled integers."""
    kept = np.ones(len(points), dtype=bool)
    for entries, sense, side in rows:
        scale = lcm(side.denominator, *(a.denominator for a in entries.values()))
        numbers = {j: int(a * scale) for j, a in entries.items()}
        kind = np.float64 if sum(map(abs, numbers.values()), abs(side * scale)) < 2**50 else object
        left = np.zeros(len(points), dtype=kind)
        for j, a in numbers.items():
            left = left + a * points[:, j].astype(kind)
        right = int(side * scale)
        kept &= (left == right if sense == "==" else left <= right if sense == "<=" else left >= right).astype(bool)
    return kept
