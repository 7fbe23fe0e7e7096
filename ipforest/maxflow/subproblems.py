"""Split and contract: every breakpoint of the path, exactly.

A subproblem is what lies between two known optimal sets: nodes, and the acquisitions that they make necessary. At
the lambda at which it breaks even as a whole, gain(S) / cost(S), its minimum cut is either trivial, then the subproblem
is one breakpoint and its maximum flow saturates every arc from the source and into the sink; or the kept part has
larger breakpoints and the rest smaller ones. Both parts are subproblems again. They start from the flow of the parent,
rescaled.

Subproblems live in place: they own disjoint segments of one permutation of the nodes and one of the acquisitions, and
rows of the lower part drop what the upper part has paid for. So nothing is copied, and several threads can work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._numba import njit
from ipforest.maxflow.minimum_cut import EXACT, cut
from ipforest.maxflow.network import KEPT, Network

Array = npt.NDArray[Any]

SAFE = 2.0**62


@njit
def totals(network: Network, nodes: Array, acquisitions: Array) -> tuple[int, int, int]:
    """Gain, cost and sum of the positive gains of a subproblem."""
    gain, cost, positive = 0, 0, 0
    for i in range(nodes.size):
        gain += network.gain[nodes[i]]
        positive += max(network.gain[nodes[i]], 0)
        cost += network.split_cost[nodes[i]]
    for i in range(acquisitions.size):
        cost += network.cost[acquisitions[i]]
    return gain, cost, positive


@njit
def split(network: Network, label: Array, nodes: Array, acquisitions: Array) -> tuple[int, int]:
    """Order a subproblem that was cut: kept nodes and their acquisitions first; cut all ties between the two parts.

    Returns
    -------
    n_kept, n_paid : int
        Sizes of the kept part.
    """
    lower = np.empty(max(nodes.size, acquisitions.size), np.int32)
    n_paid, rest = 0, 0
    for i in range(acquisitions.size):
        if label[acquisitions[i]] == 1:
            acquisitions[n_paid] = acquisitions[i]
            n_paid += 1
        else:
            lower[rest] = acquisitions[i]
            rest += 1
    acquisitions[n_paid:] = lower[:rest]
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
            network.flow[end : network.row_end[h]] = 0
            network.row_end[h] = end
    nodes[n_kept:] = lower[:rest]
    return n_kept, n_paid


@njit
def rejoin(network: Network, nodes: Array, acquisitions: Array, parent: Array, indptr: Array, scale: Array) -> None:
    """Make one subproblem of adjacent ones: tie its nodes again to all of its acquisitions and to parents in it.

    Parameters
    ----------
    network : Network
    nodes, acquisitions : int32
        Segments of the permutations.
    parent : int32 (n,)
    indptr : int64 (n + 1,)
        As they were before anything was parted.
    scale : float64 (nodes.size,)
        What the flow of each node is multiplied by.
    """
    node_inside, inside = np.zeros(parent.size, np.bool_), np.zeros(network.cost.size, np.bool_)
    for i in range(acquisitions.size):
        inside[acquisitions[i]] = True
    for i in range(nodes.size):
        node_inside[nodes[i]] = True
    for i in range(nodes.size):
        h = nodes[i]
        above = parent[h]
        network.up[h] = np.int64(network.up[h] * scale[i])
        if above >= 0 and node_inside[above]:
            network.parent[h] = above
        end = network.row_end[h]
        for x in range(network.row_start[h], end):
            network.flow[x] = np.int64(network.flow[x] * scale[i])
        for x in range(end, indptr[h + 1]):
            j = network.indices[x]
            if inside[j]:
                network.indices[x] = network.indices[end]
                network.indices[end] = j
                end += 1
        network.row_end[h] = end


@njit
def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


@njit
def break_even_lambda(network: Network, nodes: Array, acquisitions: Array) -> tuple[int, int, bool]:
    """Reduce gain / cost of a subproblem to p / q, and tell whether flows at this scale fit 64 bits."""
    gain, cost, positive = totals(network, nodes, acquisitions)
    divisor = _gcd(gain, cost)
    p, q = gain // divisor, cost // divisor
    return p, q, 2.0 * max(float(p) * float(cost), float(q) * float(positive)) < SAFE


@njit
def _leave_open(stack: Array, depth: int, left: Array) -> int:
    for i in range(depth):
        a, b, c, d, q = stack[depth - 1 - i]
        left[i, :] = (a, b, c, d, 0, q)
    return depth


@njit
def restore_row_order(indptr: Array, indices: Array, shuffled: Array, flow: Array, scratch: Array) -> None:
    """Bring the flow on rows that were reordered back into the order of `indices`."""
    for h in range(indptr.size - 1):
        for x in range(indptr[h], indptr[h + 1]):
            scratch[shuffled[x]] = flow[x]
        for x in range(indptr[h], indptr[h + 1]):
            flow[x] = scratch[indices[x]]


@njit
def split_fully(
    network: Network, label: Array, limit: int, nodes: Array, acquisitions: Array, q_of_flow: int, found: Array
) -> tuple[int, int]:
    """Split a subproblem until only trivial ones are left.

    Parameters
    ----------
    network : Network
    label : uint8 or int32 (m,)
    limit : int
    nodes, acquisitions : int32
        Segments of the permutations.
    q_of_flow : int
        Scale of the flow in the arrays; 0 where there is none.
    found : int64 (nodes.size, 6)
        Receives node begin and end, acquisition begin and end, p, q by falling lambda.

    Returns
    -------
    n_found : int
    n_left : int
        0, or the number of subproblems that are still open because the first of them does not fit 64 bits or needs
        labels beyond `limit`; they follow in `found` with p = 0 and the scale of their flow as q.
    """
    stack = np.empty((nodes.size + 1, 5), np.int64)
    stack[0, :] = (0, nodes.size, 0, acquisitions.size, q_of_flow)
    depth, n_found = 1, 0
    while depth > 0:
        depth -= 1
        a, b, c, d, q_old = stack[depth]
        own_nodes, own_acquisitions = nodes[a:b], acquisitions[c:d]
        p, q, fits = break_even_lambda(network, own_nodes, own_acquisitions)
        if not fits:
            return n_found, _leave_open(stack, depth + 1, found[n_found:])
        scale = float(q) / float(q_old) if q_old > 0 else 0.0
        n_kept, _, outcome = cut(network, label, limit, own_nodes, own_acquisitions, p, q, scale, 0.0)
        if outcome != EXACT:
            stack[depth, 4] = 0
            return n_found, _leave_open(stack, depth + 1, found[n_found:])
        if n_kept == 0:
            found[n_found, :] = (a, b, c, d, p, q)
            n_found += 1
        else:
            n_kept, n_paid = split(network, label, own_nodes, own_acquisitions)
            stack[depth, :] = (a + n_kept, b, c + n_paid, d, q)
            stack[depth + 1, :] = (a, a + n_kept, c, c + n_paid, q)
            depth += 2
    return n_found, 0


@njit
def classify_ends(network: Network, never: Array, always: Array) -> None:
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
    """Take the two ends out of the network, with the flow that proves them, and mark the acquisitions of the middle.

    Where nothing is ever kept, positive gains flow up until negative ones absorb them. Where all is always kept,
    negative gains are filled from the gains below them; ``excess`` is what the source arcs do not carry.
    """
    parent, gain, up, excess, own_room = network.parent, network.gain, network.up, network.excess, network.own_room
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
