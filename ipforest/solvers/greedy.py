"""Prunings within a budget by greed: fill up a small one, shrink a large one, exchange parts of what is kept.

All go by ratios of gain to cost. What a node costs is what the nodes kept so far have not paid for. In one tree each
acquisition is first used once, so costs add up over the nodes of a tree, and the best addition to a tree, the set of
nodes with the largest ratio, comes from a few passes over it (Dinkelbach's method).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ipforest._internal.arrays import BoolArray, IntArray
from ipforest._internal.kernels import clock
from ipforest._internal.rational import INT64_SAFE, exact_sum, nonnegative_fraction
from ipforest.ensemble.routing import first_branching
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import path_of
from ipforest.results import BudgetResult, Pruning
from ipforest.solvers.attainable import Attainable
from ipforest.solvers.greedy_kernels import (
    Additions,
    Purchase,
    Structure,
    add_best,
    count_users,
    drop_over_cap,
    drop_subtree,
    drop_worst,
    find_additions,
    keep_set,
    list_users,
    promises,
    room_for_additions,
    total_cost,
)

__all__ = [
    "budget_units",
    "cap_units",
    "exchange",
    "fill",
    "fill_between",
    "shrink",
    "solve_budget_greedy",
    "structure",
]

N_TRIALS = 10
MAX_INT64 = 2**63 - 1


def solve_budget_greedy(
    instance: PruningInstance,
    budget: Fraction,
    *,
    max_cost: object | None = None,
    n_trials: int = N_TRIALS,
    path: PruningPath | None = None,
) -> BudgetResult:
    """Spend a budget from the path's breakpoint on (budget method ``greedy``).

    The pruning is the best of three: the breakpoint within the budget, filled up; the next one, shrunk into the budget
    and filled up; the better one of these after exchanges.

    Parameters
    ----------
    instance : PruningInstance
    budget : Fraction
    max_cost : number, optional
        What no example of the cost data may pay more than. That says nothing about other examples, whose paths may
        combine differently: on them a session that buys nothing beyond the cap holds it (`ipforest.session`), and the
        closer the pruning keeps to it the fewer sessions reach the cap. (To keep only nodes whose units all together
        are worth no more than the cap would hold as well, but no example could buy what others need not.)
    n_trials : int
        How many exchanges are tried.
    path : PruningPath, optional
        Of the instance, where it is known.

    Returns
    -------
    BudgetResult
        Without a cap never worse than that of ``path``. ``bound`` is the path's, raised to the next value that an error
        can have; ``mixture`` is the path's. Neither knows the cap.

    Raises
    ------
    ValueError
        A negative budget or cap, a cap together with split costs or on an instance whose examples take several paths
        through a tree, or the path of another instance.
    OverflowError
        As `ipforest.prune_path`.
    """
    started = clock()
    cap = None if max_cost is None else cap_units(instance, max_cost)
    relaxed = path_of(instance, path).at_budget(budget)
    limit = budget_units(instance, relaxed.budget)
    forest = structure(instance)
    smaller, larger = relaxed.mixture[0][1].kept, relaxed.mixture[-1][1].kept
    found = fill_between(instance, forest, smaller, larger, limit, cap)
    pruning = Pruning(exchange(forest, found, limit, n_trials, cap))
    bound = Attainable.errors(instance).at_least(relaxed.bound / instance.error_unit) * instance.error_unit
    return relaxed.improved(pruning, instance.evaluate(pruning), bound, runtime_s=clock() - started, method="greedy")


def budget_units(instance: PruningInstance, budget: Fraction) -> int:
    """Read a budget in cost units, at most the largest integer of the kernels: no pruning costs more."""
    return min(int(budget // instance.cost_unit), MAX_INT64)


def cap_units(instance: PruningInstance, max_cost: object) -> IntArray:
    """Read a cap per example in the units of acquisitions, shape (n_examples,).

    Under a cap what an example needs in a tree is added up along one path, the one that it takes.

    Raises
    ------
    ValueError
        A negative cap, one together with split costs, or an instance in which an example needs something on two
        branches of a tree; no forest gives such a one.
    """
    cap = nonnegative_fraction(max_cost, "max_cost")
    if instance.split_cost.any():
        raise ValueError(f"max_cost: expected none with split costs, got {max_cost}")
    _require_one_path(instance)
    units = min(int(cap // instance.price_step), INT64_SAFE)
    return np.full(instance.n_examples, units, dtype=np.int64)


def _require_one_path(instance: PruningInstance) -> None:
    """Require that what an example needs in a tree lies on one path; known where the instance has its routing."""
    if instance.example_leaf is not None:
        return
    example_of = instance.acquisition_example[instance.indices]
    triple = first_branching(
        instance.node_parent, instance.internal_nodes, instance.indptr, example_of, instance.n_examples
    )
    if triple >= 0:
        node = instance.internal_nodes[instance.node_of_triples(np.array([triple]))[0]]
        raise ValueError(
            "max_cost: expected an instance in which each example takes one path through a tree, "
            f"got example {example_of[triple]}, which needs unit {instance.acquisition_unit[instance.indices[triple]]} "
            f"at node {node} and others off the path to it; solve without a cap"
        )


def structure(instance: PruningInstance) -> Structure:
    """Collect the arrays of an instance that the functions of this module read."""
    every = np.arange(instance.n_internal, dtype=np.int32)
    return Structure(
        instance.parent,
        instance.gain,
        instance.split_cost,
        instance.indptr,
        instance.indices,
        instance.acquisition_cost,
        instance.acquisition_example,
        *list_users(instance.indptr, instance.indices, instance.n_acquisitions, every),
    )


def fill_between(
    instance: PruningInstance,
    forest: Structure,
    smaller: BoolArray,
    larger: BoolArray,
    limit: int,
    cap: IntArray | None = None,
) -> BoolArray:
    """Fill up the smaller of two prunings, and the larger once it is shrunk into the budget; return the better one."""
    found = [fill(forest, shrink(forest, start, limit, cap), limit, cap) for start in (smaller, larger)]
    return min(found, key=lambda kept: instance.integer_error(Pruning(kept)))


def fill(forest: Structure, kept: BoolArray, limit: int, cap: IntArray | None = None) -> BoolArray:
    """Keep more nodes, those of the best ratio of gain to new cost first, while the budget lasts.

    Parameters
    ----------
    forest : Structure
    kept : ndarray of bool, shape (n_internal,)
        A pruning within the budget and the cap.
    limit : int
        The budget in cost units.
    cap : ndarray of int64, shape (n_examples,), optional
        What each example may pay, in cost units.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
        A pruning within the budget and the cap that keeps what `kept` does, with no larger error.
    """
    state = _purchase(forest, kept, cap)
    add_best(forest, state, np.zeros(kept.size, dtype=bool), limit - total_cost(forest, state))
    return state.kept


def shrink(forest: Structure, kept: BoolArray, limit: int, cap: IntArray | None = None) -> BoolArray:
    """Drop subtrees, those of the least gain for their share of the cost first, until the pruning is within the budget.

    An acquisition is shared evenly by the kept nodes that need it. Parameters as of `fill`, but that `kept` may be any
    pruning.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
        A pruning within the budget and the cap that keeps nothing that `kept` does not.
    """
    state = _purchase(forest, kept, cap)
    if cap is not None:
        drop_over_cap(forest, state)
    drop_worst(forest, state, np.zeros(kept.size, dtype=bool), total_cost(forest, state) - limit)
    return state.kept


def exchange(forest: Structure, kept: BoolArray, limit: int, n_trials: int, cap: IntArray | None = None) -> BoolArray:
    """Improve a pruning by exchanges: drop a subtree and fill up with others, or add a set and drop what it displaces.

    Parameters as of `fill`, and how many exchanges are tried.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
        A pruning within the budget and the cap whose error is no larger than that of `kept`.
    """
    best = _purchase(forest, kept, cap)
    spare = limit - total_cost(forest, best)
    left = n_trials
    while left > 0:
        found = room_for_additions(best.kept.size)
        find_additions(forest, best, found)
        promise = promises(forest, best, found, spare, limit)
        for node in np.argsort(-promise, kind="stable")[:left].tolist():
            if promise[node] <= 0:
                return best.kept
            left -= 1
            other = Purchase(best.kept.copy(), best.users.copy(), best.node_cost.copy(), best.spare.copy())
            unspent = _exchange_at(forest, other, found, node, spare)
            if unspent >= 0 and exact_sum(forest.gain[other.kept]) > exact_sum(forest.gain[best.kept]):
                best, spare = other, unspent
                break
        else:
            return best.kept
    return best.kept


def _exchange_at(forest: Structure, state: Purchase, found: Additions, node: int, spare: int) -> int:
    """Exchange a kept node's subtree for others, or add the set below a top in place of others; return what is left."""
    nothing = np.zeros(state.kept.size, dtype=bool)
    before = state.kept.copy()
    if state.kept[node]:
        unspent = spare + drop_subtree(forest, state, node)
        banned = nothing.copy()
        banned[node] = True
        unspent = add_best(forest, state, banned, unspent)
    else:
        excess = keep_set(forest, state, found, node) - spare
        unspent = -drop_worst(forest, state, state.kept & ~before, excess)
    return add_best(forest, state, nothing, unspent) if unspent >= 0 else unspent


def _purchase(forest: Structure, kept: BoolArray, cap: IntArray | None) -> Purchase:
    users = np.zeros(forest.cost.size, dtype=np.int64)
    spare = np.zeros(0, dtype=np.int64) if cap is None else cap.copy()
    state = Purchase(kept.copy(), users, forest.split_cost.copy(), spare)
    count_users(forest, state)
    return state
