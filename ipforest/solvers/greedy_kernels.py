"""The compiled parts of `ipforest.solvers.greedy`: what a pruning buys, best additions, worst subtrees, exchanges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.kernels import inner_njit, njit, shared

FREE = 1e-12
"""What costs nothing counts as this in ratios: it comes first."""
NEAR = 0.05
"""What is so near to the best ratio is added, or dropped, in the same pass."""
PASSES = 128
"""At least one of so many sets, those of the best ratios, is added in the same pass, so that passes are few."""
MANY_NODES = 30_000
"""Of more nodes, one of `PASSES` subtrees at least is dropped in the same pass; of fewer that would save no time."""


class Structure(NamedTuple):
    """The arrays of an instance that the kernels read, with the nodes that need each acquisition.

    Parameters
    ----------
    parent, gain, split_cost, indptr, indices, cost, example : ndarray
        Of the instance; the last two of each acquisition.
    user_start : ndarray of int64, shape (n_acquisitions + 1,)
    user : ndarray of int32, shape (n_triples,)
        The nodes that need acquisition j are ``user[user_start[j]:user_start[j + 1]]``.
    """

    parent: Array
    gain: IntArray
    split_cost: IntArray
    indptr: IntArray
    indices: Array
    cost: IntArray
    example: Array
    user_start: IntArray
    user: Array


class Purchase(NamedTuple):
    """A pruning, and how many nodes use what it buys.

    Parameters
    ----------
    kept : ndarray of bool, shape (n_internal,)
    users : ndarray of int64, shape (n_acquisitions,)
        How many kept nodes need each acquisition.
    node_cost : ndarray of int64, shape (n_internal,)
        What each node needs and no kept node has paid for, with its split cost.
    spare : ndarray of int64, shape (n_examples,)
        What each example may still pay, negative if it pays too much; of size 0 without a cap.
    """

    kept: BoolArray
    users: IntArray
    node_cost: IntArray
    spare: IntArray


class Additions(NamedTuple):
    """What could be added to a pruning, tree by tree.

    Parameters
    ----------
    closed : ndarray of bool, shape (n_internal,)
        Nodes that are kept, banned or too expensive.
    top : ndarray of int32, shape (n_internal,)
        The highest ancestor-or-self of a node that is not kept.
    chain_gain, chain_cost : ndarray of int64, shape (n_internal,)
        Of a node with its ancestors that are not kept.
    rate : ndarray of float64, shape (n_internal,)
        For a top: the best ratio of gain to cost of a set of nodes below it.
    value : ndarray of float64, shape (n_internal,)
        Positive for the members of that set.
    set_gain, set_cost : ndarray of int64, shape (n_internal,)
        For a top: of that set.
    """

    closed: BoolArray
    top: Array
    chain_gain: IntArray
    chain_cost: IntArray
    rate: FloatArray
    value: FloatArray
    set_gain: IntArray
    set_cost: IntArray


@njit
def list_users(indptr: IntArray, indices: Array, n_acquisitions: int, nodes: Int32Array) -> tuple[IntArray, Int32Array]:
    """List the nodes, of these, that need each acquisition, in the form of `Structure`."""
    start = np.zeros(n_acquisitions + 1, np.int64)
    for h in nodes:
        for x in range(indptr[h], indptr[h + 1]):
            start[indices[x] + 1] += 1
    start[:] = np.cumsum(start)
    place, user = start[:-1].copy(), np.empty(start[-1], np.int32)
    for h in nodes:
        for x in range(indptr[h], indptr[h + 1]):
            user[place[indices[x]]] = h
            place[indices[x]] += 1
    return start, user


@njit
def count_users(forest: Structure, state: Purchase) -> None:
    """Count the users of each acquisition, take them off the cap, and sum up what each node needs beyond them."""
    for h in range(state.kept.size):
        if state.kept[h]:
            for x in range(forest.indptr[h], forest.indptr[h + 1]):
                state.users[forest.indices[x]] += 1
    if state.spare.size:
        for j in range(state.users.size):
            if state.users[j] > 0:
                state.spare[forest.example[j]] -= forest.cost[j]
    for h in range(state.kept.size):
        for x in range(forest.indptr[h], forest.indptr[h + 1]):
            if state.users[forest.indices[x]] == 0:
                state.node_cost[h] += forest.cost[forest.indices[x]]


@njit
def total_cost(forest: Structure, state: Purchase) -> int:
    """Sum up what a pruning costs."""
    total = 0
    for h in range(state.kept.size):
        if state.kept[h]:
            total += forest.split_cost[h]
    for j in range(state.users.size):
        if state.users[j] > 0:
            total += forest.cost[j]
    return total


@inner_njit
def _keep(forest: Structure, state: Purchase, h: int) -> int:
    """Keep a node whose parent is kept; return what is paid for it."""
    paid: int = state.node_cost[h]
    state.kept[h] = True
    for x in range(forest.indptr[h], forest.indptr[h + 1]):
        j = forest.indices[x]
        state.users[j] += 1
        if state.users[j] == 1:
            if state.spare.size:
                state.spare[forest.example[j]] -= forest.cost[j]
            for y in range(forest.user_start[j], forest.user_start[j + 1]):
                state.node_cost[forest.user[y]] -= forest.cost[j]
    return paid


@inner_njit
def _drop(forest: Structure, state: Purchase, h: int) -> int:
    """Drop a kept node; return what is saved by it."""
    state.kept[h] = False
    for x in range(forest.indptr[h], forest.indptr[h + 1]):
        j = forest.indices[x]
        state.users[j] -= 1
        if state.users[j] == 0:
            if state.spare.size:
                state.spare[forest.example[j]] += forest.cost[j]
            for y in range(forest.user_start[j], forest.user_start[j + 1]):
                state.node_cost[forest.user[y]] += forest.cost[j]
    saved: int = state.node_cost[h]
    return saved


@njit
def add_best(forest: Structure, state: Purchase, banned: BoolArray, spare: int) -> int:
    """Add the set of nodes with the best ratio, again and again, while something fits; return what is left to spend."""
    n = banned.size
    found = room_for_additions(n)
    while True:
        _add_free(forest, state, banned)
        _measure_chains(forest, state, banned, spare, found)
        _find_best_sets(forest, state, found)
        best_rate, best_chain = 0.0, n  # n stands for none
        for h in range(n):
            if found.closed[h]:
                continue
            rate = _ratio(found.set_gain[h], found.set_cost[h])
            if found.top[h] == h and found.set_cost[h] <= spare and rate > best_rate:
                best_rate, best_chain = rate, n
            rate = _ratio(found.chain_gain[h], found.chain_cost[h])
            if rate > best_rate:
                best_rate, best_chain = rate, h
        if best_rate == 0:
            return spare
        if best_chain < n:
            spare -= _keep_chain(forest, state, best_chain)
            continue
        near = min(best_rate * (1 - NEAR), _high_ratio(found, spare))
        for h in range(n):
            fits = not found.closed[h] and found.top[h] == h and found.set_cost[h] <= spare
            if fits and _ratio(found.set_gain[h], found.set_cost[h]) >= near:
                spare -= keep_set(forest, state, found, h)
                if state.spare.size and _is_overdrawn(forest, state, h):  # by this set and those before it together
                    spare += drop_subtree(forest, state, h)


@inner_njit
def _is_overdrawn(forest: Structure, state: Purchase, root: int) -> bool:
    """Tell whether an example that needs something below a node pays more than its cap."""
    for h in range(root, state.kept.size):
        if h > root and forest.parent[h] < 0:
            return False
        for x in range(forest.indptr[h], forest.indptr[h + 1]):
            if state.kept[h] and state.spare[forest.example[forest.indices[x]]] < 0:
                return True
    return False


@shared
def room_for_additions(n: int) -> Additions:
    """Allocate for a pruning of so many internal nodes."""
    whole = np.zeros(n, np.int64)
    real = np.zeros(n)
    return Additions(
        np.zeros(n, np.bool_), np.zeros(n, np.int32), whole, whole.copy(), real, real.copy(), whole.copy(), whole.copy()
    )


@inner_njit
def _ratio(gain: int, cost: int) -> float:
    return gain / max(float(cost), FREE)


@inner_njit
def _high_ratio(found: Additions, spare: int) -> float:
    """Return the ratio that one of `PASSES` sets within reach has at least, of fewer the best."""
    within = np.zeros(found.closed.size, np.bool_)
    for h in range(within.size):
        within[h] = not found.closed[h] and found.top[h] == h and found.set_gain[h] > 0 and found.set_cost[h] <= spare
    ratio = found.set_gain[within] / np.maximum(found.set_cost[within], FREE)
    high: float = -np.sort(-ratio)[ratio.size // PASSES]
    return high


@inner_njit
def _add_free(forest: Structure, state: Purchase, banned: BoolArray) -> None:
    """Keep the sets of nodes that gain something and cost nothing."""
    gain = forest.gain.copy()
    for h in range(gain.size - 1, -1, -1):
        if state.kept[h] or banned[h] or state.node_cost[h] > 0:
            gain[h] = 0
        elif gain[h] > 0 and forest.parent[h] >= 0:
            gain[forest.parent[h]] += gain[h]
    for h in range(gain.size):
        if gain[h] > 0 and (forest.parent[h] < 0 or state.kept[forest.parent[h]]):
            _keep(forest, state, h)


@njit
def keep_set(forest: Structure, state: Purchase, found: Additions, root: int) -> int:
    """Keep the best set below a top; return what is paid for it."""
    paid = _keep(forest, state, root)
    for h in range(root + 1, state.kept.size):
        if forest.parent[h] < 0:
            break
        if not found.closed[h] and found.top[h] == root and found.value[h] > 0 and state.kept[forest.parent[h]]:
            paid += _keep(forest, state, h)
    return paid


@inner_njit
def _keep_chain(forest: Structure, state: Purchase, h: int) -> int:
    """Keep a node and its ancestors; return what is paid for them."""
    paid = 0
    while h >= 0 and not state.kept[h]:
        paid += _keep(forest, state, h)
        h = forest.parent[h]
    return paid


@inner_njit
def _measure_chains(forest: Structure, state: Purchase, banned: BoolArray, spare: int, found: Additions) -> None:
    """Sum up gain and cost of each node with its ancestors that are not kept; close what cannot be added."""
    for h in range(banned.size):
        found.rate[h] = 0.0
        found.closed[h] = state.kept[h]
        if state.kept[h]:
            continue
        above = forest.parent[h]
        found.top[h], found.chain_gain[h], found.chain_cost[h] = h, forest.gain[h], state.node_cost[h]
        if above >= 0 and not state.kept[above]:
            found.top[h] = found.top[above]
            found.chain_gain[h] += found.chain_gain[above]
            found.chain_cost[h] += found.chain_cost[above]
            found.closed[h] = found.closed[above]
        if banned[h] or found.chain_cost[h] > spare:
            found.closed[h] = True
    if state.spare.size:
        _close_over_cap(forest, state, found)
    for h in range(banned.size):
        if not found.closed[h]:
            top = found.top[h]
            found.rate[top] = max(found.rate[top], _ratio(found.chain_gain[h], found.chain_cost[h]))


@inner_njit
def _close_over_cap(forest: Structure, state: Purchase, found: Additions) -> None:
    """Close nodes with which, and with their ancestors, an example would pay more than its cap.

    In one tree the nodes that an example needs something at lie on one path, so its needs add up along it.
    """
    needed = np.zeros(state.spare.size, np.int64)
    for h in range(found.closed.size):
        above = forest.parent[h]
        if above < 0:
            needed[:] = 0
        elif not state.kept[above] and found.closed[above]:
            found.closed[h] = True
        if found.closed[h]:
            continue
        for x in range(forest.indptr[h], forest.indptr[h + 1]):
            j = forest.indices[x]
            if state.users[j] == 0:
                needed[forest.example[j]] += forest.cost[j]
                if needed[forest.example[j]] > state.spare[forest.example[j]]:
                    found.closed[h] = True


@inner_njit
def _find_best_sets(forest: Structure, state: Purchase, found: Additions) -> None:
    """Find the set of the best ratio below each top, starting from the best chain."""
    better = True
    while better:
        better = False
        for h in range(state.kept.size):
            if not found.closed[h]:
                found.set_gain[h], found.set_cost[h] = forest.gain[h], state.node_cost[h]
                rate = (1 - 1e-9) * found.rate[found.top[h]]
                found.value[h] = forest.gain[h] - rate * state.node_cost[h]
        for h in range(state.kept.size - 1, -1, -1):
            if found.closed[h] or found.value[h] <= 0:
                continue
            if found.top[h] != h:
                above = forest.parent[h]
                found.value[above] += found.value[h]
                found.set_gain[above] += found.set_gain[h]
                found.set_cost[above] += found.set_cost[h]
            elif _ratio(found.set_gain[h], found.set_cost[h]) > found.rate[h] * (1 + 1e-9):
                found.rate[h] = _ratio(found.set_gain[h], found.set_cost[h])
                better = True


@njit
def drop_worst(forest: Structure, state: Purchase, fixed: BoolArray, excess: int) -> int:
    """Drop subtrees without fixed nodes, of the least gain for their share of the cost, until the excess is saved.

    Returns what is left of the excess: more than 0 if it cannot be saved.
    """
    if excess <= 0:
        return excess
    share = _shares(forest, state)
    sharers = state.users.copy()
    lost, saved = np.empty(fixed.size), np.empty(fixed.size)
    nodes = np.flatnonzero(state.kept).astype(np.int32)
    listed, start, user = fixed.size, forest.user_start, forest.user
    while excess > 0:
        if 2 * nodes.size < listed:
            listed = nodes.size
            start, user = list_users(forest.indptr, forest.indices, forest.cost.size, nodes)
        least = _measure_subtrees(forest, nodes, fixed, share, lost, saved)
        if least == np.inf:
            break
        near = max(least + NEAR * abs(least), _low_ratio(nodes, lost, saved))
        for h in nodes:
            orphan = forest.parent[h] >= 0 and not state.kept[forest.parent[h]]
            if orphan or (excess > 0 and saved[h] > 0 and lost[h] / saved[h] <= near):
                excess -= _drop(forest, state, h)
        is_left = state.kept[nodes]
        for h in nodes[~is_left]:
            _share_among_fewer(forest, state, h, start, user, sharers, share)
        nodes = nodes[is_left]
    return excess


@njit
def drop_over_cap(forest: Structure, state: Purchase) -> None:
    """Drop subtrees, of the least gain for what they save of costs above the cap, until no example pays too much."""
    nothing = np.zeros(state.kept.size, np.bool_)
    lost, saved = np.empty(nothing.size), np.empty(nothing.size)
    while np.any(state.spare < 0):
        share = np.zeros(nothing.size)
        nodes = np.flatnonzero(state.kept).astype(np.int32)
        for h in nodes:
            for x in range(forest.indptr[h], forest.indptr[h + 1]):
                j = forest.indices[x]
                if state.spare[forest.example[j]] < 0:
                    share[h] += forest.cost[j] / state.users[j]
        least = _measure_subtrees(forest, nodes, nothing, share, lost, saved)
        near = least + NEAR * abs(least)
        for h in nodes:
            if state.kept[h] and saved[h] > 0 and lost[h] / saved[h] <= near:
                drop_subtree(forest, state, h)


@njit
def _shares(forest: Structure, state: Purchase) -> FloatArray:
    """Share the cost of each acquisition evenly among the kept nodes that need it."""
    share = np.zeros(state.kept.size)
    for h in range(share.size):
        if state.kept[h]:
            share[h] = forest.split_cost[h]
            for x in range(forest.indptr[h], forest.indptr[h + 1]):
                share[h] += forest.cost[forest.indices[x]] / state.users[forest.indices[x]]
    return share


@inner_njit
def _low_ratio(nodes: Int32Array, lost: FloatArray, saved: FloatArray) -> float:
    """Return what the ratio of one of `PASSES` subtrees does not exceed, by a sample of many nodes."""
    if nodes.size <= MANY_NODES:
        return -np.inf
    sample = nodes[:: 1 + nodes.size // (8 * PASSES)]
    may_drop = sample[(saved[sample] > 0) & (lost[sample] < np.inf)]
    if may_drop.size == 0:
        return -np.inf
    low: float = np.sort(lost[may_drop] / saved[may_drop])[may_drop.size // PASSES]
    return low


@inner_njit
def _share_among_fewer(
    forest: Structure, state: Purchase, h: int, start: IntArray, user: Int32Array, sharers: IntArray, share: FloatArray
) -> None:
    """Share what a dropped node needed among those left, once for all that are dropped in the same pass."""
    for y in range(forest.indptr[h], forest.indptr[h + 1]):
        j = forest.indices[y]
        if state.users[j] != sharers[j]:
            if state.users[j] > 0:
                more = forest.cost[j] / state.users[j] - forest.cost[j] / sharers[j]
                for x in range(start[j], start[j + 1]):
                    share[user[x]] += more
            sharers[j] = state.users[j]


@inner_njit
def _measure_subtrees(
    forest: Structure, nodes: Int32Array, fixed: BoolArray, share: FloatArray, lost: FloatArray, saved: FloatArray
) -> float:
    """Sum up gains and shares of the kept nodes of each subtree; return the least ratio, infinite if nothing saves."""
    least = np.inf
    for h in nodes:
        lost[h] = np.inf if fixed[h] else float(forest.gain[h])
        saved[h] = share[h]
    for h in nodes[::-1]:
        if forest.parent[h] >= 0:
            lost[forest.parent[h]] += lost[h]
            saved[forest.parent[h]] += saved[h]
        if saved[h] > 0:
            least = min(least, lost[h] / saved[h])
    return least


@njit
def find_additions(forest: Structure, state: Purchase, found: Additions) -> None:
    """Find the best set below each top, whatever the budget; write it to `found`."""
    nothing = np.zeros(state.kept.size, np.bool_)
    _measure_chains(forest, state, nothing, np.int64(2**62), found)
    _find_best_sets(forest, state, found)


@njit
def promises(forest: Structure, state: Purchase, found: Additions, spare: int, limit: int) -> FloatArray:
    """Estimate what exchanges gain: to drop a kept node's subtree for what else its cost can buy, or to add a set.

    What a set displaces loses at least the least gain for its share of the cost; a set that alone costs more than the
    limit can displace no other.
    """
    n = state.kept.size
    lost, saved = np.empty(n), np.empty(n)
    kept, nothing = np.flatnonzero(state.kept).astype(np.int32), np.zeros(n, np.bool_)
    least = _measure_subtrees(forest, kept, nothing, _shares(forest, state), lost, saved)
    _measure_subtrees(forest, kept, nothing, _own_costs(forest, state), lost, saved)
    rate = 0.0
    for h in range(n):
        if not found.closed[h] and found.top[h] == h:
            rate = max(rate, found.rate[h])
    promise = np.zeros(n)
    for h in range(n):
        if state.kept[h] and saved[h] > 0:
            promise[h] = rate * (saved[h] + spare) - lost[h]
        elif not found.closed[h] and found.top[h] == h and found.set_cost[h] <= limit:
            promise[h] = found.set_gain[h]
            if found.set_cost[h] > spare:
                promise[h] -= least * (found.set_cost[h] - spare)
    return promise


@inner_njit
def _own_costs(forest: Structure, state: Purchase) -> FloatArray:
    """Sum up what only this node needs of all that is kept, and its split cost."""
    own = np.zeros(state.kept.size)
    for h in range(own.size):
        if state.kept[h]:
            own[h] = forest.split_cost[h]
            for x in range(forest.indptr[h], forest.indptr[h + 1]):
                if state.users[forest.indices[x]] == 1:
                    own[h] += forest.cost[forest.indices[x]]
    return own


@njit
def drop_subtree(forest: Structure, state: Purchase, root: int) -> int:
    """Drop a kept node and all below it; return what is saved."""
    saved = _drop(forest, state, root)
    for h in range(root + 1, state.kept.size):
        if forest.parent[h] < 0:
            break
        if state.kept[h] and not state.kept[forest.parent[h]]:
            saved += _drop(forest, state, h)
    return saved
