"""Find nodes that no optimal pruning of a subproblem keeps, without any flow.

At lambda p / q a subtree is worth its gain less the price of the acquisitions that nobody else in the subproblem meets;
of its own subtrees only those count that are worth something. As the worth of a subtree only falls when others go, one
that is worth less than nothing is never kept at this lambda, and dropping it may expose the next. Every triple is
visited twice.

What all optimal solutions of a 0-1 program have in common, known before solving it, is its persistency (Hammer, Hansen
and Simeone, "Roof duality, complementation and persistency in quadratic 0-1 optimization", 1984).
"""

from __future__ import annotations

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit
from ipforest.maxflow.network import DEAD, Flow, Lambda, Part, Problem, Worth


@inlined
def _initial_worth(problem: Problem, scratch: Worth, part: Part, lam: Lambda) -> None:
    """Count who meets each acquisition, and what each subtree is worth."""
    indices, row_start, row_end = problem.indices, problem.row_start, problem.row_end
    worth, n_payers, payer_code = scratch.subtree, scratch.n_payers, scratch.payer_code
    nodes, acquisitions = part
    p, q = lam
    for i in range(acquisitions.size):
        n_payers[acquisitions[i]] = 0
        payer_code[acquisitions[i]] = 0
    for i in range(nodes.size):
        h = nodes[i]
        worth[h] = q * problem.gain[h] - p * problem.split_cost[h]
        for x in range(row_start[h], row_end[h]):
            n_payers[indices[x]] += 1
            payer_code[indices[x]] ^= h
    for i in range(acquisitions.size):
        j = acquisitions[i]
        if n_payers[j] == 1:
            worth[payer_code[j]] -= p * problem.cost[j]
    for i in range(nodes.size - 1, -1, -1):
        above = problem.parent[nodes[i]]
        if above >= 0:
            worth[above] += max(worth[nodes[i]], 0)


@inner_njit
def drop_unprofitable(problem: Problem, level: Array, scratch: Worth, part: Part, lam: Lambda, least: int) -> int:
    """Drop subtrees that are worth less than `least` until there are none; they get level DEAD, the others level 1.

    Parameters
    ----------
    problem : Problem
    level : int32 (n,)
    scratch : Worth
        ``n_payers`` becomes the number of nodes left that meet each acquisition.
    part : Part
    lam : Lambda
    least : int
        0 drops what is in no minimum cut; 1 also what is not in the smallest.

    Returns
    -------
    int
        Number of nodes left.
    """
    parent, first_child, next_sibling = problem.parent, problem.first_child, problem.next_sibling
    indices, row_start, row_end = problem.indices, problem.row_start, problem.row_end
    worth, n_payers, payer_code = scratch.subtree, scratch.n_payers, scratch.payer_code
    nodes = part.nodes
    _initial_worth(problem, scratch, part, lam)
    doomed, stack = np.empty(nodes.size, np.int32), np.empty(nodes.size, np.int32)
    n_doomed, n_left = 0, nodes.size
    for i in range(nodes.size):
        level[nodes[i]] = 1
        if worth[nodes[i]] < least:
            doomed[n_doomed] = nodes[i]
            n_doomed += 1
    while n_doomed > 0:
        n_doomed -= 1
        if level[doomed[n_doomed]] == DEAD:
            continue
        stack[0] = doomed[n_doomed]
        level[stack[0]] = DEAD
        depth = 1
        while depth > 0:
            depth -= 1
            h = stack[depth]
            n_left -= 1
            child = first_child[h]
            while child >= 0:
                if parent[child] == h and level[child] != DEAD:
                    level[child] = DEAD
                    stack[depth] = child
                    depth += 1
                child = next_sibling[child]
            for x in range(row_start[h], row_end[h]):
                j = indices[x]
                n_payers[j] -= 1
                payer_code[j] ^= h
                if n_payers[j] == 1:
                    price = lam.p * problem.cost[j]
                    n_doomed = _charge(parent, level, worth, payer_code[j], price, least, doomed, n_doomed)
    return n_left


@inlined
def _charge(
    parent: Array, level: Array, worth: Array, h: int, price: int, least: int, doomed: Array, n_doomed: int
) -> int:
    """Take a price off what a subtree and those above it are worth; note those that fall below `least`."""
    while h >= 0 and level[h] != DEAD and price > 0:
        before = worth[h]
        worth[h] = before - price
        if before >= least and worth[h] < least:
            doomed[n_doomed] = h
            n_doomed += 1
        price = max(before, 0) - max(worth[h], 0)
        h = parent[h]
    return n_doomed


@inner_njit
def set_aside(problem: Problem, flow: Flow, level: Array, n_payers: Array, nodes: Array, flow_scale: float) -> None:
    """Scale the flow of the nodes that were dropped, without what they pay for others or hand to them."""
    triple, up, indices = flow.triple, flow.up, problem.indices
    for i in range(nodes.size):
        h = nodes[i]
        if level[h] == DEAD:
            above = problem.parent[h]
            stays = above >= 0 and level[above] == DEAD
            up[h] = np.int64(up[h] * flow_scale) if stays else 0
            for x in range(problem.row_start[h], problem.row_end[h]):
                if triple[x] > 0:
                    triple[x] = np.int64(triple[x] * flow_scale) if n_payers[indices[x]] == 0 else 0
