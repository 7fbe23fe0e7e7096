"""Are all vertices of a linear program integral? By a certificate, or what a search has met, and never more than that.

A totally unimodular matrix with integral right-hand sides and bounds proves it (Hoffman and Kruskal 1956). Where that
does not hold, random objectives are optimised over the relaxation by HiGHS: a fractional vertex is an answer, and is
recomputed in fractions. Where none is met, all vertices of a small relaxation are enumerated, which is a proof; of a
larger one many integral vertices are evidence, and no proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.any_model import linear_program_of
from ipforest._internal.records import to_record
from ipforest.solvers.highs import NoOptimumError, run
from ipforest.solvers.linear_program import LinearProgram
from proofs.exact import MAX_DENOMINATOR, rank
from proofs.integrality.exact_points import ExactRows, asked_columns, relaxation
from proofs.integrality.simplex import TOLERANCE, bounded_objective, random_objectives
from proofs.integrality.vertices import Vector
from proofs.unimodularity.decomposition import Certificate
from proofs.unimodularity.total_unimodularity import is_totally_unimodular

__all__ = ["FRACTIONAL", "INTEGRAL", "OPEN", "Integrality", "is_integral"]

INTEGRAL, FRACTIONAL, OPEN = "integral", "fractional", "open"
MAX_SHOWN = 8
MAX_ENTRIES = 40_000
"""Of columns without bounds, whose rank is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Integrality:
    """Whether every vertex of a program's relaxation is integral; true as a truth value only if that is proved.

    Parameters
    ----------
    verdict : {"integral", "fractional", "open"}
        "open": neither a proof nor a fractional vertex was found.
    evidence : str
        What the verdict rests on, in one sentence.
    certificate : Certificate or None
        Of the matrix's total unimodularity, where the verdict is "integral" for that.
    fractional : dict of str to Fraction
        Names and values of a fractional vertex's fractional coordinates.
    exact : bool
        Whether the verdict was computed in exact numbers, not read off HiGHS's floats.
    visited, integral, unbounded : int
        Random objectives, those whose optimal vertex was integral, and those without an optimum.
    """

    verdict: str
    evidence: str
    certificate: Certificate | None = None
    fractional: dict[str, Fraction] = field(default_factory=dict)
    exact: bool = False
    visited: int = 0
    integral: int = 0
    unbounded: int = 0

    def __bool__(self) -> bool:
        return self.verdict == INTEGRAL

    def __str__(self) -> str:
        return f"{self.verdict}: {self.evidence}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON types, exact numbers as "p/q"; without the certificate."""
        names = ["verdict", "evidence", "exact", "visited", "integral", "unbounded"]
        return {**to_record(self, names), "fractional": {name: str(value) for name, value in self.fractional.items()}}


def is_integral(model: Any, objectives: int = 50, seed: int = 0) -> Integrality:
    """Ask whether every vertex of a program's linear relaxation is integral.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel, linopy.Model, LinearProgram, or path of an .mps or .lp file
        Bounds of integer variables are rounded inwards. Where some variables are integer, a vertex is fractional only
        if one of these is; a program without any is asked about all of its variables.
    objectives : int
        Random objectives, integers between -9 and 9, that are tried where there is no certificate; where one has no
        optimum, another one that has follows.
    seed : int

    Raises
    ------
    TypeError, ValueError, OSError
        Not a linear program, see `formulations.any_model.linear_program_of`; or one without a feasible point.
    """
    program = linear_program_of(model)
    relaxed = relaxation(program)
    _require_feasible(relaxed)
    answer = is_totally_unimodular(relaxed)
    sides = (relaxed.rhs, relaxed.lower, relaxed.upper)
    obstacle = _obstacle(relaxed, sides)
    if isinstance(answer, Certificate) and obstacle is None:
        evidence = "the matrix is totally unimodular (certificate checked), right-hand sides and bounds are integral"
        verdict = answer.check()
        if not verdict:
            raise ArithmeticError(f"certificate: expected one that passes its check, got: {verdict.reason}")
        return Integrality(INTEGRAL, evidence, answer, exact=True)
    reason = str(obstacle if isinstance(answer, Certificate) else answer)
    return _Search(relaxed, asked_columns(program), reason).run(objectives, np.random.default_rng(seed))


def _require_feasible(relaxed: LinearProgram) -> None:
    try:
        run(replace(relaxed, objective=np.zeros(relaxed.n_columns)))
    except NoOptimumError as problem:
        if problem.ending != "Infeasible":
            raise
        raise ValueError("model: expected a feasible program, got one without a feasible point") from None


def _obstacle(relaxed: LinearProgram, sides: tuple[NDArray[np.float64], ...]) -> str | None:
    """Say which right-hand side or bound is not integral; None if all are."""
    labels = (relaxed.row_labels, relaxed.column_labels, relaxed.column_labels)
    for kind, names, values in zip(("right-hand side", "lower bound", "upper bound"), labels, sides, strict=True):
        finite = np.isfinite(values)
        broken = np.flatnonzero(finite & (values != np.where(finite, np.rint(values), values)))
        if broken.size:
            place = int(broken[0])
            return f"the {kind} {values[place]:g} of {names[place]} is not an integer"
    return None


@dataclass(slots=True)
class _Search:
    """A search for a fractional vertex.

    Parameters
    ----------
    relaxed : LinearProgram
    asked : ndarray of bool, shape (n_columns,)
        The columns that are to be integral.
    reason : str
        Why there is no certificate.
    """

    relaxed: LinearProgram
    asked: NDArray[np.bool_]
    reason: str
    visited: int = 0
    integral: int = 0
    unbounded: int = 0

    def run(self, objectives: int, rng: np.random.Generator) -> Integrality:
        """Try the program's objective and random ones, then all vertices if they are few."""
        if _has_lines(self.relaxed):
            lines = "the relaxation has no vertices, as variables without bounds can grow both ways without end"
            return Integrality(OPEN, f"{lines}; {self.reason}")
        exact = ExactRows(self.relaxed)
        columns = self.relaxed.n_columns
        for goal in (self.relaxed.objective, *random_objectives(rng, columns, objectives).astype(np.float64)):
            found = self._fractional(exact, self._optimal(goal, rng))
            if found is not None:
                return found
        corners = exact.every_vertex()
        if corners is not None:
            return self._enumerated(corners)
        evidence = (
            f"{self.integral} vertices met by {self.visited} objectives are integral{self._where()} ({self.unbounded} "
            f"objectives without an optimum), which proves nothing; no certificate: {self.reason}"
        )
        return self._answer(OPEN, evidence, {}, exact=False)

    def _optimal(self, goal: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return an optimal vertex, of another objective where this one has none."""
        self.visited += 1
        try:
            solution = run(replace(self.relaxed, objective=goal))
        except NoOptimumError:
            self.unbounded += 1
            self.visited += 1
            solution = run(replace(self.relaxed, objective=bounded_objective(rng, self.relaxed)))
        if solution.values is None:
            raise ArithmeticError("HiGHS: expected a point of a program that it calls optimal, got none")
        return solution.values

    def _fractional(self, exact: ExactRows, point: NDArray[np.float64]) -> Integrality | None:
        """Judge a vertex in fractions where it can be recomputed, else by its floats."""
        off = np.abs(point - np.rint(point)) * self.asked
        vertex = exact.vertex(point) if off.max(initial=0) > TOLERANCE else None
        if vertex is not None:
            broken, how = self._broken(vertex), "recomputed in fractions"
        else:
            places = np.flatnonzero(off > TOLERANCE * max(1.0, np.abs(point).max(initial=0))).tolist()
            labels, how = self.relaxed.column_labels, "by HiGHS's floats, not recomputed exactly"
            broken = {labels[place]: Fraction(point[place]).limit_denominator(MAX_DENOMINATOR) for place in places}
        if not broken:
            self.integral += 1
            return None
        return self._answer(FRACTIONAL, f"a vertex has {_listed(broken)} ({how})", broken, exact=vertex is not None)

    def _enumerated(self, corners: Sequence[Vector]) -> Integrality:
        broken = next((found for found in map(self._broken, corners) if found), {})
        if broken:
            return self._answer(FRACTIONAL, f"a vertex has {_listed(broken)} (in fractions)", broken, exact=True)
        evidence = f"all {len(corners)} vertices, enumerated in fractions, are integral{self._where()}"
        return self._answer(INTEGRAL, evidence, {}, exact=True)

    def _broken(self, vertex: Vector) -> dict[str, Fraction]:
        named = zip(self.relaxed.column_labels, vertex, self.asked.tolist(), strict=True)
        return {name: value for name, value, asked in named if asked and value.denominator > 1}

    def _where(self) -> str:
        return "" if self.asked.all() else " in the integer variables"

    def _answer(self, verdict: str, evidence: str, broken: dict[str, Fraction], exact: bool) -> Integrality:
        return Integrality(verdict, evidence, None, broken, exact, self.visited, self.integral, self.unbounded)


def _listed(values: dict[str, Fraction]) -> str:
    shown = ", ".join(f"{name} = {value}" for name, value in list(values.items())[:MAX_SHOWN])
    return f"{shown}, ..." if len(values) > MAX_SHOWN else shown


def _has_lines(relaxed: LinearProgram) -> bool:
    """Return whether variables without bounds can grow both ways without end; of large programs it is not asked."""
    free = np.flatnonzero(np.isinf(relaxed.lower) & np.isinf(relaxed.upper))
    columns = relaxed.A[:, free]
    used = np.flatnonzero(np.diff(columns.indptr))
    if not 0 < free.size * max(1, used.size) <= MAX_ENTRIES:
        return False
    return rank([list(map(Fraction, row)) for row in columns[used].toarray().tolist()]) < free.size
