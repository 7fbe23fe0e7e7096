"""Solvers of Pyomo's by name: GLPK, CBC, SCIP, Gurobi and others, behind the same checks as HiGHS.

A solver of others is not trusted: its point is read as a pruning and evaluated in fractions, and the bound is this
package's own (the minimum cut at a lambda, the relaxation within a budget). `solvers_table` asks all that are installed
and says what each returned, and whether it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from io import StringIO
from logging import CRITICAL, NOTSET, disable
from math import ceil, inf, isfinite
from shutil import which
from subprocess import TimeoutExpired
from time import perf_counter
from typing import Any

import numpy as np

from formulations._pyomo import pyo
from formulations.base import Formulation, ModelSpecification
from formulations.models import matrix, set_values
from ipforest._internal.records import records_to_text, to_record
from ipforest.instance import PruningInstance
from ipforest.rational import time_limit_seconds
from ipforest.results import Status
from ipforest.solvers import MissingSolverError
from ipforest.solvers.linear_program import Solution
from ipforest.solvers.min_cut import solve_min_cut

__all__ = ["PYOMO_SOLVERS", "PyomoSolver", "SolversTable", "available_pyomo_solvers", "run_pyomo", "solvers_table"]

AGREES = 1e-6
"""How far a solver's own objective may be from the pruning's, of itself, or of one unit."""


@dataclass(frozen=True, slots=True)
class PyomoSolver:
    """A solver that Pyomo reaches.

    Parameters
    ----------
    name : str
    interfaces : tuple of (str, str)
        Pyomo's name of each of its interfaces, and the program or Python package which that needs, in the order in
        which they are tried.
    advice : str
        How to install it.
    """

    name: str
    interfaces: tuple[tuple[str, str], ...]
    advice: str

    @property
    def interface(self) -> str | None:
        """The first interface that can be used; None if the solver is not installed or has no licence."""
        for interface, needed in self.interfaces:
            if (which(needed) or find_spec(needed)) and _is_available(interface):
                return interface
        return None


PYOMO_SOLVERS = {
    solver.name: solver
    for solver in (
        PyomoSolver("appsi_highs", (("appsi_highs", "highspy"),), "pip install highspy"),
        PyomoSolver("glpk", (("glpk", "glpsol"),), "apt-get install glpk-utils, or conda install glpk"),
        PyomoSolver("cbc", (("cbc", "cbc"),), "apt-get install coinor-cbc, or conda install coin-or-cbc"),
        PyomoSolver("scip", (("scip_direct", "pyscipopt"), ("scip", "scip")), "pip install 'ipforest[solvers]'"),
        PyomoSolver(
            "gurobi", (("gurobi_direct", "gurobipy"), ("gurobi", "gurobi_cl")), "pip install gurobipy, and a licence"
        ),
        PyomoSolver("cplex", (("cplex_direct", "cplex"),), "pip install cplex, and a licence"),
        PyomoSolver("xpress", (("xpress_direct", "xpress"),), "pip install xpress, and a licence"),
    )
}
"""Solvers that are known by name; any other name is Pyomo's own."""


def available_pyomo_solvers() -> list[str]:
    """Names in `PYOMO_SOLVERS` that are installed and licensed."""
    return [name for name, solver in PYOMO_SOLVERS.items() if solver.interface is not None]


def pyomo_interface(name: str) -> str:
    """Return Pyomo's name of an interface of a solver that can be used.

    Raises
    ------
    ValueError
        Pyomo knows no solver of that name.
    MissingSolverError
        The solver is not installed or not licensed.
    """
    known = PYOMO_SOLVERS.get(name)
    if known is None and name not in list(pyo.SolverFactory):
        raise ValueError(
            f"solver: expected highs, one of {', '.join(PYOMO_SOLVERS)}, or another solver of Pyomo's, got {name!r}"
        )
    interface = (name if _is_available(name) else None) if known is None else known.interface
    if interface is None:
        advice = f"install {name} for Pyomo" if known is None else known.advice
        raise MissingSolverError(
            f"solver: expected {name} to be installed, got none that Pyomo can use; {advice}, "
            f"or use one of highs, {', '.join(available_pyomo_solvers())}"
        )
    return interface


def run_pyomo(model: Any, name: str, time_limit: float | None = None) -> Solution:
    """Solve a Pyomo model by a solver of Pyomo's; the variables then hold its point.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        Linear, with one objective.
    name : str
        In `PYOMO_SOLVERS`, or another that Pyomo knows.
    time_limit : float, optional
        Seconds, rounded up to whole ones, as GLPK takes them.

    Returns
    -------
    Solution
        ``status`` is the solver's own account, the objective that of the point, ``bound`` the solver's own, minus
        infinity if it gives none. Without duals. As `formulations.matrix` has it, a maximised objective is negated.

    Raises
    ------
    ValueError
        No solver of that name.
    MissingSolverError
        It is not installed.
    RuntimeError
        It ended neither with an optimum nor at the time limit.
    """
    interface, seconds = pyomo_interface(name), time_limit_seconds(time_limit)
    program = matrix(model)
    if not program.n_columns:
        return Solution.of_nothing(program.constant)
    set_values(model, np.zeros(program.n_columns))  # a variable that no row and no objective has is not written
    started = perf_counter()
    condition, bound = _solved(model, interface, seconds)
    runtime_s = perf_counter() - started
    variables = list(model.component_data_objects(pyo.Var))
    values = np.array([inf if variable.value is None else float(variable.value) for variable in variables])
    optimal, limited = condition in ("optimal", "globallyOptimal"), condition in ("maxTimeLimit", "feasible")
    found = (optimal or limited) and bool(np.isfinite(values).all()) and (optimal or _is_feasible(program, values))
    if not optimal and not limited:
        raise RuntimeError(f"{name}: expected an optimum or the time limit, got {condition} for {program!r}")
    sign = -1.0 if program.maximised else 1.0
    return Solution(
        status=Status.OPTIMAL if optimal else Status.TIME_LIMIT,
        values=values if found else None,
        row_duals=None,
        objective=float(program.objective @ values + program.constant) if found else inf,
        bound=-inf if bound is None or not isfinite(bound) else sign * bound,
        runtime_s=runtime_s,
        iterations=0,
    )


def _solved(model: Any, interface: str, seconds: float | None) -> tuple[str, float | None]:
    """Let the solver run in silence; give how it ended, and its bound."""
    from pyomo.common.errors import ApplicationError

    limits = {} if seconds is None or not isfinite(seconds) else {"timelimit": ceil(seconds)}
    disable(CRITICAL)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            solver = pyo.SolverFactory(interface)
            results = solver.solve(model, load_solutions=False, **limits)
            condition = str(results.solver.termination_condition)
            if condition not in ("infeasible", "unbounded", "infeasibleOrUnbounded", "error"):
                _load(model, solver, results)
    except TimeoutExpired:  # Pyomo stops a program that does not keep the limit itself
        for variable in model.component_data_objects(pyo.Var):
            variable.set_value(None)
        return "maxTimeLimit", None
    except ApplicationError as failure:
        raise RuntimeError(f"{interface}: expected an optimum or the time limit, got: {failure}") from failure
    finally:
        disable(NOTSET)
    lower = results.problem.lower_bound if _minimises(model) else results.problem.upper_bound
    return condition, float(lower) if isinstance(lower, int | float) else None


def _load(model: Any, solver: Any, results: Any) -> None:
    if len(getattr(results, "solution", ())):
        model.solutions.load_from(results)
    elif hasattr(solver, "load_vars"):
        solver.load_vars()


def _minimises(model: Any) -> bool:
    return bool(next(model.component_data_objects(pyo.Objective, active=True)).sense == pyo.minimize)


def _is_feasible(program: Any, values: Any) -> bool:
    left = program.A @ values
    low, high = left >= program.row_lower - AGREES, left <= program.row_upper + AGREES
    inside = (values >= program.lower - AGREES) & (values <= program.upper + AGREES)
    return bool(low.all() and high.all() and inside.all())


def _is_available(interface: str) -> bool:
    disable(CRITICAL)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return bool(pyo.SolverFactory(interface).available(exception_flag=False))
    finally:
        disable(NOTSET)


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
    import formulations

    specification = formulations.specify(formulation, instance, lam)
    if specification.lam is None:
        raise ValueError(f"formulation: expected one that takes lambda, got {formulation}")
    optimum = solve_min_cut(instance, specification.lam).objective
    names = ["highs", *PYOMO_SOLVERS] if solvers is None else solvers
    answers = tuple(_answer(specification, name, optimum, time_limit) for name in names)
    return SolversTable(str(specification.formulation), specification.lam, answers)


def _answer(specification: ModelSpecification, name: str, optimum: Fraction, time_limit: float | None) -> SolverAnswer:
    from formulations.exact_results import integral_pruning
    from formulations.solving import run_solver

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
