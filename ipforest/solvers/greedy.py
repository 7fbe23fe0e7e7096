"""Prunings between two breakpoints by greed: fill up the smaller one, or shrink the larger one into the budget."""

from __future__ import annotations

import numpy as np

from ipforest._arrays import Array, BoolArray
from ipforest._numba import njit
from ipforest.instance import PruningInstance

__all__ = ["fill", "shrink"]


def fill(instance: PruningInstance, kept: BoolArray, limit: int) -> BoolArray:
    """Keep more nodes, each with its ancestors, best gain for its new acquisitions first, while the budget lasts.

    Parameters
    ----------
    instance : PruningInstance
    kept : ndarray of bool, shape (n_internal,)
        A pruning within the budget.
    limit : int
        The budget in cost units.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
    """
    result = kept.copy()
    paid = _users(instance, result) > 0
    _fill(*_arrays(instance), result, paid, limit)
    return result


def shrink(instance: PruningInstance, kept: BoolArray, limit: int) -> BoolArray:
    """Drop subtrees, least gain for their share of the acquisitions first, until the pruning is within the budget.

    An acquisition is shared evenly by the kept nodes that need it. Parameters and result as in `fill`, but that `kept`
    may be any pruning.
    """
    result = kept.copy()
    _shrink(*_arrays(instance), result, _users(instance, result), limit)
    return result


def _arrays(instance: PruningInstance) -> tuple[Array, ...]:
    return (
        instance.parent,
        instance.gain,
        instance.split_cost,
        instance.indptr,
        instance.indices,
        instance.acquisition_cost,
    )


def _users(instance: PruningInstance, kept: BoolArray) -> Array:
    """Count the kept nodes that need each acquisition."""
    return np.bincount(instance.indices[kept[instance.triple_node]], minlength=instance.n_acquisitions)


@njit
def _spent(split_cost: Array, cost: Array, kept: Array, paid: Array) -> int:
    total = np.int64(0)
    for node in range(kept.size):
        if kept[node]:
            total += split_cost[node]
    for j in range(cost.size):
        if paid[j]:
            total += cost[j]
    return int(total)


@njit
def _fill(
    parent: Array,
    gain: Array,
    split_cost: Array,
    indptr: Array,
    indices: Array,
    cost: Array,
    kept: Array,
    paid: Array,
    limit: int,
) -> None:
    spare = limit - _spent(split_cost, cost, kept, paid)
    chain_gain, chain_cost = np.empty(kept.size, dtype=np.int64), np.empty(kept.size, dtype=np.int64)
    while True:
        best = -1
        for node in range(kept.size):
            chain_gain[node] = chain_cost[node] = 0
            if kept[node]:
                continue
            chain_gain[node] = gain[node]
            chain_cost[node] = split_cost[node]
            for x in range(indptr[node], indptr[node + 1]):
                if not paid[indices[x]]:
                    chain_cost[node] += cost[indices[x]]
            if parent[node] >= 0:
                chain_gain[node] += chain_gain[parent[node]]
                chain_cost[node] += chain_cost[parent[node]]
            if chain_gain[node] <= 0 or chain_cost[node] > spare:
                continue
            if best < 0 or float(chain_gain[node]) * chain_cost[best] > float(chain_gain[best]) * chain_cost[node]:
                best = node
        if best < 0:
            return
        spare -= chain_cost[best]
        while best >= 0 and not kept[best]:
            kept[best] = True
            for x in range(indptr[best], indptr[best + 1]):
                paid[indices[x]] = True
            best = parent[best]


@njit
def _shrink(
    parent: Array,
    gain: Array,
    split_cost: Array,
    indptr: Array,
    indices: Array,
    cost: Array,
    kept: Array,
    users: Array,
    limit: int,
) -> None:
    spent = _spent(split_cost, cost, kept, users > 0)
    lost, saved = np.empty(kept.size), np.empty(kept.size)
    below = np.empty(kept.size, dtype=np.bool_)
    while spent > limit:
        lost[:] = 0
        saved[:] = 0
        worst = -1
        for node in range(kept.size - 1, -1, -1):
            if not kept[node]:
                continue
            lost[node] += gain[node]
            saved[node] += split_cost[node]
            for x in range(indptr[node], indptr[node + 1]):
                saved[node] += cost[indices[x]] / users[indices[x]]
            if parent[node] >= 0:
                lost[parent[node]] += lost[node]
                saved[parent[node]] += saved[node]
            if saved[node] > 0 and (worst < 0 or lost[node] * saved[worst] < lost[worst] * saved[node]):
                worst = node
        for node in range(worst, kept.size):
            below[node] = node == worst or (parent[node] >= worst and below[parent[node]])
            if not (below[node] and kept[node]):
                continue
            kept[node] = False
            spent -= split_cost[node]
            for x in range(indptr[node], indptr[node + 1]):
                users[indices[x]] -= 1
                if users[indices[x]] == 0:
                    spent -= cost[indices[x]]
