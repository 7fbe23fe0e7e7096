"""What can be done with a Pyomo model: solve it with HiGHS, take its matrix, write it to a file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.contrib.appsi.base import TerminationCondition
from pyomo.contrib.appsi.solvers.highs import Highs
from pyomo.repn import generate_standard_repn
from scipy.sparse import csr_array

from formulations.budget import budget_result
from formulations.exact_results import Solution, pruning_result
from formulations.highs import (
    GAP_TOLERANCE,
    ending_status,
    import_highspy,
    options,
    set_options,
    with_exact_bound,
)
from formulations.specification import ModelSpecification
from ipforest.results import BudgetResult, PruningResult
from ipforest.solvers.linear_program import LinearProgram

__all__ = ["export", "matrix", "solve"]


def solve(model: pyo.ConcreteModel, time_limit: float | None = None, gap: float = 0.0) -> PruningResult | BudgetResult:
    """Solve a model through Pyomo with HiGHS; its variables then hold the solution.

    Constraints that you add to a model at a lambda bind its pruning; the bound of a relaxation is then that of the
    program without them, still valid. Leave the rows that are there in place, and ``lp1`` as it was built.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        From `formulations.build`.
    time_limit : float, optional
        Seconds.
    gap : float
        Relative gap at which branch and bound may stop.

    Returns
    -------
    PruningResult or, for ``lp1``, BudgetResult
        Exact: the pruning is re-evaluated in fractions. The relaxation of ``lp1`` gives a mixture of two prunings.

    Raises
    ------
    TypeError
        Not a model of `formulations.build`.
    FractionalOptimumError
        The optimum of a relaxation is no pruning (``ip1``).
    MissingSolverError
        HiGHS is not installed.
    """
    specification = getattr(model, "specification", None)
    if not isinstance(specification, ModelSpecification):
        raise TypeError(f"model: expected one that formulations.build gave, got {type(model).__name__}")
    solution = _run(model, time_limit, gap)
    method = f"pyomo {specification.formulation}{' relaxed' if specification.relaxed else ''}"
    if specification.budget is not None:
        return budget_result(specification, solution, method, time_limit)
    return with_exact_bound(specification, pruning_result(specification, solution, method))


def _run(model: pyo.ConcreteModel, time_limit: float | None, gap: float) -> Solution:
    relaxed = model.specification.relaxed
    wanted = options(not relaxed, "simplex", time_limit, gap)
    set_options(import_highspy().Highs(), wanted)
    variables = list(model.component_data_objects(pyo.Var))
    if not variables:
        return Solution.of_nothing(float(pyo.value(model.objective)))
    solver = Highs()
    solver.config.load_solution = False
    solver.highs_options = wanted
    started = perf_counter()
    results = solver.solve(model)
    ending = results.termination_condition
    if ending not in (TerminationCondition.optimal, TerminationCondition.maxTimeLimit):
        raise RuntimeError(f"HiGHS: expected an optimum or the time limit, got {ending}")
    optimal = ending == TerminationCondition.optimal
    objective, bound = results.best_feasible_objective, results.best_objective_bound
    values = duals = None
    if objective is not None:
        primals = results.solution_loader.get_primals()
        for variable in variables:
            variable.set_value(primals.get(variable, variable.lb), skip_validation=True)  # those in no row are absent
        values = np.array([variable.value for variable in variables])
    if relaxed and optimal:
        found = results.solution_loader.get_duals()
        duals = np.array([found[row] for row in model.component_data_objects(pyo.Constraint, active=True)])
    worth = np.inf if objective is None else float(objective)
    floor = -np.inf if bound is None else float(bound)
    return Solution(
        status=ending_status(optimal, worth - floor > GAP_TOLERANCE * max(1.0, abs(worth))),
        values=values,
        row_duals=duals,
        objective=worth,
        bound=floor,
        runtime_s=perf_counter() - started,
        iterations=0,
    )


def matrix(model: pyo.ConcreteModel) -> LinearProgram:
    """Take a linear model apart: sparse matrix, labels, senses, right-hand sides, bounds, objective.

    Columns and rows stand in the order in which the model declares them.

    Raises
    ------
    ValueError
        An expression of the model is not linear.
    """
    variables = list(model.component_data_objects(pyo.Var))
    column = {id(variable): position for position, variable in enumerate(variables)}
    entries: list[float] = []
    indices: list[int] = []
    offsets, senses, rhs, labels = [0], [], [], []
    for row in model.component_data_objects(pyo.Constraint, active=True):
        terms, constant = _linear_terms(row.body, row.name)
        side = row.lower if row.upper is None else row.upper
        indices += (column[id(variable)] for variable, _ in terms)
        entries += (coefficient for _, coefficient in terms)
        offsets.append(len(indices))
        senses.append("==" if row.equality else ">=" if row.upper is None else "<=")
        rhs.append(pyo.value(side) - constant)
        labels.append(row.name)
    A = csr_array((np.array(entries, dtype=np.float64), indices, offsets), shape=(len(labels), len(variables)))
    A.sort_indices()
    goal = next(model.component_data_objects(pyo.Objective, active=True))
    terms, constant = _linear_terms(goal.expr, goal.name)
    objective = np.zeros(len(variables))
    for variable, coefficient in terms:
        objective[column[id(variable)]] = coefficient
    return LinearProgram(
        A=A,
        senses=np.array(senses, dtype="<U2"),
        rhs=np.array(rhs, dtype=np.float64),
        objective=objective,
        constant=float(constant),
        lower=np.array([variable.lb for variable in variables], dtype=np.float64),
        upper=np.array([variable.ub for variable in variables], dtype=np.float64),
        integer=np.array([variable.is_integer() for variable in variables], dtype=bool),
        row_labels=tuple(labels),
        column_labels=tuple(variable.name for variable in variables),
    )


def _linear_terms(expression: Any, name: str) -> tuple[list[tuple[Any, float]], float]:
    repn = generate_standard_repn(expression)
    if not repn.is_linear():
        raise ValueError(f"{name}: expected a linear expression, got one of higher degree")
    return list(zip(repn.linear_vars, repn.linear_coefs, strict=True)), repn.constant


def export(model: pyo.ConcreteModel, path: str | Path) -> Path:
    """Write a model as ``.lp`` or ``.mps``, with its names.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
    path : str or Path
        The suffix says the format.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        Another suffix.
    """
    target = Path(path)
    if target.suffix not in (".lp", ".mps"):
        raise ValueError(f"path: expected a name that ends in .lp or .mps, got {target.name!r}")
    model.write(str(target), io_options={"symbolic_solver_labels": True})
    return target
