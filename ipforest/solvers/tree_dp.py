"""Bottom-up recursion over trees: one tree exactly, and the Lagrangian bound of a forest.

With multipliers beta on the triples each tree is a shortest path in the network of Lemma 3.1 (BudgetPrune), equal to

    value(h) = min(q e_h, sum of the children's values + p split_cost_h + sum of the betas first met at h).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, Int32Array, IntArray
from ipforest._internal.kernels import clock, njit
from ipforest._internal.rational import INT64_SAFE, exact_sum
from ipforest.ensemble.routing import least_above
from ipforest.instance import PruningInstance
from ipforest.results import Pruning, PruningResult


@njit
def _recurse(node_parent: Array, internal_nodes: Array, stop_value: Array, value: Array, kept: Array) -> None:
    """Fill node values bottom up; ``value`` starts as the charges of the internal nodes."""
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


@dataclass(frozen=True, slots=True, eq=False)
class TreeBatch:
    """Consecutive trees, with all that the recursion needs to prune them under changing charges.

    Parameters
    ----------
    roots : ndarray of int64, shape (n_trees,)
        Positions in the batch's nodes.
    node_parent : ndarray of int32, shape (n_nodes,)
    internal_nodes, parent : ndarray of int32, shape (n_internal,)
    stop_value : ndarray of int64, shape (n_nodes,)
        What the tree pays when a node becomes a leaf: ``q * errors``.
    """

    roots: IntArray
    node_parent: Int32Array
    internal_nodes: Int32Array
    parent: Int32Array
    stop_value: IntArray

    @classmethod
    def of(cls, instance: PruningInstance, q: int, first_tree: int, end_tree: int) -> TreeBatch:
        """Take the trees ``first_tree:end_tree``, an error unit weighing q.

        Raises
        ------
        OverflowError
            The errors could reach 2^62 at that weight.
        """
        if q * max(1, exact_sum(instance.errors)) >= INT64_SAFE:
            raise OverflowError(f"lam: expected q * errors below 2^62, got q = {q}; use a lambda with fewer digits")
        first, end = (int(instance.tree_offsets[tree]) for tree in (first_tree, end_tree))
        inner = slice(*(int(instance.internal_offsets[tree]) for tree in (first_tree, end_tree)))
        return cls(
            roots=instance.tree_offsets[first_tree:end_tree] - first,
            node_parent=_shifted(instance.node_parent[first:end], first),
            internal_nodes=_shifted(instance.internal_nodes[inner], first),
            parent=_shifted(instance.parent[inner], inner.start),
            stop_value=q * instance.errors[first:end],
        )

    def prune(self, charges: IntArray) -> tuple[IntArray, BoolArray]:
        """Prune each tree by itself where keeping an internal node costs its charge.

        Parameters
        ----------
        charges : ndarray of int64, shape (n_internal,)

        Returns
        -------
        values : ndarray of int64, shape (n_trees,)
            The least ``stop values + charges`` of each tree.
        kept : ndarray of bool, shape (n_internal,)
            The smallest set of kept nodes that attains it.
        """
        value = np.zeros(self.node_parent.size, dtype=np.int64)
        value[self.internal_nodes] = charges
        kept = np.zeros(self.internal_nodes.size, dtype=np.bool_)
        _recurse(self.node_parent, self.internal_nodes, self.stop_value, value, kept)
        return value[self.roots], least_above(self.parent, kept)


def _shifted(index: Int32Array, start: int) -> Int32Array:
    """Renumber from a start, -1 staying -1."""
    return np.where(index < 0, index, index - np.int32(start)).astype(np.int32)


def check_charges(instance: PruningInstance, q: int, charges: IntArray) -> None:
    """Require that no sum in the recursion can leave int64."""
    if q * max(1, exact_sum(instance.errors)) + exact_sum(np.abs(charges)) >= INT64_SAFE:
        raise OverflowError("lam: expected q * errors + charges below 2^62, got more; use a lambda with fewer digits")


def tree_prunings(instance: PruningInstance, q: int, charges: IntArray) -> tuple[IntArray, BoolArray]:
    """Prune every tree by itself where keeping an internal node costs its charge.

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
    check_charges(instance, q, charges)
    return TreeBatch.of(instance, q, 0, instance.n_trees).prune(charges)


def node_charges(instance: PruningInstance, p: int, beta: IntArray) -> IntArray:
    """Sum the multipliers first met at each node, and its split cost; shape (n_internal,).

    Raises
    ------
    OverflowError
        The sums could reach 2^62.
    """
    if exact_sum(np.abs(beta)) + p * exact_sum(instance.split_cost) >= INT64_SAFE:
        raise OverflowError(
            "lam: expected multipliers and p * split costs below 2^62, got more; use a lambda with fewer digits"
        )
    cumulated = np.concatenate([[0], np.cumsum(beta)])
    return np.diff(cumulated[instance.indptr]) + p * instance.split_cost


def scaled_prices(instance: PruningInstance, p: int) -> IntArray:
    """Price of each acquisition in objective units, ``p * acquisition_cost``; shape (n_acquisitions,).

    Raises
    ------
    OverflowError
        The total could reach 2^62.
    """
    if p * max(1, exact_sum(instance.acquisition_cost)) >= INT64_SAFE:
        raise OverflowError(f"lam: expected p * costs below 2^62, got p = {p}; use a lambda with fewer digits")
    return p * instance.acquisition_cost


def loads(instance: PruningInstance, beta: IntArray) -> IntArray:
    """Sum the multipliers of each acquisition's triples; shape (n_acquisitions,)."""
    load = np.zeros(instance.n_acquisitions, dtype=np.int64)
    np.add.at(load, instance.indices, beta)
    return load


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
    OverflowError
        The numbers could reach 2^62.
    """
    if beta.size and (beta.min() < 0 or np.any(loads(instance, beta) > scaled_prices(instance, p))):
        raise ValueError("beta: expected multipliers >= 0 within the acquisitions' costs, got other values")
    values, kept = tree_prunings(instance, q, node_charges(instance, p, beta))
    return exact_sum(values), Pruning(kept)


def within_prices(instance: PruningInstance, p: int, beta: IntArray) -> IntArray:
    """Cut multipliers so that those of each acquisition add up to at most its price, ``p * acquisition_cost``.

    Where a bound w <= 1 carried a dual the sum can exceed the price. A tree's value falls by at most what is cut, so
    the Lagrangian bound loses nothing that was proven.
    """
    order = np.argsort(instance.indices, kind="stable")
    acquisition = instance.indices[order]
    price = (p * instance.acquisition_cost)[acquisition]
    wanted = np.minimum(beta[order], price)
    before = np.cumsum(wanted) - wanted
    first = np.searchsorted(acquisition, acquisition, side="left")
    left = price - (before - before[first])
    cut = np.empty_like(beta)
    cut[order] = np.clip(left, 0, wanted)
    return cut


def equal_shares(instance: PruningInstance, p: int) -> IntArray:
    """Split the price of each acquisition evenly over its triples, in integers; shape (n_triples,)."""
    count = np.bincount(instance.indices, minlength=instance.n_acquisitions)
    return (scaled_prices(instance, p) // np.maximum(count, 1))[instance.indices]


def solve_tree_dp(instance: PruningInstance, lam: Fraction) -> PruningResult:
    """Prune each tree by itself, as if it paid for all its features (the "ind. pru." of the papers).

    Optimal for one tree (IP2), and without costs (IP0); for several trees the status is "feasible" and the bound
    comes from sharing each price evenly. Of the prunings that are best for each tree it is the smallest.

    Raises
    ------
    OverflowError
        At this lambda the scaled integers could reach 2^62.

    Notes
    -----
    Source: optimal-pruning paper, sections 3, 4 and 6.
    """
    started = clock()
    p, q = instance.scaled_lambda(lam)
    own_price = scaled_prices(instance, p)[instance.indices]
    _, kept = tree_prunings(instance, q, node_charges(instance, p, own_price))
    pruning = Pruning(kept)
    bound_units, _ = lagrangian_bound(instance, p, q, equal_shares(instance, p))
    return PruningResult.of(
        pruning,
        instance.evaluate(pruning),
        lam,
        bound_units * instance.error_unit / q,
        runtime_s=clock() - started,
        method="tree-dp",
    )
