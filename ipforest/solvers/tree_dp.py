"""Bottom-up recursion over trees: one tree exactly, and the Lagrangian bound of a forest.

With multipliers beta on the triples each tree is a shortest path in the network of Lemma 3.1 (BudgetPrune), equal to

    value(h) = min(q e_h, sum of the children's values + p split_cost_h + sum of the betas first met at h).
"""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._numba import njit
from ipforest.instance import PruningInstance
from ipforest.pruning import Pruning, PruningResult, Status
from ipforest.rational import INT64_SAFE, exact_sum

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]


@njit
def _recurse(node_parent: Array, internal_nodes: Array, stop_value: Array, value: Array, kept: Array) -> None:
    """Fill node values bottom up, then keep top down; ``value`` starts as the charges of the internal nodes."""
    position = internal_nodes.size - 1
    for node in range(node_parent.size - 1, -1, -1):
        if position >= 0 and internal_nodes[position] == node:
            kept[position] = value[node] < stop_value[node]
            position -= 1
            value[node] = min(value[node], stop_value[node])
        else:
            value[node] = stop_value[node]
        above = node_parent[node]
        if above >= 0:
            value[above] += value[node]


@njit
def _close(parent: Array, kept: Array) -> None:
    for node in range(parent.size):
        if parent[node] >= 0 and not kept[parent[node]]:
            kept[node] = False


def tree_prunings(instance: PruningInstance, q: int, charges: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Prune each tree by itself where keeping an internal node costs its charge.

    Parameters
    ----------
    instance : PruningInstance
    q : int
        Weight of an error unit.
    charges : ndarray of int64, shape (n_internal,)
        What each kept node pays.

    Returns
    -------
    values : ndarray of int64, shape (n_trees,)
        The least ``q * errors + charges`` of each tree.
    kept : ndarray of bool, shape (n_internal,)
        The smallest set of kept nodes that attains it.

    Raises
    ------
    OverflowError
        The numbers could reach 2^62.
    """
    if q * exact_sum(instance.errors) + exact_sum(np.abs(charges)) >= INT64_SAFE:
        raise OverflowError("lam: expected q * errors + charges below 2^62, got more; use a coarser lambda")
    value = np.zeros(instance.n_nodes, dtype=np.int64)
    value[instance.internal_nodes] = charges
    kept = np.zeros(instance.n_internal, dtype=bool)
    _recurse(instance.node_parent, instance.internal_nodes, q * instance.errors, value, kept)
    _close(instance.parent, kept)
    return value[instance.tree_offsets[:-1]], kept


def node_charges(instance: PruningInstance, p: int, beta: IntArray) -> IntArray:
    """Sum the multipliers first met at each node, and its split cost; shape (n_internal,)."""
    cumulated = np.concatenate([[0], np.cumsum(beta)])
    return np.diff(cumulated[instance.indptr]) + p * instance.split_cost


def lagrangian_bound(instance: PruningInstance, p: int, q: int, beta: IntArray) -> tuple[int, Pruning]:
    """Bound every pruning's scaled objective from below by multipliers beta >= 0 on the triples.

    Parameters
    ----------
    instance : PruningInstance
    p, q : int
        Lambda in integer units.
    beta : ndarray of int64, shape (n_triples,)
        Multipliers with ``sum over the triples of acquisition j <= p * acquisition_cost[j]``.

    Returns
    -------
    bound : int
        In units of ``error_unit / q``.
    pruning : Pruning
        Where the trees stop under beta: a primal candidate.

    Raises
    ------
    ValueError
        beta is negative, or exceeds what an acquisition costs.
    """
    load = np.zeros(instance.n_acquisitions, dtype=np.int64)
    np.add.at(load, instance.indices, beta)
    if beta.size and (beta.min() < 0 or np.any(load > p * instance.acquisition_cost)):
        raise ValueError("beta: expected multipliers >= 0 within the acquisitions' costs, got others")
    values, kept = tree_prunings(instance, q, node_charges(instance, p, beta))
    return exact_sum(values), Pruning(kept)


def equal_shares(instance: PruningInstance, p: int) -> IntArray:
    """Split the price of each acquisition evenly over its triples, in integers; shape (n_triples,)."""
    price = p * instance.acquisition_cost
    count = np.bincount(instance.indices, minlength=instance.n_acquisitions)
    return (price // np.maximum(count, 1))[instance.indices]


def solve_tree_dp(instance: PruningInstance, lam: Fraction) -> PruningResult:
    """Prune each tree by itself, as if it paid for all its features (the "ind. pru." of the papers).

    Optimal for one tree (IP2), and without costs (IP0); for several trees the status is "feasible" and the bound
    comes from sharing each price evenly.

    Source: optimal-pruning paper, sections 3, 4 and 6.
    """
    started = perf_counter()
    p, q = instance.scaled_lambda(lam)
    own_price = p * instance.acquisition_cost[instance.indices]
    _, kept = tree_prunings(instance, q, node_charges(instance, p, own_price))
    pruning = Pruning(kept)
    bound_units, _ = lagrangian_bound(instance, p, q, equal_shares(instance, p))
    objective = instance.objective(pruning, lam)
    bound = min(objective, bound_units * instance.error_unit / q)
    error, cost = instance.evaluate(pruning)
    return PruningResult(
        status=Status.OPTIMAL if bound == objective else Status.FEASIBLE,
        pruning=pruning,
        lam=lam,
        objective=objective,
        bound=bound,
        error=error,
        cost=cost,
        runtime_s=perf_counter() - started,
        method="tree-dp",
    )
