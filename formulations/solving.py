"""Solve a formulation by HiGHS, as plain arrays or as a Pyomo model: the methods highs-lp, highs-mip and lp1.

``pyproject.toml`` names this module as an entry point, so that `ipforest.solve` finds its methods.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from formulations.arrays import linear_program
from formulations.base import Formulation, ModelSpecification
from formulations.budget_results import integer_result, mixture_result
from formulations.exact_results import pruning_result, with_least_bound
from formulations.model_results import ModelResult, changes_of, model_result
from formulations.specification import specify
from ipforest.instance import PruningInstance
from ipforest.results import BudgetResult, PruningResult, Status
from ipforest.solvers import BUDGET_SOLVERS, SOLVERS, SolverInfo
from ipforest.solvers.highs import LinearSolver, run
from ipforest.solvers.linear_program import LinearProgram, Solution

if TYPE_CHECKING:
    import pyomo.environ as pyo

__all__ = ["solve", "solve_budget_lp1", "solve_lp", "solve_mip"]


def solve_lp(
    instance: PruningInstance,
    lam: Fraction,
    formulation: str | Formulation = "closure",
    solver: LinearSolver = "simplex",
    time_limit: float | None = None,
) -> PruningResult:
    """Solve the relaxation of a formulation at a vertex: method ``highs-lp``.

    The pruning is the vertex, which is 0-1 for every formulation but ``ip1``; the bound is exact, see
    `formulations.exact_results.pruning_result`.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
    formulation : str or Formulation
        One that takes lambda: "closure", "compact", "ip3", "ip2", "ip1".
    solver : {"simplex", "ipm"}
    time_limit : float, optional
        Seconds; a result that ends there holds the best pruning met and a valid bound.

    Raises
    ------
    ValueError
        A formulation that takes no lambda, or does not fit the instance.
    FractionalOptimumError
        The optimal vertex is no pruning (``ip1``).
    """
    specification = specify(formulation, instance, lam, relaxed=True)
    solution = run(linear_program(specification), solver=solver, time_limit=time_limit)
    return pruning_result(specification, solution, "highs-lp")


def solve_mip(
    instance: PruningInstance,
    lam: Fraction,
    formulation: str | Formulation = "closure",
    time_limit: float | None = None,
    relative_gap: float = 0.0,
) -> PruningResult:
    """Solve the 0-1 program of a formulation by branch and bound: method ``highs-mip``.

    The bound is HiGHS's own, a float trusted to 1e-6 units plus 1e-9 of itself, closed by exact duals where the
    relaxation is integral. ``proofs`` certifies without it.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
    formulation : str or Formulation
        One that takes lambda: "closure", "compact", "ip3", "ip2", "ip1".
    time_limit : float, optional
        Seconds.
    relative_gap : float
        Gap, as a part of the objective, at which the search may stop.

    Raises
    ------
    ValueError
        A formulation that takes no lambda, or does not fit the instance.
    """
    specification = specify(formulation, instance, lam)
    solution = run(linear_program(specification), time_limit=time_limit, relative_gap=relative_gap)
    return _with_exact_bound(specification, pruning_result(specification, solution, "highs-mip"))


def _with_exact_bound(specification: ModelSpecification, result: PruningResult) -> PruningResult:
    """Close the gap that the floats of a finished branch and bound leave, by the exact duals of the relaxation."""
    if specification.relaxed or result.status is not Status.FEASIBLE or not specification.formulation.integral:
        return result
    relaxed = solve_lp(specification.instance, result.lam, specification.formulation)
    bound = min(max(result.bound, relaxed.bound), result.objective)
    return replace(
        result,
        bound=bound,
        status=Status.OPTIMAL if bound == result.objective else Status.FEASIBLE,
        runtime_s=result.runtime_s + relaxed.runtime_s,
    )


def solve_budget_lp1(
    instance: PruningInstance, budget: Fraction, solver: LinearSolver = "simplex", time_limit: float | None = None
) -> BudgetResult:
    """Solve LP1's relaxation and say what it is: a pruning, or a mixture of two (budget method ``lp1``).

    Source: optimal-pruning paper, Corollary 4.3, which overlooks the mixtures.

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    solver : {"simplex", "ipm"}
    time_limit : float, optional
        Seconds.

    Returns
    -------
    BudgetResult
        ``mixture`` meets the budget exactly unless the budget is larger than the best pruning needs; ``pruning`` is
        the best one within the budget that was met; ``bound`` is exact (see `budget_results.mixture_result`).

    Raises
    ------
    ValueError
        A negative budget. Any other can be kept: bare roots cost nothing.
    """
    specification = specify("lp1", instance, budget=budget, relaxed=True)
    solution = run(linear_program(specification), solver=solver, time_limit=time_limit)
    return mixture_result(specification, solution, "lp1")


def run_solver(
    model: pyo.ConcreteModel, program: LinearProgram, solver: str, time_limit: float | None, relative_gap: float = 0.0
) -> Solution:
    """Solve a Pyomo model, whose matrix is `program`, by HiGHS itself or by a solver of Pyomo's."""
    if solver == "highs":
        return run(program, time_limit=time_limit, relative_gap=relative_gap)
    if relative_gap:
        raise ValueError(f"relative_gap: expected 0 for {solver}, got {relative_gap}; only highs takes another gap")
    from formulations.other_solvers import run_pyomo

    return run_pyomo(model, solver, time_limit)


def solve(
    model: pyo.ConcreteModel, time_limit: float | None = None, relative_gap: float = 0.0, solver: str = "highs"
) -> PruningResult | BudgetResult | ModelResult:
    """Solve a Pyomo model with HiGHS, or another solver; its variables then hold the solution.

    Constraints that you add to a model at a lambda bind its pruning; the bound of a relaxation is then that of the
    program without them, still valid. A model whose objective, rows or domains are not those that were built is solved
    as it stands, and so is one with constraints of yours when there is no point that keeps them: the result is then a
    `ModelResult`, which certifies nothing. So is that of a variant, a formulation that states another problem.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        From `formulations.build`.
    time_limit : float, optional
        Seconds.
    relative_gap : float
        Gap, as a part of the objective, at which branch and bound may stop; of HiGHS only.
    solver : str
        "highs", a name in `formulations.other_solvers.PYOMO_SOLVERS` (glpk, cbc, scip, gurobi, ...) or another that
        Pyomo knows. The bound of solvers other than HiGHS is the minimum cut at a lambda, and within a budget that of
        LP1's relaxation: theirs is not trusted.

    Returns
    -------
    PruningResult, for ``lp1`` BudgetResult, for changed models ModelResult
        The first two are exact: the pruning is re-evaluated in fractions. The relaxation of ``lp1`` gives a mixture of
        two prunings.

    Raises
    ------
    TypeError
        Not a model of `formulations.build`.
    FractionalOptimumError
        The optimum of a relaxation is no pruning (``ip1``).
    ValueError
        An unknown solver, or a gap for one that takes none.
    MissingSolverError
        The solver is not installed; the message says what to install.
    RuntimeError
        The solver ended neither with an optimum nor at the time limit.
    """
    from formulations import models  # Pyomo takes a second to import

    specification = getattr(model, "specification", None)
    if not isinstance(specification, ModelSpecification):
        raise TypeError(f"model: expected one that formulations.build gave, got {type(model).__name__}")
    started = perf_counter()
    program = models.matrix(model)
    solution = run_solver(model, program, solver, time_limit, relative_gap)
    models.set_values(model, solution.values)
    solution = replace(solution, runtime_s=perf_counter() - started)
    method = f"pyomo {specification.formulation}{' relaxed' if specification.relaxed else ''}"
    method += "" if solver == "highs" else f" by {solver}"
    changes = changes_of(program, specification)
    if specification.formulation.variant:
        changes = changes.with_breaking(f"{specification.formulation} states another problem")
    within_budget = specification.budget is not None
    if within_budget and specification.relaxed and not specification.formulation.integer_units:
        changes = changes.with_breaking(f"the relaxation of {specification.formulation} is read as no mixture")
    unmet = bool(changes.restricting) and solution.values is None
    if changes.breaking or unmet or (changes.restricting and within_budget):
        return model_result(specification, program, solution, changes, method)
    solution = changes.program_part(solution)
    if solver != "highs":
        solution = replace(solution, bound=-inf)
    if specification.budget is None and solver != "highs":
        return with_least_bound(specification, pruning_result(specification, solution, method))
    if specification.budget is None:
        return _with_exact_bound(specification, pruning_result(specification, solution, method))
    if specification.relaxed:
        return mixture_result(specification, solution, method)
    relaxation = solve_budget_lp1(specification.instance, specification.budget, time_limit=time_limit)
    return integer_result(specification, solution, relaxation, method)


HIGHS = ("highspy",)
SOLVERS.add(SolverInfo("highs-lp", solve_lp, True, HIGHS, "relaxation of a formulation by HiGHS"))
SOLVERS.add(SolverInfo("highs-mip", solve_mip, True, HIGHS, "0-1 formulation by HiGHS"))
BUDGET_SOLVERS.add(SolverInfo("lp1", solve_budget_lp1, False, HIGHS, "LP1: mixture of two prunings"))
