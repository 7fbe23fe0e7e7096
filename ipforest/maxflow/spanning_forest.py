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

from typing import NamedTuple

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit
from ipforest.maxflow.network import DEAD, Flow, Lambda, Part, Problem, SpanningForest, Tuning

NO_TRIPLE = -1
UP = -1
"""In place of a triple: the edge is the arc to the parent."""


@inlined
def _choose_owners(problem: Problem, triple: Array, level: Array, forest: SpanningForest, part: Part) -> None:
    owner, owner_triple, indices = forest.owner, forest.owner_triple, problem.indices
    nodes, acquisitions = part
    for i in range(acquisitions.size):
        owner_triple[acquisitions[i]] = NO_TRIPLE
    for i in range(nodes.size):
        h = nodes[i]
        if level[h] == DEAD:
            continue
        for x in range(problem.row_start[h], problem.row_end[h]):
            j = indices[x]
            if owner_triple[j] == NO_TRIPLE or triple[x] > triple[owner_triple[j]]:
                owner_triple[j] = x
                owner[j] = h


@inner_njit
def _root(tree: Array, h: int) -> int:
    while tree[h] != h:
        tree[h] = tree[tree[h]]
        h = tree[h]
    return h


class Edges(NamedTuple):
    """Edges of the forest: the two nodes of each, and the triple that joins them, or `UP`."""

    first: Array
    second: Array
    triple: Array


@inner_njit
def _grow_forest(
    problem: Problem, flow: Flow, level: Array, forest: SpanningForest, nodes: Array, live: int, tuning: Tuning
) -> tuple[int, Edges]:
    """List the edges of a forest of heavy arcs; return how many, and them."""
    parent, indices, row_start, row_end = problem.parent, problem.indices, problem.row_start, problem.row_end
    triple, up, tree, owner = flow.triple, flow.up, forest.tree, forest.owner
    n = nodes.size
    first, second, joined_by = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    for i in range(n):
        tree[nodes[i]] = nodes[i]
    n_edges = 0
    threshold = max(live, 1)
    for _ in range(tuning.forest_classes):
        for i in range(n):
            h = nodes[i]
            if level[h] == DEAD:
                continue
            a = _root(tree, h)
            if up[h] >= threshold:
                b = _root(tree, parent[h])
                if a != b:
                    tree[b] = a
                    first[n_edges] = h
                    second[n_edges] = parent[h]
                    joined_by[n_edges] = UP
                    n_edges += 1
            for x in range(row_start[h], row_end[h]):
                if triple[x] >= threshold:
                    other = owner[indices[x]]
                    if tree[other] != a:
                        b = _root(tree, other)
                        if a != b:
                            tree[b] = a
                            first[n_edges] = h
                            second[n_edges] = other
                            joined_by[n_edges] = x
                            n_edges += 1
        threshold = max(threshold // tuning.class_ratio, 1)
    return n_edges, Edges(first, second, joined_by)


@inner_njit
def _orient_forest(place: Array, n: int, n_edges: int, edges: Edges) -> tuple[Array, Array]:
    """Order the places of nodes root first; return the order and the edge that leads to the root (-1 at roots)."""
    first, second = edges.first, edges.second
    start = np.zeros(n + 1, np.int64)
    for e in range(n_edges):
        start[place[first[e]] + 1] += 1
        start[place[second[e]] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill = start[:-1].copy()
    incident = np.empty(2 * n_edges, np.int32)
    for e in range(n_edges):
        for end in (place[first[e]], place[second[e]]):
            incident[fill[end]] = e
            fill[end] += 1
    order, rootward = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        rootward[i] = -2
    size = 0
    for root in range(n):
        if rootward[root] != -2:
            continue
        rootward[root] = -1
        order[size] = root
        done = size
        size += 1
        while done < size:
            here = order[done]
            done += 1
            for x in range(start[here], start[here + 1]):
                e = incident[x]
                there = place[first[e]] + place[second[e]] - here
                if rootward[there] == -2:
                    rootward[there] = e
                    order[size] = there
                    size += 1
    return order, rootward


@inlined
def _list_owned(forest: SpanningForest, part: Part) -> tuple[Array, Array]:
    """List what each node owns: of the node at place i, ``owned[start[i]:start[i + 1]]``."""
    owner, owner_triple, place = forest.owner, forest.owner_triple, forest.place
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
def _fill_owned(flow: Flow, owner_triple: Array, h: int, owned: Array) -> int:
    """Fill what the node owns from its excess; return the room that is left."""
    room, triple, own_room = flow.room, flow.triple, flow.own_room
    left = flow.excess[h]
    if left > 0:
        taken = min(left, own_room[h])
        own_room[h] -= taken
        left -= taken
    lacking = 0
    for i in range(owned.size):
        j = owned[i]
        if room[j] > 0:
            taken = min(max(left, 0), room[j])
            room[j] -= taken
            triple[owner_triple[j]] += taken
            left -= taken
            lacking += room[j]
    flow.excess[h] = left
    return lacking


@inner_njit
def _shift(flow: Flow, indices: Array, owner_triple: Array, child: int, x: int, wanted: int) -> int:
    """Move up to `wanted` from the first node of an edge to the second; negative: the other way. Return how much."""
    triple, up = flow.triple, flow.up
    if x == UP:
        amount: int = max(wanted, -up[child])
        up[child] += amount
        return amount
    others = owner_triple[indices[x]]
    amount = min(wanted, triple[others]) if wanted > 0 else -min(-wanted, triple[x])
    triple[x] += amount
    triple[others] -= amount
    return amount


@inner_njit
def _repay(problem: Problem, flow: Flow, nodes: Array, lam: Lambda) -> None:
    """Let nodes that gave too much take it back from what they pay, children first."""
    triple, room, excess, own_room, up = flow.triple, flow.room, flow.excess, flow.own_room, flow.up
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        if excess[h] >= 0:
            continue
        for x in range(problem.row_start[h], problem.row_end[h]):
            given = min(triple[x], -excess[h])
            triple[x] -= given
            room[problem.indices[x]] += given
            excess[h] += given
            if excess[h] == 0:
                break
        own_flow = lam.p * problem.split_cost[h] + lam.q * max(-problem.gain[h], 0) - own_room[h]
        given = min(own_flow, -excess[h])
        own_room[h] += given
        excess[h] += given
        if excess[h] < 0:
            up[h] += excess[h]
            excess[problem.parent[h]] += excess[h]
            excess[h] = 0


@inner_njit
def route_along_forest(
    problem: Problem,
    flow: Flow,
    level: Array,
    forest: SpanningForest,
    part: Part,
    lam: Lambda,
    live: int,
    tuning: Tuning,
) -> None:
    """Move excess to room along a spanning forest; labels start anew afterwards.

    Parameters
    ----------
    problem : Problem
    flow : Flow
    level : int32 (n,)
    forest : SpanningForest
    part : Part
    lam : Lambda
    live : int
        Excess that can still move: edges that carry at least this much flow never limit the pass.
    tuning : Tuning
    """
    nodes, n = part.nodes, part.nodes.size
    excess, place, owner_triple = flow.excess, forest.place, forest.owner_triple
    _choose_owners(problem, flow.triple, level, forest, part)
    n_edges, edges = _grow_forest(problem, flow, level, forest, nodes, live, tuning)
    for i in range(n):
        place[nodes[i]] = i
    order, rootward = _orient_forest(place, n, n_edges, edges)
    start, owned = _list_owned(forest, part)
    for i in range(n - 1, -1, -1):
        at = order[i]
        h = nodes[at]
        if level[h] == DEAD:
            continue
        mine = owned[start[at] : start[at + 1]]
        lacking = _fill_owned(flow, owner_triple, h, mine)
        e = rootward[at]
        if e >= 0 and (excess[h] > 0 or lacking - excess[h] > 0):
            first = edges.first[e]
            forward = 1 if first == h else -1
            other = edges.second[e] if first == h else first
            wanted = excess[h] if excess[h] > 0 else excess[h] - lacking
            shifted = _shift(flow, problem.indices, owner_triple, first, edges.triple[e], forward * wanted)
            excess[h] -= forward * shifted
            excess[other] += forward * shifted
            _fill_owned(flow, owner_triple, h, mine)
    _repay(problem, flow, nodes, lam)
    for i in range(n):
        if level[nodes[i]] != DEAD:
            level[nodes[i]] = 1
