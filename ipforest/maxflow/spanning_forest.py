"""Cancel leftover excess against leftover room along a spanning forest of arcs that carry much flow.

After the first waves most of the flow is right and what is left is dust: a millionth of the flow, spread so that
excess and room are everywhere but far apart. Waves carry it to and fro (704 rounds at 7 million triples). But arcs with
much flow are open in both directions, so on a spanning forest of them one pass from the leaves to the root cancels
everything that fits.

Each acquisition belongs to the node that pays most for it, its owner. An edge of the forest is an arc to the parent, or
a triple (h, j) that joins node h to the owner of j: h can hand over its excess by paying more for j in the owner's
place, and the other way round. Heavy arcs come first (union-find over nodes). Leaves first, a node fills its own
acquisitions, hands what is left to the next node, or takes from there what it lacks; a node that was made to give too
much takes it back from what it pays and leaves room behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._numba import njit
from ipforest.maxflow.network import DEAD, Network

Array = npt.NDArray[Any]

NO_TRIPLE = -1
UP = -1
CLASSES = 3
CLASS_RATIO = 64


@njit
def _choose_owners(network: Network, nodes: Array, acquisitions: Array) -> None:
    best, owner, flow, indices = network.available, network.owner, network.flow, network.indices
    for i in range(acquisitions.size):
        best[acquisitions[i]] = NO_TRIPLE
    for i in range(nodes.size):
        h = nodes[i]
        if network.level[h] == DEAD:
            continue
        for x in range(network.row_start[h], network.row_end[h]):
            j = indices[x]
            if best[j] == NO_TRIPLE or flow[x] > flow[best[j]]:
                best[j] = x
                owner[j] = h


@njit
def _find(root: Array, h: int) -> int:
    while root[h] != h:
        root[h] = root[root[h]]
        h = root[h]
    return h


@njit
def _grow_forest(network: Network, nodes: Array, live: int, edge_from: Array, edge_to: Array, edge: Array) -> int:
    root, owner, level = network.root, network.owner, network.level
    for i in range(nodes.size):
        root[nodes[i]] = nodes[i]
    n_edges = 0
    threshold = max(live, 1)
    for _ in range(CLASSES):
        for i in range(nodes.size):
            h = nodes[i]
            if level[h] == DEAD:
                continue
            a = _find(root, h)
            if network.up[h] >= threshold:
                b = _find(root, network.parent[h])
                if a != b:
                    root[b] = a
                    edge_from[n_edges] = h
                    edge_to[n_edges] = network.parent[h]
                    edge[n_edges] = UP
                    n_edges += 1
            for x in range(network.row_start[h], network.row_end[h]):
                if network.flow[x] >= threshold:
                    other = owner[network.indices[x]]
                    if root[other] != a:
                        b = _find(root, other)
                        if a != b:
                            root[b] = a
                            edge_from[n_edges] = h
                            edge_to[n_edges] = other
                            edge[n_edges] = x
                            n_edges += 1
        threshold = max(threshold // CLASS_RATIO, 1)
    return n_edges


@njit
def _orient_forest(n: int, slot: Array, n_edges: int, edge_from: Array, edge_to: Array) -> tuple[Array, Array]:
    """Order the places of nodes root first; give the order and the edge that leads to the root (-1 at roots)."""
    start = np.zeros(n + 1, np.int64)
    for e in range(n_edges):
        start[slot[edge_from[e]] + 1] += 1
        start[slot[edge_to[e]] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill = start[:-1].copy()
    incident = np.empty(2 * n_edges, np.int32)
    for e in range(n_edges):
        for end in (slot[edge_from[e]], slot[edge_to[e]]):
            incident[fill[end]] = e
            fill[end] += 1
    order = np.empty(n, np.int32)
    rootward = np.full(n, -2, np.int32)
    size = 0
    for first in range(n):
        if rootward[first] != -2:
            continue
        rootward[first] = -1
        order[size] = first
        done = size
        size += 1
        while done < size:
            here = order[done]
            done += 1
            for x in range(start[here], start[here + 1]):
                e = incident[x]
                there = slot[edge_from[e]] + slot[edge_to[e]] - here
                if rootward[there] == -2:
                    rootward[there] = e
                    order[size] = there
                    size += 1
    return order, rootward


@njit
def _owned_lists(nodes: Array, acquisitions: Array, best: Array, owner: Array, slot: Array) -> tuple[Array, Array]:
    start = np.zeros(nodes.size + 1, np.int64)
    for i in range(acquisitions.size):
        j = acquisitions[i]
        if best[j] != NO_TRIPLE:
            start[slot[owner[j]] + 1] += 1
    for i in range(nodes.size):
        start[i + 1] += start[i]
    fill = start[:-1].copy()
    owned = np.empty(start[nodes.size], np.int32)
    for i in range(acquisitions.size):
        j = acquisitions[i]
        if best[j] != NO_TRIPLE:
            owned[fill[slot[owner[j]]]] = j
            fill[slot[owner[j]]] += 1
    return start, owned


@njit
def _fill_owned(network: Network, h: int, owned: Array) -> int:
    """Fill what the node owns from its excess; return the room that is left."""
    room, flow = network.room, network.flow
    left = network.excess[h]
    if left > 0:
        taken = min(left, network.own_room[h])
        network.own_room[h] -= taken
        left -= taken
    lacking = 0
    for i in range(owned.size):
        j = owned[i]
        if room[j] > 0:
            taken = min(max(left, 0), room[j])
            room[j] -= taken
            flow[network.available[j]] += taken
            left -= taken
            lacking += room[j]
    network.excess[h] = left
    return lacking


@njit
def _shift(network: Network, x: int, forward: bool, wanted: int) -> int:
    """Move up to `wanted` over an edge, from its first node if `forward`; negative: the other way. Return how much."""
    flow, best = network.flow, network.available
    amount = wanted if forward else -wanted
    others = best[network.indices[x]]
    amount = min(amount, int(flow[others])) if amount > 0 else -min(-amount, int(flow[x]))
    flow[x] += amount
    flow[others] -= amount
    return amount if forward else -amount


@njit
def _shift_up(network: Network, child: int, forward: bool, wanted: int) -> int:
    """As `_shift`, over the arc from a node to its parent."""
    amount = wanted if forward else -wanted
    amount = max(amount, -int(network.up[child]))
    network.up[child] += amount
    return amount if forward else -amount


@njit
def _repay(network: Network, nodes: Array, p: int, q: int) -> None:
    """Let nodes that gave too much take it back from what they pay, children first."""
    flow, room, excess = network.flow, network.room, network.excess
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        if excess[h] >= 0:
            continue
        for x in range(network.row_start[h], network.row_end[h]):
            given = min(flow[x], -excess[h])
            flow[x] -= given
            room[network.indices[x]] += given
            excess[h] += given
            if excess[h] == 0:
                break
        own_flow = p * network.split_cost[h] + q * max(-network.gain[h], 0) - network.own_room[h]
        given = min(own_flow, -excess[h])
        network.own_room[h] += given
        excess[h] += given
        if excess[h] < 0:
            network.up[h] += excess[h]
            excess[network.parent[h]] += excess[h]
            excess[h] = 0


@njit
def route_along_tree(network: Network, nodes: Array, acquisitions: Array, p: int, q: int, live: int) -> None:
    """Move excess to room along a spanning forest; labels start anew afterwards.

    Parameters
    ----------
    network : Network
    nodes, acquisitions : int32
        The subproblem.
    p, q : int
        Its lambda.
    live : int
        Excess that can still move: edges that carry at least this much flow never limit the pass.
    """
    n = nodes.size
    excess, best, slot = network.excess, network.available, network.root
    edge_from, edge_to, edge = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    _choose_owners(network, nodes, acquisitions)
    n_edges = _grow_forest(network, nodes, live, edge_from, edge_to, edge)
    for i in range(n):
        slot[nodes[i]] = i
    order, rootward = _orient_forest(n, slot, n_edges, edge_from, edge_to)
    start, owned = _owned_lists(nodes, acquisitions, best, network.owner, slot)
    for i in range(n - 1, -1, -1):
        place = order[i]
        h = nodes[place]
        if network.level[h] == DEAD:
            continue
        mine = owned[start[place] : start[place + 1]]
        lacking = _fill_owned(network, h, mine)
        e = rootward[place]
        if e >= 0 and (excess[h] > 0 or lacking - excess[h] > 0):
            other = edge_from[e] if edge_to[e] == h else edge_to[e]
            wanted = excess[h] if excess[h] > 0 else excess[h] - lacking
            if edge[e] == UP:
                moved = _shift_up(network, edge_from[e], edge_from[e] == h, wanted)
            else:
                moved = _shift(network, edge[e], edge_from[e] == h, wanted)
            excess[h] -= moved
            excess[other] += moved
            _fill_owned(network, h, mine)
    _repay(network, nodes, p, q)
    for i in range(n):
        if network.level[nodes[i]] != DEAD:
            network.level[nodes[i]] = 1
