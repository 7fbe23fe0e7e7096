"""Split and contract: every breakpoint of the path, exactly.

A subproblem is what lies between two known optimal sets: nodes, and the acquisitions that they make necessary. At the
lambda at which it breaks even as a whole, gain(S) / cost(S), its minimum cut is either trivial, then the subproblem is
one breakpoint and its maximum flow saturates every arc from the source and into the sink; or the kept part has larger
breakpoints and the rest smaller ones. Both parts are subproblems again. They start from the flow of the parent,
rescaled.

Subproblems live in place: they own disjoint segments of one permutation of the nodes and one of the acquisitions, and
rows of the lower part drop what the upper part has paid for. So nothing is copied, and several threads can work.

Sources: Eisner and Severance, "Mathematical techniques for efficient record segmentation in large shared databases"
(1976), for cutting where two solutions meet; Gallo, Grigoriadis and Tarjan, "A fast parametric maximum flow algorithm
and applications" (1989), for contracting.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit, njit
from ipforest.maxflow.minimum_cut import cut
from ipforest.maxflow.network import KEPT, Lambda, Network, Part, Tuning
from ipforest.maxflow.waves import EXACT, LABELS_TOO_NARROW

SAFE = 2.0**62


class Task(NamedTuple):
    """What `solve` does with a subproblem.

    Attributes
    ----------
    lam : Lambda
        Where to cut first; what comes out of a cut is cut where it breaks even.
    flow_q : int
        The flow in the arrays is counted in units of 1 / flow_q; 0 where there is none.
    max_cuts : int
    tolerance : float
        Accept nearly minimal cuts; 0 for exact ones.
    all_flow : bool
        Find the maximum flow of all nodes, in one cut, and leave the subproblem in one piece.
    """

    lam: Lambda
    flow_q: int
    max_cuts: int = 1
    tolerance: float = 0.0
    all_flow: bool = False


class Report(NamedTuple):
    """What `solve` did.

    Attributes
    ----------
    n_trivial : int
        Number of trivial cuts: nothing was kept.
    n_open : int
        Number of parts that are still to be cut.
    n_kept : int
        Number of nodes that the last cut kept.
    rounds : int
        Of the waves.
    outcome : int
        Of the last cut, see `ipforest.maxflow.minimum_cut.cut`.
    """

    n_trivial: int
    n_open: int
    n_kept: int
    rounds: int
    outcome: int


@inner_njit
def split(network: Network, part: Part) -> tuple[int, int]:
    """Order a subproblem that was cut: kept nodes and their acquisitions first; cut all ties between the two parts.

    Returns
    -------
    n_kept, n_paid : int
        Sizes of the kept part.
    """
    label = network.label
    nodes, acquisitions = part
    lower = np.empty(max(nodes.size, acquisitions.size), np.int32)
    n_paid, rest = 0, 0
    for i in range(acquisitions.size):
        if label[acquisitions[i]] == 1:
            acquisitions[n_paid] = acquisitions[i]
            n_paid += 1
        else:
            lower[rest] = acquisitions[i]
            rest += 1
    for i in range(rest):
        acquisitions[n_paid + i] = lower[i]
    n_kept, rest = 0, 0
    for i in range(nodes.size):
        h = nodes[i]
        if network.level[h] == KEPT:
            nodes[n_kept] = h
            n_kept += 1
        else:
            lower[rest] = h
            rest += 1
            above = network.parent[h]
            if above >= 0 and network.level[above] == KEPT:
                network.parent[h] = -1
                network.up[h] = 0
            end = network.row_start[h]
            for x in range(network.row_start[h], network.row_end[h]):
                j = network.indices[x]
                if label[j] != 1:
                    network.indices[x] = network.indices[end]
                    network.indices[end] = j
                    flow = network.flow[x]
                    network.flow[x] = network.flow[end]
                    network.flow[end] = flow
                    end += 1
            for x in range(end, network.row_end[h]):
                network.flow[x] = 0
            network.row_end[h] = end
    for i in range(rest):
        nodes[n_kept + i] = lower[i]
    return n_kept, n_paid


@njit
def rejoin(network: Network, part: Part, parent: Array, indptr: Array, flow_scale: Array) -> None:
    """Make one subproblem of adjacent ones: tie its nodes again to all of its acquisitions and to parents in it.

    Parameters
    ----------
    network : Network
    part : Part
    parent : int32 (n,)
    indptr : int64 (n + 1,)
        As they were before anything was split.
    flow_scale : float64 (nodes.size,)
        What the flow of each node is multiplied by.
    """
    nodes, acquisitions = part
    node_inside, inside = np.zeros(parent.size, np.bool_), np.zeros(network.cost.size, np.bool_)
    for i in range(acquisitions.size):
        inside[acquisitions[i]] = True
    for i in range(nodes.size):
        node_inside[nodes[i]] = True
    for i in range(nodes.size):
        h = nodes[i]
        above = parent[h]
        network.up[h] = np.int64(network.up[h] * flow_scale[i])
        if above >= 0 and node_inside[above]:
            network.parent[h] = above
        end = network.row_end[h]
        for x in range(network.row_start[h], end):
            network.flow[x] = np.int64(network.flow[x] * flow_scale[i])
        for x in range(end, indptr[h + 1]):
            j = network.indices[x]
            if inside[j]:
                network.indices[x] = network.indices[end]
                network.indices[end] = j
                end += 1
        network.row_end[h] = end


@inlined
def _break_even(network: Network, part: Part) -> tuple[Lambda, bool]:
    """Reduce gain / cost of a subproblem to p / q, and tell whether flows at this scale fit 64 bits."""
    nodes, acquisitions = part
    gain, cost, positive = 0, 0, 0
    for i in range(nodes.size):
        gain += network.gain[nodes[i]]
        positive += max(network.gain[nodes[i]], 0)
        cost += network.split_cost[nodes[i]]
    for i in range(acquisitions.size):
        cost += network.cost[acquisitions[i]]
    divisor = gcd(gain, cost)
    lam = Lambda(gain // divisor, cost // divisor)
    return lam, 2.0 * max(float(lam.p) * float(cost), float(lam.q) * float(positive)) < SAFE


@inlined
def _write(table: Array, row: int, a: int, b: int, c: int, d: int) -> None:
    table[row, 0] = a
    table[row, 1] = b
    table[row, 2] = c
    table[row, 3] = d


@njit
def solve(network: Network, part: Part, task: Task, tuning: Tuning, found: Array) -> Report:
    """Cut a subproblem, and what comes out of the cuts, as often as a task says.

    Parameters
    ----------
    network : Network
    part : Part
    task : Task
    tuning : Tuning
    found : int64 (nodes.size, 6)
        Receives node begin and end, acquisition begin and end, p, q: first of what was cut trivially, with the lambda,
        then of what is open, with p = 0 and the scale of its flow as q; both by falling lambda. Work stops before
        `max_cuts` at a part that does not fit 64 bits or needs wider labels; it is the first of the open ones.

    Returns
    -------
    Report
    """
    nodes, acquisitions = part
    stack, flow_q = np.empty((nodes.size, 4), np.int64), np.empty(nodes.size, np.int64)
    _write(stack, 0, 0, nodes.size, 0, acquisitions.size)
    flow_q[0] = task.flow_q
    n_open, n_trivial, n_cuts, rounds = 1, 0, 0, 0
    n_kept, outcome, lam, fits = 0, EXACT, task.lam, True
    while n_open > 0 and n_cuts < task.max_cuts:
        top = n_open - 1
        a, b, c, d = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        own = Part(nodes[a:b], acquisitions[c:d])
        if n_cuts > 0:
            lam, fits = _break_even(network, own)
        if not fits:
            break
        scale = float(lam.q) / float(flow_q[top]) if flow_q[top] > 0 else 0.0
        n_kept, more, outcome = cut(network, own, lam, scale, task.tolerance, task.all_flow, tuning)
        n_cuts += 1
        rounds += more
        if outcome == LABELS_TOO_NARROW:
            flow_q[top] = 0
            break
        n_open = top
        if n_kept == 0 or task.all_flow:
            _write(found, n_trivial, a, b, c, d)
            found[n_trivial, 4] = lam.p
            found[n_trivial, 5] = lam.q
            n_trivial += 1
        else:
            n_kept, n_paid = split(network, own)
            if a + n_kept < b:
                _write(stack, n_open, a + n_kept, b, c + n_paid, d)
                flow_q[n_open] = lam.q
                n_open += 1
            _write(stack, n_open, a, a + n_kept, c, c + n_paid)
            flow_q[n_open] = lam.q
            n_open += 1
    for i in range(n_open):
        top = n_open - 1 - i
        row = n_trivial + i
        _write(found, row, stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3])
        found[row, 4] = 0
        found[row, 5] = flow_q[top]
    return Report(n_trivial, n_open, n_kept, rounds, outcome)


@njit
def restore_row_order(indptr: Array, indices: Array, reordered: Array, flow: Array, n_acquisitions: int) -> None:
    """Bring the flow on rows that were reordered back into the order of `indices`."""
    of_acquisition = np.empty(n_acquisitions, np.int64)
    for h in range(indptr.size - 1):
        for x in range(indptr[h], indptr[h + 1]):
            of_acquisition[reordered[x]] = flow[x]
        for x in range(indptr[h], indptr[h + 1]):
            flow[x] = of_acquisition[indices[x]]


@inlined
def _classify_ends(network: Network, never: Array, always: Array) -> None:
    """Mark nodes that are kept for no lambda > 0, and nodes that are kept for every lambda.

    As lambda falls to 0, gain decides: a node stays when it and what is best below it gain something. As lambda rises,
    only what costs nothing can stay.
    """
    n = network.parent.size
    best = np.zeros(n, np.int64)
    best_free = np.zeros(n, np.int64)
    free = np.empty(n, np.bool_)
    for h in range(n):
        above = network.parent[h]
        free[h] = network.row_start[h] == network.row_end[h] and network.split_cost[h] == 0
        if above >= 0 and not free[above]:
            free[h] = False
    for h in range(n - 1, -1, -1):
        best[h] = max(best[h] + network.gain[h], 0)
        best_free[h] = max(best_free[h] + network.gain[h], 0) if free[h] else 0
        above = network.parent[h]
        if above >= 0:
            best[above] += best[h]
            best_free[above] += best_free[h]
    for h in range(n):
        above = network.parent[h]
        never[h] = best[h] == 0 or (above >= 0 and never[above])
        always[h] = best_free[h] > 0 and (above < 0 or always[above])


@njit
def settle_ends(network: Network, never: Array, always: Array, needed: Array) -> None:
    """Take the two ends of the path out of the network, with the flow that proves them.

    Where nothing is ever kept, positive gains flow up until negative ones absorb them. Where all is always kept,
    negative gains are filled from the gains below them; ``excess`` is what the source arcs do not carry.

    Parameters
    ----------
    network : Network
    never, always : bool (n,)
        Receive which nodes are kept for no lambda > 0, and which for every lambda.
    needed : bool (m,)
        Receives which acquisitions the others meet.
    """
    parent, gain, up, excess, own_room = network.parent, network.gain, network.up, network.excess, network.own_room
    _classify_ends(network, never, always)
    n = parent.size
    required = np.zeros(n, np.int64)
    offered = np.zeros(n, np.int64)
    for h in range(n - 1, -1, -1):
        own_room[h] = max(-gain[h], 0)
        if never[h] or always[h]:
            arriving = offered[h] + gain[h]
            offered[h] = max(arriving, 0)
            if never[h]:
                own_room[h] = max(-arriving, 0)
                up[h] = offered[h]
            if parent[h] >= 0 and (never[parent[h]] or always[parent[h]]):
                offered[parent[h]] += offered[h]
        else:
            for x in range(network.row_start[h], network.row_end[h]):
                needed[network.indices[x]] = True
    for h in range(n):
        above = parent[h]
        if always[h]:
            own_room[h] = 0
            if above >= 0:
                up[h] = min(offered[h], required[above])
                required[above] -= up[h]
            required[h] += up[h] + max(-gain[h], 0)
            own = min(max(gain[h], 0), required[h])
            required[h] -= own
            excess[h] = max(gain[h], 0) - own
        elif above >= 0 and (always[above] or never[h] != never[above]):
            parent[h] = -1
        if never[h] or always[h]:
            network.row_end[h] = network.row_start[h]
