"""Nodes that are surely dropped where a subproblem breaks even, found without a flow.

Let ``lam`` be the lambda at which a subproblem as a whole is worth its price. An acquisition that only one node meets
is saved when that node goes, whoever else goes. So if no choice among a node and those below it is worth what it would
save, with everything else kept, then none is with less kept: the node is in no optimal set at ``lam``. What remains
without such nodes breaks even at a larger lambda, at which more nodes go. Each triple is looked at twice at most.

Where one large piece has the largest breakpoint, the lambda that comes of it is close to that breakpoint, or is it. A
cut there finds the whole piece at once, in place of a cut at each lambda in between.

Source: Dinkelbach, "On nonlinear fractional programming" (1967), with a bound in place of the minimum cut.
"""

from __future__ import annotations

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, njit
from ipforest.maxflow.network import Lambda, Network, Part, Problem
from ipforest.maxflow.subproblems import break_even_at

MOST_ROUNDS = 50
NOTHING = Lambda(0, 0)


@inlined
def _count_meetings(problem: Problem, part: Part, met: Array, total: Array) -> None:
    """Count the nodes that meet each acquisition, sum their numbers, and sum for each node what only it meets."""
    row_start, row_end, indices, cost = problem.row_start, problem.row_end, problem.indices, problem.cost
    nodes, acquisitions = part
    n = row_start.size
    for i in range(acquisitions.size):
        v = n + acquisitions[i]
        met[v], total[v] = 0, 0
    for i in range(nodes.size):
        h = nodes[i]
        met[h], total[h] = 1, 0
        for x in range(row_start[h], row_end[h]):
            v = n + indices[x]
            met[v] += 1
            total[v] += h
    for i in range(acquisitions.size):
        v = n + acquisitions[i]
        if met[v] == 1:
            total[total[v]] += cost[v - n]


@inlined
def _weigh(problem: Problem, nodes: Array, met: Array, total: Array, worth: Array, saved: Array, lam: Lambda) -> None:
    """Find for each node that remains what the best choice among it and those below is worth, and what it saves."""
    parent, gain, split_cost = problem.parent, problem.gain, problem.split_cost
    for i in range(nodes.size):
        worth[nodes[i]], saved[nodes[i]] = 0, 0
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        if met[h] > 0:
            saved[h] += split_cost[h] + total[h]
            worth[h] += lam.q * gain[h] - lam.p * (split_cost[h] + total[h])
            if parent[h] >= 0 and not _goes(worth, saved, h):
                worth[parent[h]] += worth[h]
                saved[parent[h]] += saved[h]


@inlined
def _goes(worth: Array, saved: Array, h: int) -> bool:
    """Return whether a node is worth less than it saves at all lambdas that are a little smaller."""
    return bool(worth[h] < 0 or (worth[h] == 0 and saved[h] == 0))


@inlined
def _drop(problem: Problem, h: int, met: Array, total: Array) -> int:
    """Drop a node; return what the acquisitions cost that nobody needs any more."""
    n, unneeded = problem.parent.size, 0
    met[h] = 0
    for x in range(problem.row_start[h], problem.row_end[h]):
        j = problem.indices[x]
        v = n + j
        met[v] -= 1
        total[v] -= h
        if met[v] == 1:
            total[total[v]] += problem.cost[j]
        elif met[v] == 0:
            unneeded += problem.cost[j]
    return unneeded


@njit
def peel(network: Network, part: Part, gain: int, cost: int, positive: int, least: int) -> Lambda:
    """Take nodes out of a subproblem that have a smaller breakpoint than what remains has where it breaks even.

    Parameters
    ----------
    network : Network
        Without flow. Its labels receive 0 for each node and acquisition of the part that goes, more than 0 for those
        that remain.
    part : Part
    gain, cost, positive : int
        Sums of the part's gains, costs and positive gains.
    least : int
        How many nodes must remain.

    Returns
    -------
    Lambda
        Where what remains breaks even; no other node can be peeled there. `NOTHING` when all nodes remain, or fewer
        than `least`, when there is no end after `MOST_ROUNDS`, or when flows at that lambda may not fit 64 bits.
    """
    problem, trees = network.problem, network.trees
    met, total = trees.labels, trees.imbalance
    parent, nodes = problem.parent, part.nodes
    worth, saved = np.zeros(parent.size, np.int64), np.zeros(parent.size, np.int64)
    _count_meetings(problem, part, met, total)
    n_left = nodes.size
    lam, fits = break_even_at(gain, cost, positive)
    for _ in range(MOST_ROUNDS):
        _weigh(problem, nodes, met, total, worth, saved, lam)
        n_dropped = 0
        for i in range(nodes.size):
            h = nodes[i]
            if met[h] > 0 and (_goes(worth, saved, h) or (parent[h] >= 0 and met[parent[h]] == 0)):
                n_dropped += 1
                gain -= problem.gain[h]
                cost -= problem.split_cost[h] + _drop(problem, h, met, total)
        if n_dropped == 0:
            return lam if n_left < nodes.size else NOTHING
        n_left -= n_dropped
        lam, fits = break_even_at(gain, cost, positive)
        if n_left < least or not fits:
            return NOTHING
    return NOTHING
