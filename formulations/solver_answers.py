"""A formulation solved by every solver that is installed: what each returns, and whether it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from formulations.base import Formulation, ModelSpecification
from formulations.exact_results import integral_pruning
from formulations.models import matrix
from formulations.other_solvers import AGREES, PYOMO_SOLVERS
from formulations.solving import run_solver
from formulations.specification import specify
from ipforest._internal.records import records_to_text, to_record
from ipforest.instance import PruningInstance
from ipforest.results import Status
from ipforest.solvers import MissingSolverError
from ipforest.solvers.min_cut import solve_min_cut

__all__ = ["SolverAnswer", "SolversTable", "solvers_table"]


@dataclass(frozen=True, slots=True, eq=False)
class SolverAnswer:
    """What a solver returned for a formulation, and whether it stands.

    Parameters
    ----------
    solver : str
    available : bool
    status : Status or None
        The solver's own account.
    reported, reported_bound : float
        Its own objective and bound, in ``error + lam * cost``; infinite where it gives none.
    objective : Fraction or None
        Of its pruning, exact.
    optimum : Fraction
        By minimum cut.
    runtime_s : float
    checked : bool
        Whether its pruning is closed under parents, costs what it reports, its bound exceeds no optimum, and "optimal"
        is the optimum.
    problem : str
        What does not stand, or what to install.
    """

    solver: str
    available: bool
    status: Status | None
    reported: float
    reported_bound: float
    objective: Fraction | None
    optimum: Fraction
    runtime_s: float
    checked: bool
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SolversTable:
    """Several solvers on one formulation of one instance; true as a truth value if all that answered are right.

    Parameters
    ----------
    formulation : str
    lam : Fraction
    answers : tuple of SolverAnswer
    """

    formulation: str
    lam: Fraction
    answers: tuple[SolverAnswer, ...]

    def __bool__(self) -> bool:
        return all(answer.checked for answer in self.answers if answer.available)

    def __str__(self) -> str:
        rows = [
            {
                "solver": answer.solver,
                "available": "yes" if answer.available else "no",
                "status": answer.status or "-",
                "reported": f"{answer.reported:.8g}",
                "bound": f"{answer.reported_bound:.8g}",
                "objective": "-" if answer.objective is None else answer.objective,
                "seconds": f"{answer.runtime_s:.4f}",
                "checked": "yes" if answer.checked else answer.problem,
            }
            for answer in self.answers
        ]
        return "\n".join([f"{self.formulation}, lambda {self.lam}", records_to_text(rows)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON types, exact numbers as "p/q"."""
        return to_record(self)


def solvers_table(
    formulation: str | Formulation,
    instance: PruningInstance,
    lam: object,
    solvers: Sequence[str] | None = None,
    time_limit: float | None = None,
) -> SolversTable:
    """Solve a formulation's 0-1 program by every solver, and check what each returns.

    Parameters
    ----------
    formulation : str or Formulation
        One that takes lambda.
    instance : PruningInstance
    lam : number
    solvers : sequence of str, optional
        "highs" (by highspy), names in `PYOMO_SOLVERS`, or others of Pyomo's; by default the first and the second.
    time_limit : float, optional
        Seconds for each.

    Returns
    -------
    SolversTable
        A row for each, in this order; solvers that are not installed have one, too, with what to install.

    Raises
    ------
    ValueError
        A formulation that takes no lambda or does not fit the instance, or a name that Pyomo does not know.
    """
    specification = specify(formulation, instance, lam)
    if specification.lam is None:
        raise ValueError(f"formulation: expected one that takes lambda, got {formulation}")
    optimum = solve_min_cut(instance, specification.lam).objective
    names = ["highs", *PYOMO_SOLVERS] if solvers is None else solvers
    answers = tuple(_answer(specification, name, optimum, time_limit) for name in names)
    return SolversTable(str(specification.formulation), specification.lam, answers)


def _answer(specification: ModelSpecification, name: str, optimum: Fraction, time_limit: float | None) -> SolverAnswer:
    unit = float(specification.objective_unit) if specification.formulation.integer_units else 1.0
    model = specification.formulation.build(specification)
    try:
        solution = run_solver(model, matrix(model), name, time_limit)
    except MissingSolverError as missing:
        return SolverAnswer(name, False, None, inf, -inf, None, optimum, 0.0, False, str(missing).split("; ")[1])
    except RuntimeError as failure:
        return SolverAnswer(name, True, None, inf, -inf, None, optimum, 0.0, False, str(failure))
    reported, bound, objective = solution.objective * unit, solution.bound * unit, None
    problem = "" if solution.values is not None else "no pruning within the time limit"
    if solution.values is not None:
        try:
            objective = specification.instance.objective(
                integral_pruning(specification, solution.values), specification.lam
            )
            problem = _problem(solution.status, reported, bound, objective, optimum)
        except (ArithmeticError, ValueError) as wrong:
            problem = str(wrong)
    return SolverAnswer(
        name, True, solution.status, reported, bound, objective, optimum, solution.runtime_s, not problem, problem
    )


def _problem(status: Status, reported: float, bound: float, objective: Fraction, optimum: Fraction) -> str:
    """Say what does not stand of an answer; an empty text if all does."""
    room = AGREES * max(1.0, abs(float(objective)))
    if abs(reported - float(objective)) > room:
        return f"reports the objective {reported:.9g} of a pruning whose objective is {float(objective):.9g}"
    if isfinite(bound) and bound > float(optimum) + room:
        return f"reports the bound {bound:.9g} above the optimum {float(optimum):.9g}"
    if status is Status.OPTIMAL and float(objective - optimum) > room:
        return f"calls {float(objective):.9g} optimal where {float(optimum):.9g} is"
    return ""
