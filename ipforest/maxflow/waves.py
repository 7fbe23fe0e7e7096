"""The wave method: exact maximum flow in the closure network by sweeps over exact distance labels.

The network (see `ipforest.results.DualFlow`) has few tree nodes, many acquisitions and very many triples, and the
kernels read the triples row by row only. Arcs ``h -> parent(h)`` and ``h -> acquisition`` have no capacity, so distance
counts only the arcs that undo flow: an acquisition that can still be paid has label 0, a node has label k + 1 where k
is the least label among the acquisitions of its own and its ancestors, and a full acquisition inherits the least label
of the nodes that pay for it. Excess may wait at nodes. One round is

1. `label_distances`: exact labels, level by level, up to the farthest excess. Labels never fall, so a node's row is
   scanned from its old level on only;
2. `_sweep`: nodes by falling label push their excess one label down. What a full acquisition takes in excess, the nodes
   one label lower take back from it when their turn comes in the same sweep;
3. when little excess is left: in large subproblems, blocking flows in place of sweeps
   (`ipforest.maxflow.blocking_flow`); in small ones, where listing who pays would take longer than the rounds it saves,
   one pass along a spanning forest of heavy arcs (`ipforest.maxflow.spanning_forest`).

Nodes that no longer reach a payable acquisition never will again and leave the problem. The rounds end when the
remaining excess sits in such nodes, or, with a tolerance, when nearly all of it is cut off.

Source: the wave method of Tarjan ("A simple version of Karzanov's blocking flow algorithm", 1984) on push-relabel's
residual network (Goldberg and Tarjan, "A new approach to the maximum-flow problem", 1988).
"""

from __future__ import annotations

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit
from ipforest.maxflow.blocking_flow import Payers, list_payers, push_blocking_flow
from ipforest.maxflow.network import DEAD, ROUNDS, STOP, Flow, Labels, Lambda, Network, Part, Problem, Search, Tuning
from ipforest.maxflow.spanning_forest import route_along_forest

LABELS_TOO_NARROW, NEAR, EXACT, STOPPED = 0, 1, 2, 3
"""How `push_waves` ended."""


@inner_njit
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


@inlined
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


@inner_njit
def label_distances(problem: Problem, flow: Flow, labels: Labels, part: Part) -> tuple[int, int, bool]:
    """Label nodes and acquisitions; return the level up to which labels are known, live excess, and complete?.

    Levels never fall from one round to the next, so a node's row is scanned from its old level on only. Labels end when
    all nodes with excess have one; the others keep lower bounds, and the acquisitions of the last level have no label.
    """
    parent, row_start, row_end, indices = problem.parent, problem.row_start, problem.row_end, problem.indices
    triple, up, excess, own_room, room = flow.triple, flow.up, flow.excess, flow.own_room, flow.room
    level, label, max_label, available = labels.level, labels.label, labels.max_label, labels.available
    nodes, acquisitions = part
    for i in range(acquisitions.size):
        j = acquisitions[i]
        available[j] = 0
        label[j] = 0 if room[j] > 0 else max_label
    start, order = _by_level(level, nodes)
    top, waiting = start.size - 2, 0
    for i in range(nodes.size):
        if level[nodes[i]] > 0:
            level[nodes[i]] = 0
            waiting += excess[nodes[i]] > 0
    todo, merged, found = np.empty(nodes.size, np.int32), np.empty(nodes.size, np.int32), np.empty(nodes.size, np.int32)
    left, n_found, k = 0, 1, 1
    while waiting > 0 and k < max_label and (n_found > 0 or k <= top):
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
                if label[j] == max_label:
                    if triple[x] > 0:
                        label[j] = k
                        available[j] = triple[x]
                elif label[j] == k:
                    available[j] += triple[x]
        k += 1
    live = 0
    for i in range(nodes.size):
        h = nodes[i]
        if level[h] > 0:
            live += excess[h]
        elif level[h] != DEAD:
            level[h] = k if waiting == 0 else DEAD if k < max_label else max_label
    if waiting > 0:
        return k, live, k < max_label
    for old in range(k, top + 1):
        for i in range(start[old], start[old + 1]):
            level[order[i]] = old
    return k - 1, live, True


@inlined
def _pay(room: Array, triple: Array, indices: Array, begin: int, end: int, left: int) -> int:
    """Spend excess on a row, in proportion to the room there; return what does not fit."""
    total = 0
    for x in range(begin, end):
        total += room[indices[x]]
    share = min(left / max(total, 1), 1.0)
    if share < 1.0:
        for x in range(begin, end):
            j = indices[x]
            taken = min(int(room[j] * share), left)
            room[j] -= taken
            triple[x] += taken
            left -= taken
    if total > 0:
        for x in range(begin, end):
            j = indices[x]
            taken = min(left, room[j])
            room[j] -= taken
            triple[x] += taken
            left -= taken
            if left == 0:
                break
    return left


@inner_njit
def _sweep(problem: Problem, flow: Flow, labels: Labels, nodes: Array) -> None:
    """Push excess down the labels once, highest label first."""
    parent, row_start, row_end, indices = problem.parent, problem.row_start, problem.row_end, problem.indices
    triple, up, excess, own_room = flow.triple, flow.up, flow.excess, flow.own_room
    level, label, available, overload = labels.level, labels.label, labels.available, labels.overload
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
                        taken = min(overload[j], triple[x])
                        triple[x] -= taken
                        overload[j] -= taken
                        waiting -= taken
                        left += taken
            if left > 0:
                if k == 1:
                    taken = min(left, own_room[h])
                    own_room[h] -= taken
                    left -= taken
                    if left > 0:
                        left = _pay(flow.room, triple, indices, row_start[h], row_end[h], left)
                else:
                    for x in range(row_start[h], row_end[h]):
                        j = indices[x]
                        if label[j] == k - 1 and available[j] > 0:
                            taken = min(left, available[j])
                            available[j] -= taken
                            overload[j] += taken
                            triple[x] += taken
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


@inner_njit
def _nearest_cut(problem: Problem, flow: Flow, labels: Labels, nodes: Array, top: int) -> tuple[int, int, int]:
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
    parent, row_start, row_end, indices = problem.parent, problem.row_start, problem.row_end, problem.indices
    up, excess, level, label = flow.up, flow.excess, labels.level, labels.label
    crossing, waiting = np.zeros(top + 1, np.int64), np.zeros(top + 1, np.int64)
    counted = np.zeros(label.size, np.bool_)
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
                    crossing[k - 1] += labels.available[j]
    nearest, bound, below = 0, total, 0
    for k in range(1, top):
        below += waiting[k]
        if below + crossing[k] < bound:
            nearest, bound = k, below + crossing[k]
    return nearest, bound, total


@inner_njit
def _have_most_triples(problem: Problem, level: Array, nodes: Array, nearest: int) -> bool:
    """Return whether the nodes above a level, and the dead, have most of the triples."""
    balance = 0
    for i in range(nodes.size):
        h = nodes[i]
        size = problem.row_end[h] - problem.row_start[h]
        balance += size if level[h] > nearest or level[h] == DEAD else -size
    return balance > 0


@inlined
def push_waves(
    network: Network, search: Search | None, part: Part, lam: Lambda, tolerance: float, tuning: Tuning
) -> tuple[int, int]:
    """Run rounds until no excess can move, or, with `search`, no more than a share `tolerance` of it.

    Returns
    -------
    rounds : int
    outcome : int
        EXACT; NEAR, then the levels of the nodes that are nearly cut off are DEAD, too; LABELS_TOO_NARROW: excess is
        left beyond the largest label; STOPPED by a signal.
    """
    problem, flow, labels = network.problem, network.flow, network.labels
    level, nodes = labels.level, part.nodes
    rounds, next_forest = 0, tuning.first_forest
    supply, size = 0, 0
    for i in range(nodes.size):
        h = nodes[i]
        supply += lam.q * max(problem.gain[h], 0)
        size += problem.row_end[h] - problem.row_start[h]
    is_large, listed = size > tuning.small, False
    if search is not None:
        payers = Payers(np.empty(0, np.int32), np.empty(0, np.int32))
    while network.signals[STOP] == 0:
        top, live, complete = label_distances(problem, flow, labels, part)
        if live == 0:
            return rounds, EXACT if complete else LABELS_TOO_NARROW
        near_is_enough = tolerance > 0.0 and complete and rounds >= tuning.first_near
        if search is not None and near_is_enough and rounds % tuning.near_every == 0:
            nearest, bound, total = _nearest_cut(problem, flow, labels, nodes, top)
            if bound <= tolerance * total and _have_most_triples(problem, level, nodes, nearest):
                for i in range(nodes.size):
                    if level[nodes[i]] > nearest:
                        level[nodes[i]] = DEAD
                return rounds, NEAR
        little_is_left = rounds >= tuning.first_blocking and live < supply // tuning.little
        if search is not None and is_large and little_is_left:
            if not listed:
                payers, listed = list_payers(problem, level, search, part), True
            push_blocking_flow(problem, flow, labels, search, payers, part)
        else:
            _sweep(problem, flow, labels, nodes)
        rounds += 1
        network.signals[ROUNDS] += 1
        if not is_large and rounds >= next_forest and live < supply // tuning.dust:
            route_along_forest(problem, flow, level, network.forest, part, lam, live, tuning)
            next_forest = 2 * rounds
    return rounds, STOPPED
