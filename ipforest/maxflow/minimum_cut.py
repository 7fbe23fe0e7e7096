"""Minimum cut and maximum flow of one subproblem at one lambda: a start, waves, and what stays connected to the source.

`cut` first drops what persistency shows to be in no minimum cut (`ipforest.maxflow.persistency`). When the maximum flow
of all nodes is asked for, it has to do without.
"""

from __future__ import annotations

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit
from ipforest.maxflow.network import (
    DEAD,
    KEPT,
    Flow,
    Labels,
    Lambda,
    Network,
    Part,
    Problem,
    Search,
    Tuning,
    Worth,
    nodes_of_level,
)
from ipforest.maxflow.persistency import drop_unprofitable, set_aside
from ipforest.maxflow.waves import EXACT, NEAR, push_waves


@inner_njit
def load_start(problem: Problem, flow: Flow, level: Array, part: Part, lam: Lambda, flow_scale: float) -> None:
    """Set capacities for lambda and turn the flow in the arrays, times `flow_scale`, into a feasible one.

    What an acquisition would take beyond its price is cut in proportion; what a node cannot send stays as its excess.
    """
    indices, row_start, row_end = problem.indices, problem.row_start, problem.row_end
    triple, up, excess, own_room = flow.triple, flow.up, flow.excess, flow.own_room
    room, inflow, cost = flow.room, flow.inflow, problem.cost
    nodes, acquisitions = part
    p, q = lam
    for i in range(acquisitions.size):
        j = acquisitions[i]
        room[j] = p * cost[j]
        inflow[j] = 0
    for i in range(nodes.size):
        h = nodes[i]
        level[h] = 1
        own_room[h] = p * problem.split_cost[h] + q * max(-problem.gain[h], 0)
        excess[h] = q * max(problem.gain[h], 0)
        if flow_scale > 0.0:
            for x in range(row_start[h], row_end[h]):
                inflow[indices[x]] += triple[x]
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        left = excess[h]
        taken = min(left, own_room[h])
        own_room[h] -= taken
        left -= taken
        for x in range(row_start[h], row_end[h]):
            if triple[x] > 0:
                if flow_scale > 0.0 and left > 0:
                    j = indices[x]
                    share = min(flow_scale, p * cost[j] / inflow[j])
                    taken = min(np.int64(triple[x] * share), left, room[j])
                    triple[x] = taken
                    room[j] -= taken
                    left -= taken
                else:
                    triple[x] = 0
        above = problem.parent[h]
        taken = np.int64(0)
        if above >= 0:
            taken = min(np.int64(up[h] * flow_scale), left)
            excess[above] += taken
        up[h] = taken
        excess[h] = left - taken


@inner_njit
def mark_kept(problem: Problem, flow: Flow, labels: Labels, part: Part, q: int) -> int:
    """Find the smallest source side of the minimum cut; mark it by ``level == KEPT`` and its acquisitions by label 1.

    First the excess goes back to the sources it came from, which makes the preflow a flow; ``excess`` is then what each
    source arc does not carry. Then everything that is reachable from these sources in the residual network is marked.

    Returns
    -------
    int
        Number of nodes kept.
    """
    parent, first_child, next_sibling = problem.parent, problem.first_child, problem.next_sibling
    row_start, row_end, indices = problem.row_start, problem.row_end, problem.indices
    triple, up, excess, level, label = flow.triple, flow.up, flow.excess, labels.level, labels.label
    nodes, acquisitions = part
    for i in range(acquisitions.size):
        label[acquisitions[i]] = 0
    waiting = 0
    for i in range(nodes.size):
        h = nodes[i]
        over = excess[h] - q * max(problem.gain[h], 0)
        if over > 0:
            excess[h] -= over
            child = first_child[h]
            while child >= 0 and over > 0:
                if parent[child] == h:
                    taken = min(over, up[child])
                    up[child] -= taken
                    excess[child] += taken
                    over -= taken
                child = next_sibling[child]
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
                child = first_child[h]
                while child >= 0:
                    if parent[child] == h and level[child] == KEPT:
                        yes = True
                        break
                    child = next_sibling[child]
            if not yes:
                for x in range(row_start[h], row_end[h]):
                    if label[indices[x]] == 1 and triple[x] > 0:
                        yes = True
                        break
            if yes:
                changed = True
                level[h] = KEPT
                kept += 1
                for x in range(row_start[h], row_end[h]):
                    label[indices[x]] = 1
    return kept


@inner_njit
def _without_worthless(problem: Problem, labels: Labels, worth: Worth, part: Part, lam: Lambda) -> int:
    """Unmark what is worth nothing among the marked nodes; return how many stay."""
    level, label = labels.level, labels.label
    nodes, acquisitions = part
    for i in range(acquisitions.size):
        label[acquisitions[i]] = 0
    marked = nodes_of_level(level, nodes, KEPT)
    for i in range(nodes.size):
        if level[nodes[i]] != KEPT:
            level[nodes[i]] = DEAD
    n_kept = drop_unprofitable(problem, level, worth, Part(marked, acquisitions), lam, np.int64(1))
    for i in range(marked.size):
        h = marked[i]
        if level[h] != DEAD:
            level[h] = KEPT
            for x in range(problem.row_start[h], problem.row_end[h]):
                label[problem.indices[x]] = 1
    return n_kept


@inlined
def _met(label: Array, n_payers: Array, acquisitions: Array) -> Array:
    """Acquisitions that the nodes left meet; the others get label 0."""
    chosen, n_chosen = np.empty(acquisitions.size, np.int32), 0
    for i in range(acquisitions.size):
        j = acquisitions[i]
        label[j] = 0
        if n_payers[j] > 0:
            chosen[n_chosen] = j
            n_chosen += 1
    return chosen[:n_chosen]


@inlined
def cut(
    network: Network,
    search: Search | None,
    part: Part,
    lam: Lambda,
    flow_scale: float,
    tolerance: float,
    all_flow: bool,
    tuning: Tuning,
) -> tuple[int, int, int]:
    """Find the smallest minimum cut of a subproblem at lambda, from its flow times `flow_scale`.

    Without `search` (see `Network.search_if_large`) the cut is always exact.

    Returns
    -------
    n_kept : int
        0 when the cut is trivial; else the kept nodes have level KEPT, their acquisitions label 1.
    rounds : int
    outcome : int
        EXACT, then the flow is maximum where it matters for the cut, with `all_flow` everywhere; NEAR: the cut is
        minimal up to a share `tolerance` of the excess; LABELS_TOO_NARROW or STOPPED: nothing was found.
    """
    problem, flow, labels, worth = network.problem, network.flow, network.labels, network.worth
    left, n_kept = part, 0
    if not all_flow and drop_unprofitable(problem, labels.level, worth, part, lam, np.int64(0)) < part.nodes.size:
        set_aside(problem, flow, labels.level, worth.n_payers, part.nodes, flow_scale)
        nodes = nodes_of_level(labels.level, part.nodes, 1)
        left = Part(nodes, _met(labels.label, worth.n_payers, part.acquisitions))
    load_start(problem, flow, labels.level, left, lam, flow_scale)
    rounds, outcome = push_waves(network, search, left, lam, tolerance, tuning)
    if outcome in (EXACT, NEAR):
        n_kept = mark_kept(problem, flow, labels, left, lam.q)
    if search is not None and outcome == NEAR:
        n_kept = _without_worthless(problem, labels, worth, left, lam)
    return n_kept, rounds, outcome
