"""Vertices of mid-size relaxations, found by the simplex method with objectives of our choice.

HiGHS walks in floating point; what it returns is then judged exactly: a point within 1e-7 of integers is rounded, and
the rounded point must satisfy every constraint in integers. Any other point counts as fractional.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ipforest.solvers.highs import run
from ipforest.solvers.linear_program import LinearProgram

TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True)
class VertexSurvey:
    """How many of the visited vertices were integral.

    Attributes
    ----------
    formulation : str
    rows, columns : int
    visited : int
        Objectives tried.
    fractional : int
        Optimal vertices with a coordinate further than the tolerance from an integer.
    """

    formulation: str
    rows: int
    columns: int
    visited: int
    fractional: int


def survey_vertices(problem: LinearProgram, formulation: str, objectives: NDArray[np.int64]) -> VertexSurvey:
    """Optimise each objective over a relaxation and judge the vertex found.

    Parameters
    ----------
    problem : LinearProgram
    formulation : str
        Its name, for the record.
    objectives : (n, n_columns) int64 ndarray
        To be minimised, of any sign.

    Raises
    ------
    ArithmeticError
        If a rounded vertex violates a constraint: the solver's point was none.
    """
    fractional = 0
    for objective in objectives:
        point = run(replace(problem, objective=objective.astype(np.float64))).values
        if point is None:
            raise ArithmeticError("the solver found no point of a bounded, feasible program")
        rounded = np.rint(point)
        if np.abs(point - rounded).max(initial=0) > TOLERANCE:
            fractional += 1
        elif problem.violation(rounded) > 0:
            raise ArithmeticError("the solver's vertex, rounded to integers, violates a constraint")
    return VertexSurvey(formulation, problem.n_rows, problem.n_columns, len(objectives), fractional)


def random_objectives(rng: np.random.Generator, columns: int, count: int) -> NDArray[np.int64]:
    """Draw integer objectives between -9 and 9."""
    return rng.integers(-9, 10, size=(count, columns))


def bounded_objective(rng: np.random.Generator, program: LinearProgram) -> NDArray[np.float64]:
    """Draw an objective that has an optimum over a relaxation with points: a sum of some rows and bounds.

    By duality these are all objectives that have one: multipliers are >= 0 of ">=" rows and lower bounds, <= 0 of "<="
    rows and upper bounds, of any sign for equations.
    """
    sides = [*program.senses.tolist(), *[">="] * program.n_columns, *["<="] * program.n_columns]
    signs = np.array([{">=": 1, "<=": -1, "==": 0}[side] for side in sides])
    given = np.isfinite(np.concatenate([program.rhs, program.lower, program.upper]))
    drawn = rng.integers(1, 10, size=signs.size) * np.where(signs == 0, rng.choice([-1, 1], size=signs.size), signs)
    chosen = given & (rng.random(signs.size) < program.n_columns / max(1, given.sum()))
    multipliers = np.where(chosen, drawn, 0).astype(np.float64)
    rows, below, above = np.split(multipliers, [program.n_rows, program.n_rows + program.n_columns])
    return np.asarray(program.A.T @ rows + below + above)
