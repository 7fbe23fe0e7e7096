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

import functools

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, njit, run_in_slices
from ipforest.maxflow.network import Lambda, Network, Part, Problem
from ipforest.maxflow.splitting import break_even_at

MOST_ROUNDS = 50
ONE_NODE = 2**32
"""In the sums of who meets an acquisition."""
NOTHING = Lambda(0, 0)


def count_meetings(network: Network, part: Part) -> Array:
    """Note who meets each acquisition, on all cores.

    The upper half of an entry counts nodes, the lower half is the exclusive or of their numbers: where there is one
    node, its number. So a triple takes one look at memory, and who goes is taken out as it was put in.

    Returns
    -------
    ndarray of int64, shape (m,)
    """
    problem, (nodes, _) = network.problem, part

    def count(some: slice) -> Array:
        meetings = np.zeros(problem.cost.size, dtype=np.int64)
        _count_in_rows(problem, nodes[some], meetings)
        return meetings

    n_triples = int(np.sum(problem.row_end[nodes] - problem.row_start[nodes]))
    return functools.reduce(_add_meetings, run_in_slices(count, nodes.size, n_triples))


@njit
def _count_in_rows(problem: Problem, nodes: Array, meetings: Array) -> None:
    row_start, row_end, indices = problem.row_start, problem.row_end, problem.indices
    for i in range(nodes.size):
        h = nodes[i]
        for x in range(row_start[h], row_end[h]):
            meetings[indices[x]] = (meetings[indices[x]] + ONE_NODE) ^ h


def _add_meetings(first: Array, second: Array) -> Array:
    numbers = second & (ONE_NODE - 1)
    first += second - numbers
    first ^= numbers
    return first


@inlined
def _weigh(problem: Problem, nodes: Array, labels: Array, own: Array, worth: Array, saved: Array, lam: Lambda) -> None:
    """Find for each node that remains what the best choice among it and those below is worth, and what it saves."""
    parent, gain, split_cost = problem.parent, problem.gain, problem.split_cost
    for i in range(nodes.size):
        worth[nodes[i]], saved[nodes[i]] = 0, 0
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        if labels[h] > 0:
            saved[h] += split_cost[h] + own[h]
            worth[h] += lam.q * gain[h] - lam.p * (split_cost[h] + own[h])
            if parent[h] >= 0 and not _goes(worth, saved, h):
                worth[parent[h]] += worth[h]
                saved[parent[h]] += saved[h]


@inlined
def _goes(worth: Array, saved: Array, h: int) -> bool:
    """Return whether a node is worth less than it saves at all lambdas that are a little smaller."""
    return bool(worth[h] < 0 or (worth[h] == 0 and saved[h] == 0))


@inlined
def _drop(problem: Problem, h: int, meetings: Array, own: Array) -> int:
    """Drop a node; return what the acquisitions cost that nobody needs any more."""
    unneeded = 0
    for x in range(problem.row_start[h], problem.row_end[h]):
        j = problem.indices[x]
        meetings[j] = (meetings[j] - ONE_NODE) ^ h
        if meetings[j] // ONE_NODE == 1:
            own[meetings[j] - ONE_NODE] += problem.cost[j]
        elif meetings[j] == 0:
            unneeded += problem.cost[j]
    return unneeded


def peel(network: Network, part: Part, gain: int, cost: int, positive: int, least: int) -> Lambda:
    """Take nodes out of a subproblem that have a smaller breakpoint than what remains has where it breaks even.

    Parameters
    ----------
    network : Network
        Without flow. Its labels receive 1 for each node and acquisition of the part that remains, 0 for the others.
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
    return _peel(network, part, count_meetings(network, part), gain, cost, positive, least)


@njit
def _peel(network: Network, part: Part, meetings: Array, gain: int, cost: int, positive: int, least: int) -> Lambda:
    problem, labels = network.problem, network.trees.labels
    parent, (nodes, acquisitions) = problem.parent, part
    worth, saved, own = np.zeros((3, parent.size), np.int64)
    for i in range(nodes.size):
        labels[nodes[i]] = 1
    for i in range(acquisitions.size):
        j = acquisitions[i]
        if meetings[j] // ONE_NODE == 1:
            own[meetings[j] - ONE_NODE] += problem.cost[j]
    n_left, n_dropped, fits = nodes.size, nodes.size, True
    for _ in range(MOST_ROUNDS):
        lam, fits = break_even_at(gain, cost, positive)
        if n_dropped == 0 or n_left < least or not fits:
            break
        _weigh(problem, nodes, labels, own, worth, saved, lam)
        n_dropped = 0
        for i in range(nodes.size):
            h = nodes[i]
            if labels[h] > 0 and (_goes(worth, saved, h) or (parent[h] >= 0 and labels[parent[h]] == 0)):
                labels[h] = 0
                n_dropped += 1
                gain -= problem.gain[h]
                cost -= problem.split_cost[h] + _drop(problem, h, meetings, own)
        n_left -= n_dropped
    if n_dropped > 0 or n_left < least or n_left == nodes.size or not fits:
        return NOTHING
    for i in range(acquisitions.size):
        labels[parent.size + acquisitions[i]] = 1 if meetings[acquisitions[i]] > 0 else 0
    return lam
