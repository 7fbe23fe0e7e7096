"""Cancel leftover excess against leftover room along a spanning forest of arcs that carry much flow.

After the first waves most of the flow is right and what is left is dust: a millionth of the flow, spread so that
excess and room are everywhere but far apart. Waves would carry it to and fro. But arcs with much flow are open in both
directions, so on a spanning forest of them one pass from the leaves to the root cancels everything that fits.

Each acquisition belongs to the node that pays most for it, its owner. An edge of the forest is an arc to the parent, or
a triple (h, j) that joins node h to the owner of j: h can hand over its excess by paying more for j in the owner's
place, and the other way round. Heavy arcs come first (union-find over nodes, as in Kruskal's algorithm). Leaves first,
a node fills its own acquisitions, hands what is left to the next node, or takes from there what it lacks; a node that
was made to give too much takes it back from what it pays and leaves room behind.
"""

from __future__ import annotations

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit
from ipforest.maxflow.network import DEAD, Lambda, Network, Part, Tuning

NO_TRIPLE = -1
UP = -1
"""In place of a triple: the edge is the arc to the parent."""


@inlined
def _choose_owners(network: Network, part: Part) -> None:
    owner, owner_triple = network.owner, network.owner_triple
    indices, flow = network.indices, network.flow
    nodes, acquisitions = part
    for i in range(acquisitions.size):
        owner_triple[acquisitions[i]] = NO_TRIPLE
    for i in range(nodes.size):
        h = nodes[i]
        if network.level[h] == DEAD:
            continue
        for x in range(network.row_start[h], network.row_end[h]):
            j = indices[x]
            if owner_triple[j] == NO_TRIPLE or flow[x] > flow[owner_triple[j]]:
                owner_triple[j] = x
                owner[j] = h


@inner_njit
def _root(tree: Array, h: int) -> int:
    while tree[h] != h:
        tree[h] = tree[tree[h]]
        h = tree[h]
    return h


@inner_njit
def _grow_forest(
    network: Network, nodes: Array, live: int, tuning: Tuning, edge_from: Array, edge_to: Array, edge: Array
) -> int:
    """List the edges of a forest of heavy arcs; return how many."""
    tree, owner, level = network.tree, network.owner, network.level
    for i in range(nodes.size):
        tree[nodes[i]] = nodes[i]
    n_edges = 0
    threshold = max(live, 1)
    for _ in range(tuning.forest_classes):
        for i in range(nodes.size):
            h = nodes[i]
            if level[h] == DEAD:
                continue
            a = _root(tree, h)
            if network.up[h] >= threshold:
                b = _root(tree, network.parent[h])
                if a != b:
                    tree[b] = a
                    edge_from[n_edges] = h
                    edge_to[n_edges] = network.parent[h]
                    edge[n_edges] = UP
                    n_edges += 1
            for x in range(network.row_start[h], network.row_end[h]):
                if network.flow[x] >= threshold:
                    other = owner[network.indices[x]]
                    if tree[other] != a:
                        b = _root(tree, other)
                        if a != b:
                            tree[b] = a
                            edge_from[n_edges] = h
                            edge_to[n_edges] = other
                            edge[n_edges] = x
                            n_edges += 1
        threshold = max(threshold // tuning.class_ratio, 1)
    return n_edges


@inner_njit
def _orient_forest(place: Array, n: int, n_edges: int, edge_from: Array, edge_to: Array) -> tuple[Array, Array]:
    """Order the places of nodes root first; return the order and the edge that leads to the root (-1 at roots)."""
    start = np.zeros(n + 1, np.int64)
    for e in range(n_edges):
        start[place[edge_from[e]] + 1] += 1
        start[place[edge_to[e]] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill = start[:-1].copy()
    incident = np.empty(2 * n_edges, np.int32)
    for e in range(n_edges):
        for end in (place[edge_from[e]], place[edge_to[e]]):
            incident[fill[end]] = e
            fill[end] += 1
    order, rootward = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        rootward[i] = -2
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
                there = place[edge_from[e]] + place[edge_to[e]] - here
                if rootward[there] == -2:
                    rootward[there] = e
                    order[size] = there
                    size += 1
    return order, rootward


@inlined
def _list_owned(network: Network, part: Part) -> tuple[Array, Array]:
    """List what each node owns: of the node at place i, ``owned[start[i]:start[i + 1]]``."""
    owner, owner_triple, place = network.owner, network.owner_triple, network.place
    nodes, acquisitions = part
    start = np.zeros(nodes.size + 1, np.int64)
    for i in range(acquisitions.size):
        j = acquisitions[i]
        if owner_triple[j] != NO_TRIPLE:
            start[place[owner[j]] + 1] += 1
    for i in range(nodes.size):
        start[i + 1] += start[i]
    fill = start[:-1].copy()
    owned = np.empty(start[nodes.size], np.int32)
    for i in range(acquisitions.size):
        j = acquisitions[i]
        if owner_triple[j] != NO_TRIPLE:
            owned[fill[place[owner[j]]]] = j
            fill[place[owner[j]]] += 1
    return start, owned


@inner_njit
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
            flow[network.owner_triple[j]] += taken
            left -= taken
            lacking += room[j]
    network.excess[h] = left
    return lacking


@inlined
def _shift(network: Network, x: int, forward: bool, wanted: int) -> int:
    """Move up to `wanted` over an edge, from its first node if `forward`; negative: the other way. Return how much."""
    flow = network.flow
    amount = wanted if forward else -wanted
    others = network.owner_triple[network.indices[x]]
    amount = min(amount, int(flow[others])) if amount > 0 else -min(-amount, int(flow[x]))
    flow[x] += amount
    flow[others] -= amount
    return amount if forward else -amount


@inlined
def _shift_up(network: Network, child: int, forward: bool, wanted: int) -> int:
    """As `_shift`, over the arc from a node to its parent."""
    amount = wanted if forward else -wanted
    amount = max(amount, -int(network.up[child]))
    network.up[child] += amount
    return amount if forward else -amount


@inlined
def _repay(network: Network, nodes: Array, lam: Lambda) -> None:
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
        own_flow = lam.p * network.split_cost[h] + lam.q * max(-network.gain[h], 0) - network.own_room[h]
        given = min(own_flow, -excess[h])
        network.own_room[h] += given
        excess[h] += given
        if excess[h] < 0:
            network.up[h] += excess[h]
            excess[network.parent[h]] += excess[h]
            excess[h] = 0


@inner_njit
def route_along_forest(network: Network, part: Part, lam: Lambda, live: int, tuning: Tuning) -> None:
    """Move excess to room along a spanning forest; labels start anew afterwards.

    Parameters
    ----------
    network : Network
    part : Part
    lam : Lambda
    live : int
        Excess that can still move: edges that carry at least this much flow never limit the pass.
    tuning : Tuning
    """
    nodes = part.nodes
    n = nodes.size
    excess, place = network.excess, network.place
    edge_from, edge_to, edge = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    _choose_owners(network, part)
    n_edges = _grow_forest(network, nodes, live, tuning, edge_from, edge_to, edge)
    for i in range(n):
        place[nodes[i]] = i
    order, rootward = _orient_forest(place, n, n_edges, edge_from, edge_to)
    start, owned = _list_owned(network, part)
    for i in range(n - 1, -1, -1):
        at = order[i]
        h = nodes[at]
        if network.level[h] == DEAD:
            continue
        mine = owned[start[at] : start[at + 1]]
        lacking = _fill_owned(network, h, mine)
        e = rootward[at]
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
    _repay(network, nodes, lam)
    for i in range(n):
        if network.level[nodes[i]] != DEAD:
            network.level[nodes[i]] = 1
