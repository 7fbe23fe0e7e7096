"""Prunings within a budget by greed: fill up a small one, or shrink a large one.

Both go by ratios of gain to cost. What a node costs is what the nodes kept so far have not paid for; in one tree each
acquisition is first used once, so costs add up over the nodes of a tree, and the best addition to a tree, the set of
nodes with the largest ratio, comes from a few passes over it (Dinkelbach's method).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._arrays import Array, BoolArray, IntArray
from ipforest._numba import njit
from ipforest.instance import PruningInstance

__all__ = ["Structure", "fill", "shrink", "structure"]

FREE = 1e-12
"""What costs nothing counts as this in ratios: it comes first."""
NEAR = 0.05
"""What is so near to the best ratio is added, or dropped, in the same pass."""


class Structure(NamedTuple):
    """The arrays of an instance that the kernels of this room read, with the nodes that need each acquisition.

    Parameters
    ----------
    parent, gain, split_cost, indptr, indices, cost : ndarray
        Of the instance.
    user_start : ndarray of int64, shape (n_acquisitions + 1,)
    user : ndarray of int32, shape (n_triples,)
        The nodes that need acquisition j are ``user[user_start[j]:user_start[j + 1]]``.
    """

    parent: Array
    gain: Array
    split_cost: Array
    indptr: Array
    indices: Array
    cost: Array
    user_start: Array
    user: Array


def structure(instance: PruningInstance) -> Structure:
    """Collect the arrays of an instance."""
    start = np.zeros(instance.n_acquisitions + 1, dtype=np.int64)
    user = np.empty(instance.n_triples, dtype=np.int32)
    _invert(instance.indptr, instance.indices, start, user)
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


def fill(forest: Structure, kept: BoolArray, limit: int, banned: BoolArray | None = None) -> BoolArray:
    """Keep more nodes, those of the best ratio of gain to new cost first, while the budget lasts.

    Parameters
    ----------
    forest : Structure
    kept : ndarray of bool, shape (n_internal,)
        A pruning within the budget.
    limit : int
        The budget in cost units.
    banned : ndarray of bool, shape (n_internal,), optional
        Nodes that must not be kept.

    Returns
    -------
    ndarray of bool, shape (n_internal,)
        A pruning within the budget that keeps what `kept` does and errs no more.
    """
    result = kept.copy()
    users = count_users(forest, result)
    node_cost = new_costs(forest, users)
    spare = limit - spent(forest, result, users)
    add_best(forest, result, users, node_cost, np.zeros(kept.size, dtype=bool) if banned is None else banned, spare)
    return result


def shrink(forest: Structure, kept: BoolArray, limit: int) -> BoolArray:
    """Drop subtrees, those of the least gain for their share of the cost first, until the pruning is within the budget.

    An acquisition is shared evenly by the kept nodes that need it. Parameters and result as in `fill`, but that `kept`
    may be any pruning.
    """
    result = kept.copy()
    users = count_users(forest, result)
    _shrink(forest, result, users, spent(forest, result, users) - limit)
    return result


@njit
def _invert(indptr: IntArray, indices: Array, start: IntArray, user: Array) -> None:
    """List the rows in which each column occurs."""
    for x in range(indices.size):
        start[indices[x] + 1] += 1
    for j in range(start.size - 1):
        start[j + 1] += start[j]
    place = start[:-1].copy()
    for h in range(indptr.size - 1):
        for x in range(indptr[h], indptr[h + 1]):
            user[place[indices[x]]] = h
            place[indices[x]] += 1


@njit
def count_users(forest: Structure, kept: BoolArray) -> IntArray:
    """Count the kept nodes that need each acquisition."""
    users = np.zeros(forest.cost.size, np.int64)
    for h in range(kept.size):
        if kept[h]:
            for x in range(forest.indptr[h], forest.indptr[h + 1]):
                users[forest.indices[x]] += 1
    return users


@njit
def new_costs(forest: Structure, users: IntArray) -> IntArray:
    """Sum up what each node needs and no kept node has paid for, and its split cost."""
    node_cost = forest.split_cost.copy()
    for h in range(node_cost.size):
        for x in range(forest.indptr[h], forest.indptr[h + 1]):
            if users[forest.indices[x]] == 0:
                node_cost[h] += forest.cost[forest.indices[x]]
    return node_cost


@njit
def spent(forest: Structure, kept: BoolArray, users: IntArray) -> int:
    """Sum up what a pruning costs."""
    total = np.int64(0)
    for h in range(kept.size):
        if kept[h]:
            total += forest.split_cost[h]
    for j in range(users.size):
        if users[j] > 0:
            total += forest.cost[j]
    return int(total)


@njit
def keep(forest: Structure, h: int, kept: BoolArray, users: IntArray, node_cost: IntArray) -> int:
    """Keep a node whose parent is kept; return what is paid for it."""
    paid = node_cost[h]
    kept[h] = True
    for x in range(forest.indptr[h], forest.indptr[h + 1]):
        j = forest.indices[x]
        users[j] += 1
        if users[j] == 1:
            for y in range(forest.user_start[j], forest.user_start[j + 1]):
                node_cost[forest.user[y]] -= forest.cost[j]
    return int(paid)


@njit
def add_best(
    forest: Structure, kept: BoolArray, users: IntArray, node_cost: IntArray, banned: BoolArray, spare: int
) -> int:
    """Add the set of nodes with the best ratio, again and again, while something fits; return what is left to spend."""
    n = kept.size
    top = np.empty(n, np.int32)
    chain_gain, chain_cost = np.empty(n, np.int64), np.empty(n, np.int64)
    closed = np.empty(n, np.bool_)
    rate, value = np.zeros(n), np.zeros(n)
    set_gain, set_cost = np.zeros(n, np.int64), np.zeros(n, np.int64)
    while True:
        for h in range(n):
            above = forest.parent[h]
            if (
                not kept[h]
                and (above < 0 or kept[above])
                and node_cost[h] == 0
                and forest.gain[h] > 0
                and not banned[h]
            ):
                keep(forest, h, kept, users, node_cost)
        _measure_chains(forest, kept, node_cost, banned, spare, top, chain_gain, chain_cost, closed, rate)
        _find_best_sets(forest, kept, node_cost, top, closed, rate, value, set_gain, set_cost)
        best_chain = -1
        best_rate = 0.0
        for h in range(n):
            if closed[h]:
                continue
            if top[h] == h and set_gain[h] > 0 and set_cost[h] <= spare:
                ratio = set_gain[h] / max(float(set_cost[h]), FREE)
                if ratio > best_rate:
                    best_rate, best_chain = ratio, -1
            if chain_gain[h] > 0:
                ratio = chain_gain[h] / max(float(chain_cost[h]), FREE)
                if ratio > best_rate:
                    best_rate, best_chain = ratio, h
        if best_rate == 0:
            return spare
        if best_chain >= 0:
            spare -= _keep_chain(forest, best_chain, kept, users, node_cost)
            continue
        for h in range(n):
            if top[h] != h or closed[h] or set_gain[h] <= 0 or set_cost[h] > spare:
                continue
            if set_gain[h] / max(float(set_cost[h]), FREE) >= best_rate * (1 - NEAR):
                spare -= _keep_set(forest, h, top, closed, value, kept, users, node_cost)


@njit
def _keep_set(
    forest: Structure,
    root: int,
    top: Array,
    closed: BoolArray,
    value: Array,
    kept: BoolArray,
    users: IntArray,
    node_cost: IntArray,
) -> int:
    """Keep the best set below a top; return what is paid for it."""
    paid = keep(forest, root, kept, users, node_cost)
    for h in range(root + 1, kept.size):
        above = forest.parent[h]
        if above < 0:
            break
        if not closed[h] and top[h] == root and value[h] > 0 and kept[above]:
            paid += keep(forest, h, kept, users, node_cost)
    return paid


@njit
def _keep_chain(forest: Structure, h: int, kept: BoolArray, users: IntArray, node_cost: IntArray) -> int:
    """Keep a node and its ancestors; return what is paid for them."""
    paid = 0
    while h >= 0 and not kept[h]:
        paid += keep(forest, h, kept, users, node_cost)
        h = forest.parent[h]
    return paid


@njit
def _measure_chains(
    forest: Structure,
    kept: BoolArray,
    node_cost: IntArray,
    banned: BoolArray,
    spare: int,
    top: Array,
    chain_gain: IntArray,
    chain_cost: IntArray,
    closed: BoolArray,
    rate: Array,
) -> None:
    """Sum up gain and cost of each node with its ancestors that are not kept; close what cannot be added.

    ``top`` is the highest of these ancestors; ``rate`` of a top becomes the best ratio below it.
    """
    for h in range(kept.size):
        rate[h] = 0.0
        closed[h] = kept[h]
        if kept[h]:
            continue
        above = forest.parent[h]
        top[h], chain_gain[h], chain_cost[h] = h, forest.gain[h], node_cost[h]
        if above >= 0 and not kept[above]:
            top[h] = top[above]
            chain_gain[h] += chain_gain[above]
            chain_cost[h] += chain_cost[above]
            closed[h] = closed[above]
        if banned[h] or chain_cost[h] > spare:
            closed[h] = True
        if not closed[h]:
            rate[top[h]] = max(rate[top[h]], chain_gain[h] / max(float(chain_cost[h]), FREE))


@njit
def _find_best_sets(
    forest: Structure,
    kept: BoolArray,
    node_cost: IntArray,
    top: Array,
    closed: BoolArray,
    rate: Array,
    value: Array,
    set_gain: IntArray,
    set_cost: IntArray,
) -> None:
    """Find the set of the best ratio below each top: its gain and cost, and its members, those of positive value."""
    better = True
    slack = 1 - 1e-9
    while better:
        better = False
        for h in range(kept.size):
            if not closed[h]:
                set_gain[h], set_cost[h] = forest.gain[h], node_cost[h]
                value[h] = forest.gain[h] - slack * rate[top[h]] * node_cost[h]
        for h in range(kept.size - 1, -1, -1):
            if closed[h]:
                continue
            if top[h] != h and value[h] > 0:
                above = forest.parent[h]
                value[above] += value[h]
                set_gain[above] += set_gain[h]
                set_cost[above] += set_cost[h]
            if top[h] == h and value[h] > 0:
                ratio = set_gain[h] / max(float(set_cost[h]), FREE)
                if ratio > rate[h] * (1 + 1e-9):
                    rate[h] = ratio
                    better = True


@njit
def _shrink(forest: Structure, kept: BoolArray, users: IntArray, excess: int) -> None:
    """Drop the subtrees of the least ratio of gain to share of the cost until the excess is saved."""
    n = kept.size
    share = np.zeros(n)
    for h in range(n):
        if kept[h]:
            share[h] = forest.split_cost[h]
            for x in range(forest.indptr[h], forest.indptr[h + 1]):
                share[h] += forest.cost[forest.indices[x]] / users[forest.indices[x]]
    lost, saved = np.empty(n), np.empty(n)
    while excess > 0:
        lost[:] = 0
        saved[:] = 0
        least = np.inf
        for h in range(n - 1, -1, -1):
            if not kept[h]:
                continue
            lost[h] += forest.gain[h]
            saved[h] += share[h]
            if forest.parent[h] >= 0:
                lost[forest.parent[h]] += lost[h]
                saved[forest.parent[h]] += saved[h]
            if saved[h] > 0:
                least = min(least, lost[h] / saved[h])
        near = least + NEAR * abs(least)
        for h in range(n):
            if not kept[h]:
                continue
            orphan = forest.parent[h] >= 0 and not kept[forest.parent[h]]
            if not orphan and (excess <= 0 or saved[h] <= 0 or lost[h] / saved[h] > near):
                continue
            kept[h] = False
            excess -= forest.split_cost[h]
            for x in range(forest.indptr[h], forest.indptr[h + 1]):
                j = forest.indices[x]
                users[j] -= 1
                if users[j] == 0:
                    excess -= forest.cost[j]
                    continue
                more = forest.cost[j] / users[j] - forest.cost[j] / (users[j] + 1)
                for y in range(forest.user_start[j], forest.user_start[j + 1]):
                    share[forest.user[y]] += more
