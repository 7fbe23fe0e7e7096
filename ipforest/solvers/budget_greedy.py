"""A pruning within a budget, fast: the breakpoint of the path, filled up by greed, or its neighbour, shrunk."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from time import perf_counter

from ipforest.instance import PruningInstance
from ipforest.path import PruningPath, prune_path
from ipforest.rational import nonnegative_fraction
from ipforest.results import BudgetResult, Pruning, Status
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.greedy import fill, shrink, structure

__all__ = ["solve_budget_greedy"]


def solve_budget_greedy(instance: PruningInstance, budget: Fraction, path: PruningPath | None = None) -> BudgetResult:
    """Find a good pruning within a budget, bounded by the path (budget method ``greedy``).

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    path : PruningPath, optional
        Of the instance, if it is known.

    Returns
    -------
    BudgetResult
        Never worse than the path's. ``bound`` is the path's, raised to the next error that a pruning can have;
        ``mixture`` is the path's.

    Raises
    ------
    ValueError
        A negative budget. Any other can be kept: bare roots cost nothing.
    OverflowError
        As `ipforest.prune_path`.
    """
    started = perf_counter()
    limit = nonnegative_fraction(budget, "budget")
    relaxed = (prune_path(instance) if path is None else path).at_budget(limit)
    room = int(limit // instance.cost_unit)
    larger = relaxed.mixture[-1][1].kept
    forest = structure(instance)
    starts = (relaxed.pruning.kept, shrink(forest, larger, room))
    best = min((Pruning(fill(forest, start, room)) for start in starts), key=instance.integer_error)
    error, cost = instance.evaluate(best)
    lowest = Attainable.errors(instance).at_least(relaxed.bound / instance.error_unit) * instance.error_unit
    return replace(
        relaxed,
        status=Status.OPTIMAL if lowest == error else Status.FEASIBLE,
        pruning=best,
        error=error,
        cost=cost,
        bound=lowest,
        runtime_s=perf_counter() - started,
        method="greedy",
    )
