"""The arrays of a closure problem and of the flow in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ipforest._numba import njit

Array = npt.NDArray[Any]

DEAD = -(2**30)
"""Level of nodes from which no acquisition can be reached that could still be paid."""
KEPT = 2**30
"""Level of nodes on the source side of the minimum cut."""


class Network(NamedTuple):
    """The arrays of a closure problem, split into disjoint subproblems, and of the flow in it.

    A subproblem is a set of nodes and a set of acquisitions. The live triples of node h are
    ``row_start[h]:row_end[h]`` of ``indices``.

    Attributes
    ----------
    parent, first_child, next_sibling : int32 (n,)
        ``parent`` becomes -1 when the parent moves to another subproblem.
    row_start, row_end : int64 (n,)
    indices : int32 (n_triples,)
    gain, split_cost : int64 (n,)
    cost : int64 (m,)
    level : int32 (n,)
    flow : int64 (n_triples,)
    up, excess, own_room : int64 (n,)
        Flow to the parent, flow that waits, what the node's own sink arcs can still take.
    room, available, overload : int64 (m,)
        What an acquisition can still take; what nodes of its label pay for it; what it took too much.
    owner : int32 (m,)
    root : int32 (n,)
        Work space of `ipforest.maxflow.spanning_forest`.
    """

    parent: Array
    first_child: Array
    next_sibling: Array
    row_start: Array
    row_end: Array
    indices: Array
    gain: Array
    split_cost: Array
    cost: Array
    level: Array
    flow: Array
    up: Array
    excess: Array
    own_room: Array
    room: Array
    available: Array
    overload: Array
    owner: Array
    root: Array


@njit
def _children_lists(parent: Array, first_child: Array, next_sibling: Array) -> None:
    for node in range(parent.size - 1, -1, -1):
        above = parent[node]
        if above >= 0:
            next_sibling[node] = first_child[above]
            first_child[above] = node


def build_network(parent: Array, gain: Array, split_cost: Array, indptr: Array, indices: Array, cost: Array) -> Network:
    """Allocate a network without flow."""
    n, m = parent.size, cost.size
    first_child = np.full(n, -1, dtype=np.int32)
    next_sibling = np.full(n, -1, dtype=np.int32)
    _children_lists(parent, first_child, next_sibling)
    return Network(
        parent=parent.astype(np.int32),
        first_child=first_child,
        next_sibling=next_sibling,
        row_start=indptr[:-1].astype(np.int64),
        row_end=indptr[1:].astype(np.int64),
        indices=indices.astype(np.int32),
        gain=gain.astype(np.int64),
        split_cost=split_cost.astype(np.int64),
        cost=cost.astype(np.int64),
        level=np.zeros(n, dtype=np.int32),
        flow=np.zeros(indices.size, dtype=np.int64),
        up=np.zeros(n, dtype=np.int64),
        excess=np.zeros(n, dtype=np.int64),
        own_room=np.zeros(n, dtype=np.int64),
        room=np.zeros(m, dtype=np.int64),
        available=np.zeros(m, dtype=np.int64),
        overload=np.zeros(m, dtype=np.int64),
        owner=np.zeros(m, dtype=np.int32),
        root=np.zeros(n, dtype=np.int32),
    )
