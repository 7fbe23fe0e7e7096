"""The solvers by name: `solve` at one lambda, `solve_budget` within a budget; `register_solver` adds one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ipforest._internal.rational import nonnegative_fraction
from ipforest.instance import PruningInstance, require_instance
from ipforest.solvers.registry import (
    BUDGET_SOLVERS,
    SOLVERS,
    MissingSolverError,
    Solver,
    SolverInfo,
    available_solvers,
    register_solver,
)

if TYPE_CHECKING:
    from ipforest.results import BudgetResult, PruningResult

__all__ = [
    "BUDGET_SOLVERS",
    "SOLVERS",
    "MissingSolverError",
    "Solver",
    "SolverInfo",
    "available_solvers",
    "register_solver",
    "solve",
    "solve_budget",
]


def solve(instance: PruningInstance, lam: object, method: str = "min-cut", **options: Any) -> PruningResult:
    """Find the pruning of least ``error + lam * cost``.

    Parameters
    ----------
    instance : PruningInstance
    lam : int, float, str, Decimal or Fraction
        Price of a unit of cost in errors, >= 0; a float means its shortest decimal (0.003 is 3/1000). The result is
        for this very lambda: one whose digits outgrow the method, as those of the float 1/300, is refused.
    method : str
        A name in `SOLVERS`. ``min-cut`` returns the smallest optimal set of kept nodes, the others any optimum.
    **options
        Of the method; see its function.

    Raises
    ------
    TypeError
        Not an instance, or an option that the method does not take.
    ValueError
        Negative lambda, unknown method, or an instance that is too large for it.
    OverflowError
        At this lambda the integers outgrow the method.
    MissingSolverError
        The method's package is not installed.
    """
    require_instance(instance)
    exact_lam = nonnegative_fraction(lam, "lam")
    SOLVERS.look_up(method).check_instance(instance)
    result: PruningResult = SOLVERS.taking(method, options)(instance, exact_lam, **options)
    return result


def solve_budget(instance: PruningInstance, budget: object, method: str = "greedy", **options: Any) -> BudgetResult:
    """Find the pruning of least error whose average cost stays within a budget.

    Parameters
    ----------
    instance : PruningInstance
    budget : int, float, str, Decimal or Fraction
        What an example may cost on average, >= 0.
    method : str
        A name in `BUDGET_SOLVERS`: ``greedy`` (the best breakpoint of the path, filled up to the budget), ``path`` (the
        breakpoint itself, never better), ``lp1`` (the relaxation, a mixture of two prunings between breakpoints) or
        ``mip`` (branch and bound to optimality).
    **options
        Of the method; see its function.

    Raises
    ------
    TypeError
        Not an instance, or an option that the method does not take.
    ValueError
        Negative or infeasible budget, unknown method, or an instance that is too large for it.
    OverflowError
        The instance's integers outgrow the method.
    MissingSolverError
        The method's package is not installed.
    """
    require_instance(instance)
    exact_budget = nonnegative_fraction(budget, "budget")
    BUDGET_SOLVERS.look_up(method).check_instance(instance)
    result: BudgetResult = BUDGET_SOLVERS.taking(method, options)(instance, exact_budget, **options)
    return result
