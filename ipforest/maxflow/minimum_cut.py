"""Exact maximum flow in the closure network, by waves over exact distance labels.

The network (see `ipforest.results.DualFlow`) has few tree nodes, many acquisitions and very many triples, and the
kernel reads the triples row by row only: 12 bytes a triple, no transposed rows. Arcs ``h -> parent(h)`` and
``h -> acquisition`` have no capacity, so distance counts only the arcs that undo flow: an acquisition that can still be
paid has label 0, a node has label k + 1 where k is the least label among the acquisitions of its own and its ancestors,
and a full acquisition inherits the least label of the nodes that pay for it. Excess may wait at nodes. One round is

1. `_label`: exact labels, level by level, up to the farthest excess. Labels never fall, so a node's row is scanned from
   its old level on only;
2. `_sweep`: nodes by falling label push their excess one label down. What a full acquisition takes in excess, the nodes
   one label lower take back from it when their turn comes in the same sweep;
3. when only dust is left (less than a 2^16th of the supply), one pass along a spanning forest of heavy arcs
   (`ipforest.maxflow.spanning_forest`).

Nodes that no longer reach a payable acquisition never will again and leave the problem. The rounds end when the
remaining excess sits in such nodes, or, with a tolerance, when nearly all of it is cut off: `cut` then gives a set that
is nearly the least source side.

Chosen by measurement, at 10.0 million triples (40 trees, 24,000 examples, 50 features at prices 1 to 60; 2 cores, one
thread used; OR-Tools' SimpleMaxFlow beside it in its own process, whose solve alone is counted, while the whole of
`solve` is counted here, with presolve and certificate):

========== ======= ======== =====
kept nodes `solve` OR-Tools ratio
========== ======= ======== =====
0.1%       0.9 s   2.2 s    0.41
25%        3.2 s   15.0 s   0.22
90%        2.7 s   10.0 s   0.27
99%        1.7 s   6.9 s    0.25
========== ======= ======== =====

Peak memory 570 MiB. Restarting each round's labels from level 1 took twice as long (the top level reaches 80 while most
rows stay unlabelled); labelling from the acquisitions' side through transposed rows was slower than that (170 ms a
round in place of 50: random reads). A floating-point balanced flow as a start cost more sweeps than it saved rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._numba import njit
from ipforest.maxflow.network import DEAD, KEPT, Network
from ipforest.maxflow.persistency import drop_unprofitable, set_aside
from ipforest.maxflow.spanning_forest import route_along_tree

Array = npt.NDArray[Any]

LABEL_LIMIT = 250
WIDE_LABEL_LIMIT = 2**29
LABELS_TOO_NARROW, NEAR, EXACT = 0, 1, 2
FIRST_NEAR, NEAR_EVERY = 3, 2
FIRST_TREE = 2
DUST = 2**16
"""Excess below this share of the supply is routed along a tree, at rounds 2, 4, 8, ... at most."""


@njit
def load_start(network: Network, nodes: Array, acquisitions: Array, p: int, q: int, scale: float) -> None:
    """Set capacities for lambda p / q and turn the flow in the arrays, times `scale`, into a feasible one.

    What an acquisition would take beyond its price is cut in proportion; what a node cannot send stays as its excess.
    """
    flow, room, available = network.flow, network.room, network.available
    indices, row_start, row_end = network.indices, network.row_start, network.row_end
    for i in range(acquisitions.size):
        j = acquisitions[i]
        room[j] = p * network.cost[j]
        available[j] = 0
    for i in range(nodes.size):
        h = nodes[i]
        network.level[h] = 1
        network.own_room[h] = p * network.split_cost[h] + q * max(-network.gain[h], 0)
        network.excess[h] = q * max(network.gain[h], 0)
        if scale > 0.0:
            for x in range(row_start[h], row_end[h]):
                available[indices[x]] += flow[x]
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        left = network.excess[h]
        taken = min(left, network.own_room[h])
        network.own_room[h] -= taken
        left -= taken
        for x in range(row_start[h], row_end[h]):
            if flow[x] > 0:
                if scale > 0.0 and left > 0:
                    j = indices[x]
                    share = min(scale, p * network.cost[j] / available[j])
                    taken = min(np.int64(flow[x] * share), left, room[j])
                    flow[x] = taken
                    room[j] -= taken
                    left -= taken
                else:
                    flow[x] = 0
        above = network.parent[h]
        taken = np.int64(0)
        if above >= 0:
            taken = min(np.int64(network.up[h] * scale), left)
            network.excess[above] += taken
        network.up[h] = taken
        network.excess[h] = left - taken


@njit
def _by_level(level: Array, nodes: Array) -> tuple[Array, Array]:
    """Sort nodes by level, stably: those of level k >= 1 are ``order[start[k]:start[k + 1]]``."""
    top = 0
    for i in range(nodes.size):
        top = max(top, level[nodes[i]])
    start = np.zeros(top + 2, np.int64)
    for i in range(nodes.size):
        start[max(level[nodes[i]], 0) + 1] += 1
    for k in range(top + 1):
        start[k + 1] += start[k]
    fill = start.copy()
    order = np.empty(nodes.size, np.int32)
    for i in range(nodes.size):
        k = max(level[nodes[i]], 0)
        order[fill[k]] = nodes[i]
        fill[k] += 1
    return start, order


@njit
def _merge(left: Array, n_left: int, right: Array, merged: Array) -> int:
    """Merge two ascending lists of nodes; return the size."""
    a, b, n = 0, 0, 0
    while a < n_left or b < right.size:
        if b == right.size or (a < n_left and left[a] < right[b]):
            merged[n] = left[a]
            a += 1
        else:
            merged[n] = right[b]
            b += 1
        n += 1
    return n


@njit
def _label(network: Network, label: Array, limit: int, nodes: Array, acquisitions: Array) -> tuple[int, int, bool]:
    """Label nodes and acquisitions; return the level up to which labels are known, live excess, and complete?.

    Levels never fall from one round to the next, so a node's row is scanned from its old level on only. Labels end when
    all nodes with excess have one; the others keep lower bounds, and the acquisitions of the last level have no label.
    """
    parent, level, up, excess = network.parent, network.level, network.up, network.excess
    row_start, row_end, indices, flow = network.row_start, network.row_end, network.indices, network.flow
    available, own_room = network.available, network.own_room
    for i in range(acquisitions.size):
        j = acquisitions[i]
        available[j] = 0
        label[j] = 0 if network.room[j] > 0 else limit
    start, order = _by_level(level, nodes)
    top, waiting = start.size - 2, 0
    for i in range(nodes.size):
        if level[nodes[i]] > 0:
            level[nodes[i]] = 0
            waiting += excess[nodes[i]] > 0
    todo, merged, found = np.empty(nodes.size, np.int32), np.empty(nodes.size, np.int32), np.empty(nodes.size, np.int32)
    left, n_found, k = 0, 1, 1
    while waiting > 0 and k < limit and (n_found > 0 or k <= top):
        if k <= top:
            left = _merge(todo, left, order[start[k] : start[k + 1]], merged)
            todo, merged = merged, todo
        count, left, n_found = left, 0, 0
        for i in range(count):
            h = todo[i]
            above = parent[h]
            yes = (above >= 0 and level[above] == k) or level[h] == -k or (k == 1 and own_room[h] > 0)
            if not yes:
                for x in range(row_start[h], row_end[h]):
                    if label[indices[x]] == k - 1:
                        yes = True
                        break
            if yes:
                level[h] = k
                found[n_found] = h
                n_found += 1
                waiting -= excess[h] > 0
                if above >= 0 and level[above] == 0 and up[h] > 0:
                    level[above] = -(k + 1)
            else:
                todo[left] = h
                left += 1
        for i in range(n_found if waiting > 0 else 0):
            h = found[i]
            for x in range(row_start[h], row_end[h]):
                j = indices[x]
                if label[j] == limit:
                    if flow[x] > 0:
                        label[j] = k
                        available[j] = flow[x]
                elif label[j] == k:
                    available[j] += flow[x]
        k += 1
    live = 0
    for i in range(nodes.size):
        h = nodes[i]
        if level[h] > 0:
            live += excess[h]
        elif level[h] != DEAD:
            level[h] = k if waiting == 0 else DEAD if k < limit else limit
    if waiting > 0:
        return k, live, k < limit
    for old in range(k, top + 1):
        for i in range(start[old], start[old + 1]):
            level[order[i]] = old
    return k - 1, live, True


@njit
def _pay(network: Network, h: int, left: int) -> int:
    """Spend the excess of a node on its row, in proportion to the room there; return what does not fit."""
    row_start, row_end, indices = network.row_start, network.row_end, network.indices
    room, flow = network.room, network.flow
    total = 0
    for x in range(row_start[h], row_end[h]):
        total += room[indices[x]]
    share = min(left / max(total, 1), 1.0)
    if share < 1.0:
        for x in range(row_start[h], row_end[h]):
            j = indices[x]
            taken = min(int(room[j] * share), left)
            room[j] -= taken
            flow[x] += taken
            left -= taken
    if total > 0:
        for x in range(row_start[h], row_end[h]):
            j = indices[x]
            taken = min(left, room[j])
            room[j] -= taken
            flow[x] += taken
            left -= taken
            if left == 0:
                break
    return left


@njit
def _sweep(network: Network, label: Array, nodes: Array) -> None:
    """Push excess down the labels once, highest label first."""
    parent, level, up, excess = network.parent, network.level, network.up, network.excess
    row_start, row_end, indices, flow = network.row_start, network.row_end, network.indices, network.flow
    available, overload, own_room = network.available, network.overload, network.own_room
    start, order = _by_level(level, nodes)
    waiting = np.int64(0)
    for k in range(start.size - 2, 0, -1):
        handed_down = np.int64(0)
        for i in range(start[k + 1] - 1, start[k] - 1, -1):
            h = order[i]
            above = parent[h]
            left = excess[h]
            if above >= 0 and level[above] == k + 1 and up[h] > 0 and excess[above] > 0:
                taken = min(excess[above], up[h])
                excess[above] -= taken
                up[h] -= taken
                left += taken
            if waiting > 0:
                for x in range(row_start[h], row_end[h]):
                    j = indices[x]
                    if label[j] == k and overload[j] > 0:
                        taken = min(overload[j], flow[x])
                        flow[x] -= taken
                        overload[j] -= taken
                        waiting -= taken
                        left += taken
            if left > 0:
                if k == 1:
                    taken = min(left, own_room[h])
                    own_room[h] -= taken
                    left -= taken
                    if left > 0:
                        left = _pay(network, h, left)
                else:
                    for x in range(row_start[h], row_end[h]):
                        j = indices[x]
                        if label[j] == k - 1 and available[j] > 0:
                            taken = min(left, available[j])
                            available[j] -= taken
                            overload[j] += taken
                            flow[x] += taken
                            handed_down += taken
                            left -= taken
                            if left == 0:
                                break
                if left > 0 and above >= 0 and level[above] == k:
                    up[h] += left
                    excess[above] += left
                    left = 0
            excess[h] = left
        waiting = handed_down


@njit
def _nearest_cut(network: Network, label: Array, nodes: Array, top: int) -> tuple[int, int, int]:
    """Find the level below `top` above which the nodes are nearly cut off.

    Whatever excess still reaches a payable acquisition waits at a level <= k, or crosses from level k + 1 to k.

    Returns
    -------
    k : int
    bound : int
        At most so much of the excess can still be paid.
    total : int
        Excess of all nodes, the dead included.
    """
    parent, level, up, excess = network.parent, network.level, network.up, network.excess
    row_start, row_end, indices, available = network.row_start, network.row_end, network.indices, network.available
    crossing, waiting = np.zeros(top + 1, np.int64), np.zeros(top + 1, np.int64)
    counted = np.zeros(network.cost.size, np.bool_)
    total = 0
    for i in range(nodes.size):
        h = nodes[i]
        total += excess[h]
        k = level[h]
        if k <= 0 or k > top:
            continue
        waiting[k] += excess[h]
        if parent[h] >= 0 and level[parent[h]] == k + 1:
            crossing[k] += up[h]
        if k > 1:
            for x in range(row_start[h], row_end[h]):
                j = indices[x]
                if label[j] == k - 1 and not counted[j]:
                    counted[j] = True
                    crossing[k - 1] += available[j]
    nearest, bound, below = 0, total, 0
    for k in range(1, top):
        below += waiting[k]
        if below + crossing[k] < bound:
            nearest, bound = k, below + crossing[k]
    return nearest, bound, total


@njit
def _is_major(network: Network, nodes: Array, nearest: int) -> bool:
    """Tell whether the nodes above a level, and the dead, have most of the triples."""
    balance = 0
    for i in range(nodes.size):
        h = nodes[i]
        size = network.row_end[h] - network.row_start[h]
        balance += size if network.level[h] > nearest or network.level[h] == DEAD else -size
    return balance > 0


@njit
def push_waves(
    network: Network, label: Array, limit: int, nodes: Array, acquisitions: Array, p: int, q: int, tolerance: float
) -> tuple[int, int]:
    """Run rounds until no excess can move, or no more than a share `tolerance` of it.

    Returns
    -------
    rounds : int
    outcome : int
        EXACT; NEAR, then the levels of the nodes that are nearly cut off are DEAD, too; LABELS_TOO_NARROW: excess is
        left beyond label `limit`.
    """
    rounds, next_tree = 0, FIRST_TREE
    supply = 0
    for i in range(nodes.size):
        supply += q * max(network.gain[nodes[i]], 0)
    while True:
        top, live, complete = _label(network, label, limit, nodes, acquisitions)
        if live == 0:
            return rounds, EXACT if complete else LABELS_TOO_NARROW
        if tolerance > 0.0 and complete and rounds >= FIRST_NEAR and rounds % NEAR_EVERY == 0:
            nearest, bound, total = _nearest_cut(network, label, nodes, top)
            if bound <= tolerance * total and _is_major(network, nodes, nearest):
                for i in range(nodes.size):
                    if network.level[nodes[i]] > nearest:
                        network.level[nodes[i]] = DEAD
                return rounds, NEAR
        _sweep(network, label, nodes)
        rounds += 1
        if rounds >= next_tree and live < supply // DUST:
            route_along_tree(network, nodes, acquisitions, p, q, live)
            next_tree = 2 * rounds


@njit
def mark_kept(network: Network, label: Array, nodes: Array, acquisitions: Array, q: int) -> int:
    """Find the smallest source side of the minimum cut; mark it by ``level == KEPT`` and its acquisitions by label 1.

    First the excess goes back to the sources it came from, which makes the preflow a flow; ``excess`` is then what each
    source arc does not carry. Then everything that is reachable from these sources in the residual network is marked.

    Returns
    -------
    int
        Number of nodes kept.
    """
    parent, level, up, excess = network.parent, network.level, network.up, network.excess
    row_start, row_end, indices, flow = network.row_start, network.row_end, network.indices, network.flow
    for i in range(acquisitions.size):
        label[acquisitions[i]] = 0
    waiting = 0
    for i in range(nodes.size):
        h = nodes[i]
        over = excess[h] - q * max(network.gain[h], 0)
        if over > 0:
            excess[h] -= over
            child = network.first_child[h]
            while child >= 0 and over > 0:
                if parent[child] == h:
                    taken = min(over, up[child])
                    up[child] -= taken
                    excess[child] += taken
                    over -= taken
                child = network.next_sibling[child]
        waiting += excess[h] > 0
    if waiting == 0:
        return 0
    kept = 0
    changed = True
    while changed:
        changed = False
        for i in range(nodes.size - 1, -1, -1):
            h = nodes[i]
            if level[h] != DEAD:
                continue
            above = parent[h]
            yes = excess[h] > 0 or (up[h] > 0 and level[above] == KEPT)
            if not yes:
                child = network.first_child[h]
                while child >= 0:
                    if parent[child] == h and level[child] == KEPT:
                        yes = True
                        break
                    child = network.next_sibling[child]
            if not yes:
                for x in range(row_start[h], row_end[h]):
                    if label[indices[x]] == 1 and flow[x] > 0:
                        yes = True
                        break
            if yes:
                changed = True
                level[h] = KEPT
                kept += 1
                for x in range(row_start[h], row_end[h]):
                    label[indices[x]] = 1
    return kept


@njit
def solve_whole(
    network: Network,
    label: Array,
    limit: int,
    nodes: Array,
    acquisitions: Array,
    p: int,
    q: int,
    scale: float,
    tolerance: float,
) -> tuple[int, int, int]:
    """As `cut`, without dropping anything first: when the outcome is EXACT, the flow of all nodes is maximum."""
    load_start(network, nodes, acquisitions, p, q, scale)
    rounds, outcome = push_waves(network, label, limit, nodes, acquisitions, p, q, tolerance)
    if outcome == LABELS_TOO_NARROW:
        return 0, rounds, outcome
    return mark_kept(network, label, nodes, acquisitions, q), rounds, outcome


@njit
def _without_worthless(network: Network, label: Array, nodes: Array, acquisitions: Array, p: int, q: int) -> int:
    """Unmark what is worth nothing among the marked nodes; return how many stay."""
    for i in range(acquisitions.size):
        label[acquisitions[i]] = 0
    marked = _of_level(network, nodes, KEPT)
    for i in range(nodes.size):
        if network.level[nodes[i]] != KEPT:
            network.level[nodes[i]] = DEAD
    n_kept = drop_unprofitable(network, marked, acquisitions, p, q, 1)
    for i in range(marked.size):
        h = marked[i]
        if network.level[h] != DEAD:
            network.level[h] = KEPT
            for x in range(network.row_start[h], network.row_end[h]):
                label[network.indices[x]] = 1
    return n_kept


@njit
def _of_level(network: Network, nodes: Array, level: int) -> Array:
    chosen, n_chosen = np.empty(nodes.size, np.int32), 0
    for i in range(nodes.size):
        if network.level[nodes[i]] == level:
            chosen[n_chosen] = nodes[i]
            n_chosen += 1
    return chosen[:n_chosen]


@njit
def _met(network: Network, label: Array, acquisitions: Array) -> Array:
    """Acquisitions that the nodes left meet; the others get label 0."""
    chosen, n_chosen = np.empty(acquisitions.size, np.int32), 0
    for i in range(acquisitions.size):
        j = acquisitions[i]
        label[j] = 0
        if network.owner[j] > 0:
            chosen[n_chosen] = j
            n_chosen += 1
    return chosen[:n_chosen]


@njit
def cut(
    network: Network,
    label: Array,
    limit: int,
    nodes: Array,
    acquisitions: Array,
    p: int,
    q: int,
    scale: float,
    tolerance: float,
) -> tuple[int, int, int]:
    """Solve a subproblem at lambda p / q from its flow times `scale`.

    Returns
    -------
    n_kept : int
        0 when the cut is trivial; else the kept nodes have level KEPT, their acquisitions label 1.
    rounds : int
    outcome : int
        EXACT; NEAR: the cut is minimal up to a share `tolerance` of the excess; LABELS_TOO_NARROW: nothing was found.
    """
    left, met = nodes, acquisitions
    if drop_unprofitable(network, nodes, acquisitions, p, q, 0) < nodes.size:
        set_aside(network, nodes, scale)
        left, met = _of_level(network, nodes, 1), _met(network, label, acquisitions)
    n_kept, rounds, outcome = solve_whole(network, label, limit, left, met, p, q, scale, tolerance)
    if outcome == NEAR:
        n_kept = _without_worthless(network, label, left, met, p, q)
    return n_kept, rounds, outcome
