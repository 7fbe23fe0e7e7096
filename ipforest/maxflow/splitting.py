"""Split and contract: every breakpoint of the path, exactly.

A subproblem is what lies between two known optimal sets: nodes, and the acquisitions that they make necessary. At the
lambda at which it breaks even as a whole, gain(S) / cost(S), its minimum cut is either trivial, then the subproblem is
one breakpoint and its maximum flow saturates every arc from the source and into the sink; or what is kept has larger
breakpoints and the rest smaller ones. Both are subproblems again. They start from the flow of the one that was cut,
rescaled.

Subproblems own disjoint segments of one permutation of the nodes and one of the acquisitions, and rows of the lower
subproblem drop what the upper one has paid for. So a split copies nothing, and several threads can work. See
`ipforest.maxflow.subproblems` for those that move.

Sources: Eisner and Severance, "Mathematical techniques for efficient record segmentation in large shared databases"
(1976), for cutting where two solutions meet; Gallo, Grigoriadis and Tarjan, "A fast parametric maximum flow algorithm
and applications" (1989), for contracting.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array
from ipforest._internal.kernels import inlined, njit, uncounted_njit
from ipforest.maxflow.bit_rows import BitRows, bit_of, block_of, n_blocks, set_blocks
from ipforest.maxflow.network import KEPT, ClosureProblem, Flow, Lambda, Members, Network, ResidualTrees
from ipforest.maxflow.pseudoflow import NO_VERTEX, cut
from ipforest.maxflow.shared_search import new_shared_search

SAFE = 2.0**62


class Task(NamedTuple):
    """What `solve` does with a subproblem.

    Attributes
    ----------
    lam : Lambda
        Lambda of the first cut; the subproblems that come of it are cut at their break-even lambda.
    flow_q : int
        The flow in the trees is counted in units of 1 / flow_q; 0 where there is none.
    max_cuts : int
    """

    lam: Lambda
    flow_q: int
    max_cuts: int = 1


class Report(NamedTuple):
    """What `solve` did.

    Attributes
    ----------
    n_trivial : int
        Number of trivial cuts: nothing was kept.
    n_open : int
        Number of subproblems that are still to be cut.
    n_kept : int
        Number of nodes that the last cut kept.
    is_whole : bool
        False when a signal stopped the last cut.
    """

    n_trivial: int
    n_open: int
    n_kept: int
    is_whole: bool


@inlined
def _cut_ties(vertices: Array, labels: Array, v: int) -> None:
    """Detach a vertex from one on the other side of the cut, lists of children apart; no flow crosses the cut."""
    above = vertices[v].above
    if above >= 0 and (labels[v] == KEPT) != (labels[above] == KEPT):
        vertices[v].above = NO_VERTEX
        vertices[v].flow = 0


@inlined
def _drop_from_row(rows: BitRows, h: int, paid: Array) -> None:
    """Take acquisitions out of a row; entries without any other go."""
    end = rows.start[h]
    for x in range(rows.start[h], rows.end[h]):
        left = rows.bits[x] & ~paid[rows.block[x]]
        if left != 0:
            rows.block[end], rows.bits[end] = rows.block[x], left
            end += 1
    rows.end[h] = end


@uncounted_njit
def split(
    problem: ClosureProblem, trees: ResidualTrees, members: Members, lower: Array, paid: Array
) -> tuple[int, int]:
    """Order a subproblem that was cut: kept nodes and their acquisitions first; cut all ties to the rest.

    Scratch: ``lower``, int32, of at least as many entries as there are nodes, or acquisitions, and ``paid``, int64,
    an entry for each block.

    Returns
    -------
    n_kept, n_paid : int
        How many nodes and acquisitions are kept.
    """
    parent, vertices, labels, n = problem.parent, trees.vertices, trees.labels, problem.parent.size
    nodes, acquisitions = members
    n_paid, rest = 0, 0
    set_blocks(paid, acquisitions, 0)
    # acquisitions[:n_paid] are the kept ones of [0, i), lower[:rest] the others, both ascending; n_paid + rest == i
    for i in range(acquisitions.size):
        j = acquisitions[i]
        _cut_ties(vertices, labels, n + j)
        if labels[n + j] == KEPT:
            paid[block_of(j)] |= bit_of(j)
            acquisitions[n_paid] = j
            n_paid += 1
        else:
            lower[rest] = j
            rest += 1
    for i in range(rest):
        acquisitions[n_paid + i] = lower[i]
    n_kept, rest = 0, 0
    # the same of nodes; `paid` has the bits of all kept acquisitions, and no row of a lower node lists them any more
    for i in range(nodes.size):
        h = nodes[i]
        _cut_ties(vertices, labels, h)
        if labels[h] == KEPT:
            nodes[n_kept] = h
            n_kept += 1
            continue
        lower[rest] = h
        rest += 1
        above = parent[h]
        if above >= 0 and labels[above] == KEPT:
            parent[h] = -1
        _drop_from_row(problem.rows, h, paid)
    for i in range(rest):
        nodes[n_kept + i] = lower[i]
    return n_kept, n_paid


@njit
def divide_again(problem: ClosureProblem, members: Members, paid: Array, met: Array) -> bool:
    """Take out of the rows of a subproblem what those above it have paid for, as the splits did that made it.

    Subproblems come by falling lambda. ``paid``, int64, an entry for each block, has the acquisitions of those before
    this one and receives its own; ``met``, of the same shape, is scratch.

    Returns
    -------
    bool
        Whether the acquisitions of the subproblem are what its nodes still meet; if not, all is half done.
    """
    rows = problem.rows
    nodes, acquisitions = members
    set_blocks(met, acquisitions, 0)
    for i in range(nodes.size):
        _drop_from_row(rows, nodes[i], paid)
        for x in range(rows.start[nodes[i]], rows.end[nodes[i]]):
            met[rows.block[x]] = 0
    for i in range(nodes.size):
        for x in range(rows.start[nodes[i]], rows.end[nodes[i]]):
            met[rows.block[x]] |= rows.bits[x]
    for i in range(acquisitions.size):
        block, bit = block_of(acquisitions[i]), bit_of(acquisitions[i])
        if met[block] & bit == 0:
            return False
        met[block] ^= bit
        paid[block] |= bit
    for i in range(nodes.size):
        for x in range(rows.start[nodes[i]], rows.end[nodes[i]]):
            if met[rows.block[x]] != 0:
                return False
    return True


@inlined
def _is_arc(problem: ClosureProblem, v: int, w: int) -> bool:
    """Return whether an arc joins two vertices, of which the second has the larger number."""
    n = problem.parent.size
    if v >= n:
        return False
    if w < n:
        return bool(problem.parent[w] == v or problem.parent[v] == w)
    rows, block = problem.rows, block_of(w - n)
    x = rows.start[v] + np.searchsorted(rows.block[rows.start[v] : rows.end[v]], block)
    return bool(x < rows.end[v] and rows.block[x] == block and rows.bits[x] & bit_of(w - n) != 0)


@njit
def are_trees(problem: ClosureProblem, above: Array, owner: Array) -> bool:
    """Return whether arcs within subproblems join each vertex to the one above it, and all ways up come to an end.

    Parameters
    ----------
    problem : ClosureProblem
    above : int32 (n + m,)
        As in `ipforest.maxflow.network.VERTEX`; any numbers.
    owner : int64 (n + m,)
        The subproblem of each vertex, -1 for none.
    """
    seen_from = np.full(above.size, NO_VERTEX, np.int64)
    for v in range(above.size):
        w = above[v]
        if w == NO_VERTEX:
            continue
        if w < 0 or w >= above.size or owner[v] < 0 or owner[w] != owner[v]:
            return False
        if not _is_arc(problem, min(v, w), max(v, w)):
            return False
    for start in range(above.size):
        v = start
        while v != NO_VERTEX and seen_from[v] == NO_VERTEX:
            seen_from[v] = start
            v = above[v]
        if v != NO_VERTEX and seen_from[v] == start:
            return False
    return True


@inlined
def break_even(problem: ClosureProblem, members: Members) -> tuple[Lambda, bool]:
    """Find the lambda at which a subproblem breaks even, reduced, and tell whether flows at this scale fit 64 bits."""
    gain, split_cost, cost = problem.gain, problem.split_cost, problem.cost
    nodes, acquisitions = members
    gains, costs, positive = 0, 0, 0
    for i in range(nodes.size):
        gains += gain[nodes[i]]
        positive += max(gain[nodes[i]], 0)
        costs += split_cost[nodes[i]]
    for i in range(acquisitions.size):
        costs += cost[acquisitions[i]]
    divisor = gcd(gains, costs)
    lam = Lambda(gains // divisor, costs // divisor)
    return lam, 2.0 * max(float(lam.p) * float(costs), float(lam.q) * float(positive)) < SAFE


@inlined
def _write(found: Array, row: int, nodes: tuple[int, int], acquisitions: tuple[int, int], p: int, q: int) -> None:
    found[row, 0], found[row, 1] = nodes
    found[row, 2], found[row, 3] = acquisitions
    found[row, 4], found[row, 5] = p, q


@njit
def divide(network: Network, members: Members) -> tuple[int, int]:
    """Run `split` with scratch of its own."""
    lower = np.empty(max(members.nodes.size, members.acquisitions.size), np.int32)
    paid = np.empty(n_blocks(network.problem.cost.size), np.int64)
    return split(network.problem, network.trees, members, lower, paid)


@njit
def solve(network: Network, members: Members, task: Task, found: Array) -> tuple[int, int, int, bool]:
    """Cut a subproblem, and what comes out of the cuts, as often as a task says.

    Parameters
    ----------
    network : Network
    members : Members
    task : Task
    found : int64 (nodes.size, 6)
        Receives node begin and end, acquisition begin and end, p, q: at its front what was cut trivially, with the
        lambda, at its end what is open, with p = 0 and the scale of its flow as q; both by falling lambda. Work stops
        before `max_cuts` at a signal, or at a subproblem that does not fit 64 bits; it is the first of the open ones.

    Returns
    -------
    tuple
        The fields of a `Report`.
    """
    problem = network.problem
    nodes, acquisitions = members
    size = nodes.size
    _write(found, size - 1, (0, size), (0, acquisitions.size), 0, task.flow_q)
    n_open, n_trivial, n_cuts = 1, 0, 0
    n_kept, is_whole, lam, fits = 0, True, task.lam, True
    # found[:n_trivial] are breakpoints and found[size - n_open:] open subproblems, both by falling lambda. Together
    # they own each node and acquisition once: n_trivial + n_open <= size. The first open one has the largest lambdas.
    while n_open > 0 and n_cuts < task.max_cuts:
        top = size - n_open
        a, b, c, d, flow_q = found[top, 0], found[top, 1], found[top, 2], found[top, 3], found[top, 5]
        own = Members(nodes[a:b], acquisitions[c:d])
        if n_cuts > 0:
            lam, fits = break_even(problem, own)
        if not fits:
            break
        scale = float(lam.q) / float(flow_q) if flow_q > 0 else 0.0
        search = new_shared_search(own.nodes.size + own.acquisitions.size, problem.cost.size, 0)
        n_kept, _, is_whole = cut(network, own, search, lam, scale)
        n_cuts += 1
        if not is_whole:
            found[top, 5] = lam.q
            break
        n_open -= 1  # the cut one leaves; its rows go on to one breakpoint, or to two open subproblems
        if n_kept == 0:
            _write(found, n_trivial, (a, b), (c, d), lam.p, lam.q)
            n_trivial += 1
        else:
            n_kept, n_paid = divide(network, own)
            if a + n_kept < b:
                n_open += 1
                _write(found, size - n_open, (a + n_kept, b), (c + n_paid, d), 0, lam.q)
            n_open += 1
            _write(found, size - n_open, (a, a + n_kept), (c, c + n_paid), 0, lam.q)
    return n_trivial, n_open, n_kept, is_whole


@inlined
def _classify_ends(problem: ClosureProblem, never: Array, always: Array) -> None:
    """Mark nodes that are kept for no lambda > 0, and nodes that are kept for every lambda.

    As lambda falls to 0, gain decides: a node stays when it and what is best below it gain something. As lambda rises,
    only what costs nothing can stay.
    """
    parent, gain, rows = problem.parent, problem.gain, problem.rows
    n = parent.size
    best = np.zeros(n, np.int64)
    best_free = np.zeros(n, np.int64)
    free = np.empty(n, np.bool_)
    for h in range(n):
        above = parent[h]
        free[h] = rows.start[h] == rows.end[h] and problem.split_cost[h] == 0
        if above >= 0 and not free[above]:
            free[h] = False
    for h in range(n - 1, -1, -1):
        best[h] = max(best[h] + gain[h], 0)
        best_free[h] = max(best_free[h] + gain[h], 0) if free[h] else 0
        above = parent[h]
        if above >= 0:
            best[above] += best[h]
            best_free[above] += best_free[h]
    for h in range(n):
        above = parent[h]
        never[h] = best[h] == 0 or (above >= 0 and never[above])
        always[h] = best_free[h] > 0 and (above < 0 or always[above])


@njit
def settle_ends(problem: ClosureProblem, flow: Flow, never: Array, always: Array, needed: Array) -> None:
    """Take the two ends of the path out of the problem, with the flow that proves them.

    Where nothing is ever kept, positive gains flow up until negative ones absorb them. Where all is always kept,
    negative gains are filled from the gains below them; ``excess`` is what the source arcs do not carry.

    Parameters
    ----------
    problem : ClosureProblem
    flow : Flow
    never, always : bool (n,)
        Receive which nodes are kept for no lambda > 0, and which for every lambda.
    needed : bool (m,)
        Receives which acquisitions the others meet.
    """
    parent, gain, rows = problem.parent, problem.gain, problem.rows
    up, excess, own_room = flow.up, flow.excess, flow.own_room
    _classify_ends(problem, never, always)
    n = parent.size
    met = np.zeros(n_blocks(needed.size), np.int64)
    required = np.zeros(n, np.int64)
    offered = np.zeros(n, np.int64)
    # Children come before their parents: offered[h] is what its settled children send up, and is not negative.
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
            for x in range(rows.start[h], rows.end[h]):
                met[rows.block[x]] |= rows.bits[x]
    for j in range(needed.size):
        needed[j] = met[block_of(j)] & bit_of(j) != 0
    # Parents come first: required[above] is what is still missing to fill it from its children not yet visited.
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
            rows.end[h] = rows.start[h]
