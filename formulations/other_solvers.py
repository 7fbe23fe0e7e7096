"""Solvers of Pyomo's by name: GLPK, CBC, SCIP, Gurobi and others, behind the same checks as HiGHS.

A solver of others is not trusted: its point is read as a pruning and evaluated in fractions, and the bound is this
package's own (the minimum cut at a lambda, the relaxation within a budget). `formulations.solvers_table` asks all of
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from logging import CRITICAL, disable, root
from math import ceil, inf, isfinite
from shutil import which
from subprocess import TimeoutExpired
from threading import RLock
from time import perf_counter
from typing import Any

import numpy as np

from formulations._pyomo import pyo
from formulations.models import columns_of, matrix, set_values
from ipforest._internal.rational import time_limit_seconds
from ipforest.results import Status
from ipforest.solvers import MissingSolverError
from ipforest.solvers.linear_program import Solution

__all__ = ["PYOMO_SOLVERS", "PyomoSolver", "available_pyomo_solvers", "run_pyomo"]

OPTIMAL, LIMITED = ("optimal", "globallyOptimal"), ("maxTimeLimit", "feasible", "intermediateNonInteger")
"""Pyomo's names of how a search ends; the last is that of CBC when its time is over."""
_OUTPUT = RLock()
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
        PyomoSolver("scip", (("scip_direct", "pyscipopt"), ("scip", "scip")), "pip install pyscipopt"),
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
        nothing = Solution.of_nothing(program)
        if nothing is None:
            raise RuntimeError(f"{name}: expected an optimum or the time limit, got infeasible for {program!r}")
        return nothing
    set_values(model, np.clip(0.0, program.lower, program.upper))  # solvers give no value to what no row has
    started = perf_counter()
    condition, bound = _solved(model, interface, seconds)
    runtime_s = perf_counter() - started
    variables = columns_of(model)
    values = np.array([inf if variable.value is None else float(variable.value) for variable in variables])
    optimal, limited = condition in OPTIMAL, condition in LIMITED
    found = (optimal or limited) and bool(np.isfinite(values).all()) and (optimal or _is_feasible(program, values))
    if not found and not limited:
        got = f"{condition}, and no point," if optimal else condition
        raise RuntimeError(f"{name}: expected an optimum or the time limit, got {got} for {program!r}")
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
    limits = {} if seconds is None or not isfinite(seconds) else {"timelimit": ceil(seconds)}
    try:
        with _silence():
            solver = pyo.SolverFactory(interface)
            results = solver.solve(model, load_solutions=False, **limits)
            condition = str(results.solver.termination_condition)
            if condition not in ("infeasible", "unbounded", "infeasibleOrUnbounded", "error"):
                _load(model, solver, results)
    except TimeoutExpired:  # Pyomo stops a program that does not keep the limit itself
        _take_values(model)
        return "maxTimeLimit", None
    except Exception as failure:  # a solver of others may raise anything, as that its licence is too small
        raise RuntimeError(f"{interface}: expected an optimum or the time limit, got: {failure}") from failure
    lower = results.problem.lower_bound if _minimises(model) else results.problem.upper_bound
    return condition, float(lower) if isinstance(lower, int | float) else None


def _load(model: Any, solver: Any, results: Any) -> None:
    if len(getattr(results, "solution", ())):
        model.solutions.load_from(results)
    elif hasattr(solver, "load_vars"):
        try:
            solver.load_vars()
        except RuntimeError:  # it ended without a point
            _take_values(model)


def _take_values(model: Any) -> None:
    for variable in model.component_data_objects(pyo.Var):
        if not variable.fixed:
            variable.set_value(None)


def _minimises(model: Any) -> bool:
    return bool(next(model.component_data_objects(pyo.Objective, active=True)).sense == pyo.minimize)


def _is_feasible(program: Any, values: Any) -> bool:
    whole = ~program.integer | (np.abs(values - np.rint(values)) <= AGREES)
    return bool(program.violation(values) <= AGREES and whole.all())


def _is_available(interface: str) -> bool:
    with _silence():
        return bool(pyo.SolverFactory(interface).available(exception_flag=False))


@contextmanager
def _silence() -> Iterator[None]:
    """Keep back what Pyomo and its solvers print and log; logging is then as it was before.

    Both turn the output of the whole process round, so that threads wait for each other.
    """
    with _OUTPUT:
        before = root.manager.disable
        disable(CRITICAL)
        try:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                yield
        finally:
            disable(before)
