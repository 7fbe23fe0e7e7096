"""Prunings within a budget by greed: fill up a small one, shrink a large one, exchange parts of what is kept.

All go by ratios of gain to cost. What a node costs is what the nodes kept so far have not paid for. In one tree each
acquisition is first used once, so costs add up over the nodes of a tree, and the best addition to a tree, the set of
nodes with the largest ratio, comes from a few passes over it (Dinkelbach's method).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from time import perf_counter

import numpy as np

from ipforest._arrays import BoolArray
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath, prune_path
from ipforest.results import BudgetResult, Pruning, Status
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.greedy_kernels import (
    Purchase,
    Structure,
    add_best,
    count_users,
    drop_worst,
    invert,
    total_cost,
)
from ipforest.solvers.greedy_kernels import exchange as exchange_parts

__all__ = ["exchange", "fill", "fill_between", "shrink", "solve_budget_greedy", "structure"]

N_TRIALS = 10


def solve_budget_greedy(
    instance: PruningInstance, budget: Fraction, *, n_trials: int = N_TRIALS, path: PruningPath | None = None
) -> BudgetResult:
    """Spend a budget from the path's breakpoint on (budget method ``greedy``).

    The pruning is the best of three: the breakpoint within the budget, filled up; the next one, shrunk into the budget
    and filled up; the better one of these after exchanges.

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    n_trials : int
        The exchanges end after so many in vain.
    path : PruningPath, optional
        Of the instance, where it is known.

    Returns
    -------
    BudgetResult
        Never worse than that of ``path``. ``bound`` is the path's, raised to the next value that an error can have;
        ``mixture`` is the path's.

    Raises
    ------
    ValueError
        A negative budget.
    OverflowError
        As `ipforest.prune_path`.
    """
    started = perf_counter()
    relaxed = (prune_path(instance) if path is None else path).at_budget(budget)
    limit = int(relaxed.budget // instance.cost_unit)
    forest = structure(instance)
    smaller, larger = relaxed.mixture[0][1].kept, relaxed.mixture[-1][1].kept
    found = fill_between(instance, forest, smaller, larger, limit)
    pruning = Pruning(exchange(forest, found, limit, n_trials))
    error, cost = instance.evaluate(pruning)
    bound = Attainable.errors(instance).at_least(relaxed.bound / instance.error_unit) * instance.error_unit
    return replace(
        relaxed,
        status=Status.OPTIMAL.judged(bound == error),
        pruning=pruning,
        error=error,
        cost=cost,
        bound=bound,
        runtime_s=perf_counter() - started,
        method="greedy",
    )


def structure(instance: PruningInstance) -> Structure:
    """Collect the arrays of an instance that the functions of this module read."""
    start = np.zeros(instance.n_acquisitions + 1, dtype=np.int64)
    user = np.empty(instance.n_triples, dtype=np.int32)
    invert(instance.indptr, instance.indices, start, user)
    return Structure(
        instance.parent,
        instance.gain,
        instance.split_cost,
        instance.indptr,
        instance.indices,
        instance.acquisition_cost,
        start,
        user,
    )


def fill_between(
    instance: PruningInstance, forest: Structure, smaller: BoolArray, larger: BoolArray, limit: int
) -> BoolArray:
    """Fill up the smaller of two prunings, and the larger once it is shrunk into the budget; return the better one."""
    found = [fill(forest, start, limit) for start in (smaller, shrink(forest, larger, limit))]
    return min(found, key=lambda kept: instance.integer_error(Pruning(kept)))


def fill(forest: Structure, kept: BoolArray, limit: int) -> BoolArray:
    """Keep more nodes, those of the best ratio of gain to new cost first, while the budget lasts.

    Parameters
    ----------
    forest : Structure
    kept : ndarray of bool, shape (n_internal,)
        A pruning within the budget.
    limit : int
        The budget in cost units.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
        A pruning within the budget that keeps what `kept` does and errs no more.
    """
    state = _purchase(forest, kept)
    add_best(forest, state, np.zeros(kept.size, dtype=bool), limit - total_cost(forest, state))
    return state.kept


def shrink(forest: Structure, kept: BoolArray, limit: int) -> BoolArray:
    """Drop subtrees, those of the least gain for their share of the cost first, until the pruning is within the budget.

    An acquisition is shared evenly by the kept nodes that need it.

    Parameters
    ----------
    forest : Structure
    kept : ndarray of bool, shape (n_internal,)
        Any pruning.
    limit : int
        The budget in cost units.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
        A pruning within the budget that keeps nothing that `kept` does not.
    """
    state = _purchase(forest, kept)
    drop_worst(forest, state, np.zeros(kept.size, dtype=bool), total_cost(forest, state) - limit)
    return state.kept


def exchange(forest: Structure, kept: BoolArray, limit: int, n_trials: int) -> BoolArray:
    """Improve a pruning by exchanges: drop a subtree and fill up with others, or add a set and drop what it displaces.

    Parameters
    ----------
    forest : Structure
    kept : ndarray of bool, shape (n_internal,)
        A pruning within the budget.
    limit : int
        The budget in cost units.
    n_trials : int
        It ends after so many exchanges in vain.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
        A pruning within the budget that errs no more than `kept`.
    """
    state = _purchase(forest, kept)
    exchange_parts(forest, state, limit - total_cost(forest, state), n_trials)
    return state.kept


def _purchase(forest: Structure, kept: BoolArray) -> Purchase:
    users = np.zeros(forest.cost.size, dtype=np.int64)
    node_cost = forest.split_cost.copy()
    count_users(forest, kept, users, node_cost)
    return Purchase(kept.copy(), users, node_cost)
