"""Nodes that are surely dropped where a subproblem breaks even, found without a flow.

Let ``lam`` be the lambda at which a subproblem as a whole is worth its price. An acquisition that only one node meets
is saved when that node goes, whoever else goes. So if no choice among a node and those below it is worth what it would
save, with everything else kept, then none is with less kept: the node is in no optimal set at ``lam``. What remains
without such nodes breaks even at a larger lambda, at which more nodes go.

Where one large piece has the largest breakpoint, the lambda that comes of it is close to that breakpoint, or is it. A
cut there finds the whole piece at once, in place of a cut at each lambda in between.

Source: Dinkelbach, "On nonlinear fractional programming" (1967), with a bound in place of the minimum cut.
"""

from __future__ import annotations

import functools

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, njit, run_in_slices
from ipforest.maxflow.bit_rows import bit_of, block_of, first_acquisition, n_blocks
from ipforest.maxflow.network import Lambda, Network, Part, Problem
from ipforest.maxflow.splitting import break_even

LEAST_SHARE = 0.004
"""Rounds end when fewer of the nodes that remain go."""
NOTHING = Lambda(0, 0)


def peel(network: Network, part: Part, least: int) -> Lambda:
    """Take nodes out of a subproblem that have a smaller breakpoint than what remains has where it breaks even.

    Parameters
    ----------
    network : Network
        Without flow. Its labels receive 1 for each node and acquisition of the part that remains, 0 for the others.
    part : Part
    least : int
        How many nodes must remain.

    Returns
    -------
    Lambda
        Where what remains breaks even. `NOTHING` when all nodes remain, or fewer than `least`, or when flows at that
        lambda may not fit 64 bits.
    """
    problem, labels, (nodes, _) = network.problem, network.trees.labels, part
    labels[nodes] = 1
    n_left = n_dropped = nodes.size
    while True:
        met, shared = find_met(problem, nodes, labels)
        lam, fits = _break_even_of_rest(problem, part, labels, met)
        if n_dropped <= LEAST_SHARE * n_left or not fits:
            return lam if fits and n_left < nodes.size else NOTHING
        n_dropped = _drop(problem, nodes, labels, _own_costs(problem, nodes, labels, shared), lam)
        n_left -= n_dropped
        if n_left < least:
            return NOTHING


def find_met(problem: Problem, nodes: Array, labels: Array) -> tuple[Array, Array]:
    """Find who is met by the nodes that remain, on all cores.

    Returns
    -------
    met, shared : ndarray of int64, shape (number of blocks,)
        Bits of the acquisitions that one of these nodes meets, and of those that more than one meet.
    """

    def find(some: slice) -> Array:
        return _find_in_rows(problem, nodes[some], labels)

    def join(first: Array, second: Array) -> Array:
        shared = first[0] & second[0]
        first |= second
        first[1] |= shared
        return first

    met, shared = functools.reduce(join, run_in_slices(find, nodes.size, problem.rows.bits.size))
    return met, shared


def _own_costs(problem: Problem, nodes: Array, labels: Array, shared: Array) -> Array:
    """Sum for each node what the acquisitions cost that no other one meets, on all cores."""
    own = np.zeros(problem.parent.size, dtype=np.int64)
    run_in_slices(
        lambda some: _sum_own_costs(problem, nodes[some], labels, shared, own), nodes.size, problem.rows.bits.size
    )
    return own


@njit
def _find_in_rows(problem: Problem, nodes: Array, labels: Array) -> Array:
    rows = problem.rows
    found = np.zeros((2, n_blocks(problem.cost.size)), np.int64)
    met, shared = found
    for i in range(nodes.size):
        h = nodes[i]
        if labels[h] > 0:
            for x in range(rows.start[h], rows.end[h]):
                block, bits = rows.block[x], rows.bits[x]
                shared[block] |= met[block] & bits
                met[block] |= bits
    return found


@njit
def _sum_own_costs(problem: Problem, nodes: Array, labels: Array, shared: Array, own: Array) -> None:
    rows, cost = problem.rows, problem.cost
    for i in range(nodes.size):
        h = nodes[i]
        if labels[h] > 0:
            for x in range(rows.start[h], rows.end[h]):
                block = rows.block[x]
                left = rows.bits[x] & ~shared[block]
                while left != 0:
                    j = first_acquisition(block, left)
                    left ^= bit_of(j)
                    own[h] += cost[j]


@njit
def _break_even_of_rest(problem: Problem, part: Part, labels: Array, met: Array) -> tuple[Lambda, bool]:
    """Find where what remains breaks even, and whether flows fit there; label the acquisitions that remain."""
    nodes, acquisitions = part
    n = problem.parent.size
    for i in range(acquisitions.size):
        j = acquisitions[i]
        labels[n + j] = 1 if met[block_of(j)] & bit_of(j) != 0 else 0
    return break_even(problem, Part(nodes[labels[nodes] > 0], acquisitions[labels[n + acquisitions] > 0]))


@inlined
def _goes(worth: Array, saved: Array, h: int) -> bool:
    """Return whether a node is worth less than it saves at all lambdas that are a little smaller."""
    return bool(worth[h] < 0 or (worth[h] == 0 and saved[h] == 0))


@njit
def _drop(problem: Problem, nodes: Array, labels: Array, own: Array, lam: Lambda) -> int:
    """Drop the nodes whose best choice among them and those below is worth less than it saves; return how many."""
    parent, gain, split_cost = problem.parent, problem.gain, problem.split_cost
    worth, saved = np.zeros((2, parent.size), np.int64)
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        if labels[h] > 0:
            saved[h] += split_cost[h] + own[h]
            worth[h] += lam.q * gain[h] - lam.p * (split_cost[h] + own[h])
            if parent[h] >= 0 and not _goes(worth, saved, h):
                worth[parent[h]] += worth[h]
                saved[parent[h]] += saved[h]
    n_dropped = 0
    for i in range(nodes.size):
        h = nodes[i]
        if labels[h] > 0 and (_goes(worth, saved, h) or (parent[h] >= 0 and labels[parent[h]] == 0)):
            labels[h] = 0
            n_dropped += 1
    return n_dropped
