"""Blocking flow along exact distance labels, for the last of the excess.

After the first waves most of the flow is right, and the rest of the excess waits at a few nodes, far from the few
acquisitions with room. Waves carry it to and fro, a node at a time. A blocking flow brings as much of it to the
acquisitions as the arcs that go down one label allow, so each round lengthens the shortest path. Depth-first search
finds it: an arc that turned out to lead nowhere is not looked at again in this round.

Excess goes from node h to acquisition j by paying for it. A full acquisition gives as much back to another of its
payers, so the search needs to know who pays: triples are listed by acquisition (`list_payers`), once a cut.

Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation" (1970).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit
from ipforest.maxflow.network import DEAD, Flow, Labels, Part, Problem, Search

PARENT_NEXT, EXHAUSTED = -2, -1
"""In place of the child that is tried next: the arc to the parent comes first; there is nothing left to try."""
TO_PARENT, TO_CHILD = -1, -2
"""In place of a triple: the kind of the arc by which a node was reached."""


class Payers(NamedTuple):
    """Triples by acquisition, int32 each: the node, and the place of the triple in its row.

    Those of acquisition j begin at ``Search.payers_start[j]`` and end at ``Search.payers_end[j]``.
    """

    node: Array
    place: Array


class Stack(NamedTuple):
    """The path of the search, at each depth.

    Attributes
    ----------
    node : int32
    wanted : int64
        How much the node is to pass on.
    sent : int64
        How much of it arrived.
    by : int64
        How the node was reached: the triple by which the node before it pays for an acquisition, `TO_PARENT` or
        `TO_CHILD`.
    given_back : int64
        The triple by which the node itself pays for the same acquisition.
    """

    node: Array
    wanted: Array
    sent: Array
    by: Array
    given_back: Array


@inner_njit
def list_payers(problem: Problem, level: Array, search: Search, part: Part) -> Payers:
    """List the live triples of a subproblem by acquisition."""
    row_start, row_end, indices = problem.row_start, problem.row_end, problem.indices
    start, end = search.payers_start, search.payers_end
    nodes, acquisitions = part
    for i in range(acquisitions.size):
        end[acquisitions[i]] = 0
    for i in range(nodes.size):
        h = nodes[i]
        if level[h] != DEAD:
            for x in range(row_start[h], row_end[h]):
                end[indices[x]] += 1
    total = np.int64(0)
    for i in range(acquisitions.size):
        j = acquisitions[i]
        start[j] = total
        total += end[j]
        end[j] = start[j]
    payers = Payers(np.empty(total, np.int32), np.empty(total, np.int32))
    for i in range(nodes.size):
        h = nodes[i]
        if level[h] != DEAD:
            for x in range(row_start[h], row_end[h]):
                j = indices[x]
                payers.node[end[j]] = h
                payers.place[end[j]] = x - row_start[h]
                end[j] += 1
    return payers


@inlined
def _find_triple(problem: Problem, flow: Flow, labels: Labels, search: Search, payers: Payers, h: int) -> None:
    """Move on to the next triple in the row of a node that leads down one label, or to the end of the row.

    Where the acquisition is full, move on to the next payer that is one label below the node.
    """
    level, label, down = labels.level, labels.label, labels.level[h] - 1
    x = search.triple[h]
    while x < problem.row_end[h]:
        j = problem.indices[x]
        if label[j] == down:
            if down == 0:
                if flow.room[j] > 0:
                    break
            else:
                y = search.payer[j]
                while y < search.payers_end[j]:
                    g = payers.node[y]
                    if (
                        level[g] == down
                        and search.child[g] != EXHAUSTED
                        and flow.triple[problem.row_start[g] + payers.place[y]] > 0
                    ):
                        break
                    y += 1
                search.payer[j] = y
                if y < search.payers_end[j]:
                    break
        x += 1
    search.triple[h] = x


@inlined
def _find_child(problem: Problem, flow: Flow, labels: Labels, search: Search, h: int) -> None:
    """Move on to the next child that hands flow to a node and is one label below it."""
    child = search.child[h]
    while child >= 0:
        if (
            problem.parent[child] == h
            and labels.level[child] == labels.level[h] - 1
            and flow.up[child] > 0
            and search.child[child] != EXHAUSTED
        ):
            break
        child = problem.next_sibling[child]
    search.child[h] = child


@inlined
def _enter(stack: Stack, depth: int, node: int, wanted: int, by: int, given_back: int) -> None:
    stack.node[depth], stack.wanted[depth], stack.sent[depth] = node, wanted, 0
    stack.by[depth], stack.given_back[depth] = by, given_back


@inner_njit
def _send(
    problem: Problem, flow: Flow, labels: Labels, search: Search, payers: Payers, stack: Stack, start: int
) -> None:
    """Send excess of a node down the labels as far as it goes."""
    row_start, indices, parent = problem.row_start, problem.indices, problem.parent
    triple, up, own_room, room = flow.triple, flow.up, flow.own_room, flow.room
    level = labels.level
    _enter(stack, 0, start, flow.excess[start], TO_PARENT, 0)
    depth = 0
    while True:
        h = stack.node[depth]
        left = stack.wanted[depth] - stack.sent[depth]
        if left > 0 and level[h] == 1 and own_room[h] > 0:
            taken = min(left, own_room[h])
            own_room[h] -= taken
            stack.sent[depth] += taken
            continue
        if left > 0:
            _find_triple(problem, flow, labels, search, payers, h)
            x = search.triple[h]
            if x < problem.row_end[h]:
                j = indices[x]
                if level[h] == 1:
                    taken = min(left, room[j])
                    room[j] -= taken
                    triple[x] += taken
                    stack.sent[depth] += taken
                else:
                    g = payers.node[search.payer[j]]
                    y = row_start[g] + payers.place[search.payer[j]]
                    depth += 1
                    _enter(stack, depth, g, min(left, triple[y]), x, y)
                continue
            if search.child[h] == PARENT_NEXT:
                above = parent[h]
                if above >= 0 and level[above] == level[h] and search.child[above] != EXHAUSTED:
                    depth += 1
                    _enter(stack, depth, above, left, TO_PARENT, 0)
                    continue
                search.child[h] = problem.first_child[h]
            _find_child(problem, flow, labels, search, h)
            child = search.child[h]
            if child >= 0:
                depth += 1
                _enter(stack, depth, child, min(left, up[child]), TO_CHILD, 0)
                continue
        sent, by = stack.sent[depth], stack.by[depth]
        if depth == 0:
            flow.excess[h] -= sent
            return
        if by == TO_CHILD:
            up[h] -= sent
        elif by == TO_PARENT:
            up[stack.node[depth - 1]] += sent
        else:
            triple[by] += sent
            triple[stack.given_back[depth]] -= sent
        depth -= 1
        stack.sent[depth] += sent


@inner_njit
def push_blocking_flow(
    problem: Problem, flow: Flow, labels: Labels, search: Search, payers: Payers, part: Part
) -> None:
    """Send as much excess to its acquisitions as arcs that go down one label allow.

    Parameters
    ----------
    problem : Problem
    flow : Flow
    labels : Labels
        Exact distance labels up to the farthest excess.
    search : Search
    payers : Payers
        As `list_payers` returned them in this cut.
    part : Part
    """
    nodes, acquisitions = part
    for i in range(nodes.size):
        search.triple[nodes[i]] = problem.row_start[nodes[i]]
        search.child[nodes[i]] = PARENT_NEXT
    for i in range(acquisitions.size):
        search.payer[acquisitions[i]] = search.payers_start[acquisitions[i]]
    n = nodes.size
    stack = Stack(
        np.empty(n, np.int32),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    for i in range(n):
        h = nodes[i]
        if flow.excess[h] > 0 and labels.level[h] > 0:
            _send(problem, flow, labels, search, payers, stack, h)
