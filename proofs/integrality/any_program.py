"""Are all vertices of a linear program integral? By a certificate, or what a search has met, and never more than that.

A totally unimodular matrix with integral right-hand sides and bounds proves it (Hoffman and Kruskal 1956). Where that
does not hold, random objectives are optimised over the relaxation by HiGHS: a fractional vertex is an answer, and is
recomputed in fractions; many integral ones are evidence, and no proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.any_model import linear_program_of
from ipforest._internal.records import to_record
from ipforest.solvers.highs import NoOptimumError, run
from ipforest.solvers.linear_program import LinearProgram
from proofs.exact import rank
from proofs.integrality.simplex import TOLERANCE, random_objectives
from proofs.unimodularity.decomposition import Certificate
from proofs.unimodularity.total_unimodularity import is_totally_unimodular

__all__ = ["FRACTIONAL", "INTEGRAL", "OPEN", "Integrality", "is_integral"]

INTEGRAL, FRACTIONAL, OPEN = "integral", "fractional", "open"
MAX_DENOMINATOR = 1_000_000
MAX_RANK = 200
"""Vertices with more coordinates between their bounds are not recomputed in fractions."""


@dataclass(frozen=True, slots=True, eq=False)
class Integrality:
    """Whether every vertex of a program's relaxation is integral; true as a truth value only if that is proved.

    Parameters
    ----------
    verdict : {"integral", "fractional", "open"}
        "open": neither a certificate nor a fractional vertex was found.
    evidence : str
        What the verdict rests on, in one sentence.
    certificate : Certificate or None
        Of the matrix's total unimodularity, where the verdict is "integral".
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

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON types, exact numbers as "p/q"; without the certificate."""
        names = ["verdict", "evidence", "exact", "visited", "integral", "unbounded"]
        return {**to_record(self, names), "fractional": {name: str(value) for name, value in self.fractional.items()}}


def is_integral(model: Any, objectives: int = 50, seed: int = 0) -> Integrality:
    """Ask whether every vertex of a program's linear relaxation is integral.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel, linopy.Model, LinearProgram, or path of an .mps or .lp file
        Integer variables range over the integers' hull.
    objectives : int
        Random objectives, integers between -9 and 9, that are tried where there is no certificate.
    seed : int

    Raises
    ------
    TypeError, ValueError, OSError
        Not a linear program, see `formulations.any_model.linear_program_of`; or one without a feasible point.
    """
    program = linear_program_of(model)
    relaxed = replace(program, integer=np.zeros(program.n_columns, dtype=bool))
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
    return _searched(relaxed, objectives, np.random.default_rng(seed), reason)


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


def _searched(relaxed: LinearProgram, objectives: int, rng: np.random.Generator, reason: str) -> Integrality:
    integral = unbounded = 0
    if _has_lines(relaxed):
        return Integrality(
            OPEN,
            f"the relaxation has no vertices, as variables without bounds can grow both ways without end; {reason}",
        )
    goals = [relaxed.objective, *random_objectives(rng, relaxed.n_columns, objectives).astype(np.float64)]
    for number, goal in enumerate(goals, 1):
        try:
            point = run(replace(relaxed, objective=goal)).values
        except NoOptimumError:
            unbounded += 1
            continue
        if point is None or np.abs(point - np.rint(point)).max(initial=0) <= TOLERANCE:
            integral += 1
            continue
        return _fractional(relaxed, point, number, integral, unbounded)
    evidence = (
        f"{integral} vertices met by {len(goals)} objectives are integral ({unbounded} objectives without an optimum), "
        f"which proves nothing; no certificate: {reason}"
    )
    return Integrality(OPEN, evidence, visited=len(goals), integral=integral, unbounded=unbounded)


def _has_lines(relaxed: LinearProgram) -> bool:
    """Return whether variables without bounds can grow both ways without end; of large programs it is not asked."""
    free = np.flatnonzero(np.isinf(relaxed.lower) & np.isinf(relaxed.upper))
    columns = relaxed.A[:, free]
    used = np.flatnonzero(np.diff(columns.indptr))
    if not 0 < free.size * max(1, used.size) <= MAX_RANK**2:
        return False
    return rank([list(map(Fraction, row)) for row in columns[used].toarray().tolist()]) < free.size


def _fractional(
    relaxed: LinearProgram, point: NDArray[np.float64], visited: int, integral: int, unbounded: int
) -> Integrality:
    exact_point = [Fraction(value).limit_denominator(MAX_DENOMINATOR) for value in point.tolist()]
    exact = _is_vertex(relaxed, exact_point)
    shown = {
        name: value
        for name, value, number in zip(relaxed.column_labels, exact_point, point.tolist(), strict=True)
        if abs(number - round(number)) > TOLERANCE
    }
    listed = ", ".join(f"{name} = {value}" for name, value in list(shown.items())[:8])
    how = "recomputed in fractions" if exact else "by HiGHS's floats, not recomputed exactly"
    evidence = f"a vertex has {listed}{', ...' if len(shown) > 8 else ''} ({how})"
    return Integrality(FRACTIONAL, evidence, None, shown, exact, visited, integral, unbounded)


def _is_vertex(relaxed: LinearProgram, point: list[Fraction]) -> bool:
    """Return whether a point is a vertex: feasible, and its active rows determine what lies between bounds."""
    bounds = list(zip(relaxed.lower.tolist(), relaxed.upper.tolist(), strict=True))
    if not all(low <= value <= high for value, (low, high) in zip(point, bounds, strict=True)):
        return False
    between = {column: place for place, column in enumerate(_between_bounds(point, bounds))}
    if len(between) > MAX_RANK:
        return False
    active: list[list[Fraction]] = []
    A = relaxed.A
    for row, (sense, side) in enumerate(zip(relaxed.senses.tolist(), relaxed.rhs.tolist(), strict=True)):
        entries = slice(A.indptr[row], A.indptr[row + 1])
        terms = list(zip(A.indices[entries].tolist(), map(Fraction, A.data[entries].tolist()), strict=True))
        slack = sum((entry * point[column] for column, entry in terms), Fraction(0)) - Fraction(side)
        if (sense == "==" and slack) or (sense == "<=" and slack > 0) or (sense == ">=" and slack < 0):
            return False
        if slack == 0:
            line = [Fraction(0)] * len(between)
            for column, entry in terms:
                if column in between:
                    line[between[column]] += entry
            active.append(line)
    return rank(active) == len(between) if between else True


def _between_bounds(point: list[Fraction], bounds: list[tuple[float, float]]) -> list[int]:
    return [column for column, (value, ends) in enumerate(zip(point, bounds, strict=True)) if value not in ends]
