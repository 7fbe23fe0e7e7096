"""The checks: each looks for a violation of one claim about a formulation in one problem."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import compress

import numpy as np

from formulations.base import Formulation
from formulations.registry import formulation as formulation_named
from ipforest._internal.arrays import FloatArray
from ipforest.results import Pruning
from ipforest.solvers.branch_and_bound import solve_budget_branch_and_bound
from ipforest.solvers.min_cut import solve_min_cut
from proofs.crosschecks.brute_force import brute_force, count_prunings
from proofs.integrality.exact_points import asked_columns
from proofs.integrality.vertices import Vector, is_integral, vertices
from proofs.study.problem import Problem
from proofs.study.programs import ExactProgram
from proofs.study.refutation import Check, Violation, as_vector

__all__ = [
    "bound_of",
    "fractional_at",
    "has_few_columns",
    "integral_by_objectives",
    "integral_vertices",
    "is_exact",
    "no_weaker_than",
    "points_are_prunings",
    "program_of",
    "prunings_have_points",
    "solves",
    "unit_of",
]

MAX_VERTEX_COLUMNS = 14
"""Relaxations with at most so many columns have their vertices enumerated."""
MAX_TRIED = 2**12
"""Prunings that are tried one by one; of more, exact solvers find the best."""
OBJECTIVES = 12
"""Random objectives tried on a relaxation."""


def program_of(formulation: Formulation, problem: Problem, relaxed: bool = False) -> ExactProgram:
    """Write a formulation of a problem in exact numbers, its objective in units of `unit_of`."""
    try:
        program = formulation.linear_program(problem.specification(formulation, relaxed))
        return ExactProgram(program, None if formulation.integer_units else unit_of(formulation, problem))
    except Exception as failure:  # whatever the builder raises goes on, with the problem at which it does
        failure.add_note(f"raised on {problem}: {problem.to_json()}")
        raise


def unit_of(formulation: Formulation, problem: Problem) -> Fraction:
    """Return what one unit of the program's objective is worth."""
    return problem.specification(formulation).objective_unit


def has_few_columns(formulation: Formulation, problem: Problem) -> bool:
    """Return whether the 0-1 points are few enough to be enumerated."""
    return program_of(formulation, problem).enumerable


def points_are_prunings(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a 0-1 point that is no pruning, lies beyond the budget, or is worth less than its pruning."""
    return _enumerated(formulation, problem)[0]


def prunings_have_points(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a pruning without a 0-1 point of the same objective."""
    least = _enumerated(formulation, problem)[1]
    for kept, worth in problem.every_worth(formulation).items():
        if least.get(kept) != worth:
            got = "no point" if kept not in least else f"a least objective of {least[kept]}"
            text = f"the pruning that keeps {_nodes(problem, kept)} is worth {worth} and has {got}"
            return Violation(text, (), tuple(Fraction(int(keep)) for keep in kept))
    return None


def _enumerated(
    formulation: Formulation, problem: Problem
) -> tuple[Violation | None, dict[tuple[bool, ...], Fraction]]:
    """Go through all 0-1 points: the first violation, and the least objective of each pruning."""
    program, unit = program_of(formulation, problem), unit_of(formulation, problem)
    read = formulation.reader(problem.specification(formulation))
    worth = problem.every_worth(formulation)
    least: dict[tuple[bool, ...], Fraction] = {}
    violation: Violation | None = None
    for point in program.integer_points():
        shares = _shares(read, point)
        value = unit * program.value(point)
        kept = tuple(share == 1 for share in shares)
        found = _fault(problem, shares, worth.get(kept), value)
        violation = violation or (None if found is None else Violation(found, point, shares))
        if found is None:
            least[kept] = min(value, least.get(kept, value))
    return violation, least


def _fault(problem: Problem, shares: Vector, worth: Fraction | None, value: Fraction) -> str | None:
    """Say what is wrong of a 0-1 point."""
    if not set(shares) <= {0, 1}:
        return f"a 0-1 point keeps nodes by {', '.join(map(str, shares))}"
    parent = problem.instance.parent.tolist()
    if any(share == 1 and above >= 0 and shares[above] == 0 for share, above in zip(shares, parent, strict=True)):
        return "a 0-1 point keeps a node but not its parent"
    if worth is None:
        cost = problem.instance.evaluate(_pruning(shares))[1]
        exceeds = problem.budget is not None and cost > problem.budget
        why = f"beyond the budget {problem.budget}" if exceeds else "that is not allowed"
        return f"a 0-1 point is a pruning of cost {cost}, {why}"
    return f"a 0-1 point has objective {value}, its pruning {worth}" if value < worth else None


def solves(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a wrong optimum: HiGHS's, compared with brute force and (if it is one) with the minimum cut."""
    best = _least(formulation, problem)
    program, unit = program_of(formulation, problem), unit_of(formulation, problem)
    point = program.best_integer_point()
    if point is None:
        return None if best is None else Violation("the program has no 0-1 point, where some prunings are allowed")
    specification = problem.specification(formulation)
    shares, value = _shares(formulation.reader(specification), point), unit * program.value(point)
    fault = _fault(problem, shares, Fraction(0), Fraction(0))
    if fault is None:  # it is a pruning
        fault = _fault(problem, shares, formulation.worth(specification, _pruning(shares)), value)
    if fault is None and value != best:
        fault = f"the optimum is {value}, the best pruning {best}"
    return None if fault is None else Violation(fault, point, shares)


def _least(formulation: Formulation, problem: Problem) -> Fraction | None:
    """Return the least objective of all prunings; where they are too many to be tried, as an exact solver proves it."""
    instance, lam = problem.instance, problem.lam
    if not formulation.variant and count_prunings(instance) > MAX_TRIED:
        if problem.budget is not None:
            return solve_budget_branch_and_bound(instance, problem.budget).error
        if lam is not None:
            return solve_min_cut(instance, lam).objective
    best = min(problem.every_worth(formulation).values(), default=None)
    if lam is not None and not formulation.variant:
        others = brute_force(instance, lam), solve_min_cut(instance, lam)
        if any(other.objective != best for other in others):
            raise ArithmeticError(f"problem: expected brute force and minimum cut to give {best}, got another optimum")
    return best


def fractional_at(formulation: Formulation, problem: Problem) -> Callable[[Vector], bool]:
    """Return what tells whether a point of the relaxation is fractional where the program asks for integers."""
    asked = asked_columns(program_of(formulation, problem).program)
    return lambda point: not is_integral(tuple(compress(point, asked)))


def integral_vertices(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a fractional vertex among all vertices of the relaxation."""
    program, broken = program_of(formulation, problem, relaxed=True), fractional_at(formulation, problem)
    return _fractional(formulation, problem, next(filter(broken, vertices(program.polytope)), None))


def random_objectives(program: ExactProgram) -> list[list[int]]:
    """Draw the objectives by which fractional vertices of a program are looked for; the same ones each time."""
    drawn: list[list[int]] = np.random.default_rng(0).integers(-9, 10, size=(OBJECTIVES, len(program.columns))).tolist()
    return drawn


def integral_by_objectives(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a fractional vertex that is optimal for the program's objective or a random one."""
    program, broken = program_of(formulation, problem, relaxed=True), fractional_at(formulation, problem)
    for objective in (None, *random_objectives(program)):
        optimum = program.optimum(objective)
        if optimum is not None and broken(optimum.point) and program.polytope.is_vertex(optimum.point):
            return _fractional(formulation, problem, optimum.point)
    return None


def _fractional(formulation: Formulation, problem: Problem, point: Vector | None) -> Violation | None:
    if point is None:
        return None
    read = formulation.reader(problem.specification(formulation, relaxed=True))
    return Violation("a vertex of the relaxation is fractional", point, _shares(read, point))


def bound_of(formulation: Formulation, problem: Problem) -> Fraction:
    """Compute the relaxation's bound on the objective exactly."""
    optimum = program_of(formulation, problem, relaxed=True).optimum()
    if optimum is None:
        raise ValueError(f"{formulation.name}: expected a relaxation with points, got an empty one")
    return unit_of(formulation, problem) * optimum.value


def is_exact(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a relaxation whose bound is below the best pruning's objective, if any pruning is allowed."""
    best = min(problem.every_worth(formulation).values(), default=None)
    if best is None:
        return None
    return _below(formulation, problem, best, "the best pruning")


def no_weaker_than(other: str) -> Check:
    """Return the check that a relaxation's bound is at least that of another formulation."""

    def check(formulation: Formulation, problem: Problem) -> Violation | None:
        return _below(formulation, problem, bound_of(formulation_named(other), problem), f"{other}'s relaxation")

    return check


def _below(formulation: Formulation, problem: Problem, least: Fraction, whose: str) -> Violation | None:
    optimum = program_of(formulation, problem, relaxed=True).optimum()
    if optimum is None:
        return Violation("the relaxation has no point; bare roots are always a pruning")
    bound = unit_of(formulation, problem) * optimum.value
    if bound >= least:
        return None
    found = _fractional(formulation, problem, optimum.point)
    assert found is not None, "there is a point"
    return Violation(f"the relaxation's bound is {bound}, {whose} gives {least}", found.point, found.kept)


def _shares(read: Callable[[FloatArray], FloatArray], point: Vector) -> Vector:
    """Read how far a point keeps each internal node."""
    return as_vector(read(np.array([float(value) for value in point])))


def _pruning(shares: Vector) -> Pruning:
    return Pruning(np.array([share == 1 for share in shares], dtype=bool))


def _nodes(problem: Problem, kept: tuple[bool, ...]) -> str:
    nodes = problem.instance.internal_nodes[np.array(kept, dtype=bool)].tolist()
    return f"nodes {', '.join(map(str, nodes))}" if nodes else "no node"
