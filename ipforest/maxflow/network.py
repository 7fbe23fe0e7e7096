"""A closure problem as arrays, the flow in it, and the scratch of the kernels that find it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, njit

DEAD = -(2**30)
"""Level of nodes from which no acquisition can be reached that could still be paid."""
KEPT = 2**30
"""Level of nodes on the source side of the minimum cut."""


class Tuning(NamedTuple):
    """Constants of the kernels: they change how long a solve takes, never its answer.

    Attributes
    ----------
    small : int
        Subproblems of at most so many triples are split to the end in one call.
    large : int
        Subproblems of more triples may be split by a cut that is only nearly minimal.
    tolerance : float
        A cut is nearly minimal when at most this share of the excess can still be paid ...
    first_near, near_every : int
        ... which is looked at in this round first, and then every so many rounds.
    little, first_blocking : int
        In larger subproblems, excess below the supply over this is sent by blocking flows, from this round on.
    dust : int
        In small ones, excess below the supply over this is routed along a spanning forest ...
    first_forest : int
        ... in this round at the earliest, and then when the number of rounds has doubled.
    forest_classes, class_ratio : int
        Arcs join the forest in so many classes of flow, each so many times smaller than the one before.
    plenty_of_room : int
        Room over supply from which on persistency is not tried before a single cut.
    """

    small: int = 200_000
    large: int = 2_500_000
    tolerance: float = 0.25
    first_near: int = 3
    near_every: int = 2
    little: int = 2**11
    first_blocking: int = 2
    dust: int = 2**16
    first_forest: int = 2
    forest_classes: int = 3
    class_ratio: int = 64
    plenty_of_room: int = 2


TUNING = Tuning()


class Lambda(NamedTuple):
    """Lambda as p / q in integer units of gain over integer units of cost.

    At this lambda flow is counted in units of 1 / q of a unit of gain: capacities are q gain_h and p cost_j.
    """

    p: int
    q: int


class Part(NamedTuple):
    """The nodes and the acquisitions of a subproblem, parents before children: views of two permutations, int32."""

    nodes: Array
    acquisitions: Array


class Problem(NamedTuple):
    """A closure problem with n nodes and m acquisitions.

    Only `split`, `rejoin` and `settle_ends` (`ipforest.maxflow.subproblems`) write here, between cuts.

    Attributes
    ----------
    parent : int32 (n,)
        -1 at roots and where the parent is in another subproblem.
    first_child, next_sibling : int32 (n,)
        Of the whole forest; a child counts while its ``parent`` is the node.
    row_start, row_end : int64 (n,)
        The live triples of node h are ``row_start[h]:row_end[h]``. `split` shortens rows, `rejoin` lengthens them.
    indices : int32 (n_triples,)
        Acquisition of each triple. `split` moves the live triples of a row to its front.
    gain, split_cost : int64 (n,)
    cost : int64 (m,)
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


class Flow(NamedTuple):
    """Flow and what is left of capacities, at the lambda of the last cut; every cut starts from it, rescaled.

    Attributes
    ----------
    triple : int64 (n_triples,)
        Flow from node to acquisition.
    up : int64 (n,)
        Flow to the parent.
    excess : int64 (n,)
        Flow that waits at a node during a cut; after it, what the arc from the source does not carry.
    own_room : int64 (n,)
        What the node's own arcs to the sink can still take.
    room : int64 (m,)
        What an acquisition can still take.
    inflow : int64 (m,)
        Scratch of `load_start`: the flow that an acquisition gets.
    """

    triple: Array
    up: Array
    excess: Array
    own_room: Array
    room: Array
    inflow: Array


class Labels(NamedTuple):
    """Where nodes and acquisitions stand; persistency and every cut write anew.

    Attributes
    ----------
    level : int32 (n,)
        1 or `DEAD` after persistency; in the waves the distance label, `DEAD` without one; `KEPT` after the cut.
    label : uint8 or int32 (m,)
        Distance label in the waves; after the cut 1 for the acquisitions of kept nodes.
    max_label : int
        Stands for no label; labels are smaller.
    available : int64 (m,)
        Scratch of the waves: what nodes of the acquisition's own label pay for it.
    overload : int64 (m,)
        Scratch of the waves: what an acquisition took too much in this sweep; 0 between sweeps.
    """

    level: Array
    label: Array
    max_label: int
    available: Array
    overload: Array


class Worth(NamedTuple):
    """Scratch of persistency.

    Attributes
    ----------
    subtree : int64 (n,)
        What a subtree earns beyond what only it buys.
    n_payers : int32 (m,)
        How many of the nodes left meet an acquisition; read once more when a cut starts.
    payer_code : int32 (m,)
        The exclusive or of their numbers.
    """

    subtree: Array
    n_payers: Array
    payer_code: Array


class Search(NamedTuple):
    """Scratch of `ipforest.maxflow.blocking_flow`.

    Attributes
    ----------
    payers_start, payers_end : int64 (m,)
        Where the payers of an acquisition are listed.
    payer : int64 (m,)
        Which of them is tried next.
    triple : int64 (n,)
        Which triple of a node is tried next.
    child : int32 (n,)
        Which child of a node is tried next, once its parent was.
    """

    payers_start: Array
    payers_end: Array
    payer: Array
    triple: Array
    child: Array


class SpanningForest(NamedTuple):
    """Scratch of `ipforest.maxflow.spanning_forest`.

    Attributes
    ----------
    owner : int32 (m,)
        The node that pays most for an acquisition.
    owner_triple : int64 (m,)
        The triple by which it does.
    tree : int32 (n,)
        A node of the same tree (union-find).
    place : int32 (n,)
        The place of a node in its subproblem.
    """

    owner: Array
    owner_triple: Array
    tree: Array
    place: Array


STOP, ROUNDS = 0, 1
"""Places of `Network.signals`."""


class Network(NamedTuple):
    """All arrays, which subproblems share.

    Each owns some nodes and acquisitions, and whoever works on it writes only the entries of these. ``signals``, int64
    (2,), is for everyone: not 0 at `STOP` ends all waves after their round, and at `ROUNDS` rounds are counted.
    """

    problem: Problem
    flow: Flow
    labels: Labels
    worth: Worth
    search: Search
    forest: SpanningForest
    signals: Array

    def with_wide_labels(self) -> Network:
        """Return the network with labels for augmenting paths of any length."""
        wide = np.zeros(self.problem.cost.size, dtype=np.int32)
        return self._replace(labels=self.labels._replace(label=wide, max_label=2**29))

    def search_if_large(self, tuning: Tuning) -> Search | None:
        """Return the scratch of blocking flows, or None if all subproblems are small.

        Kernels are compiled for one or the other, so that who has small instances need not wait for what only large
        subproblems use.
        """
        return self.search if self.problem.indices.size > tuning.small else None

    @property
    def whole(self) -> Part:
        """All nodes and acquisitions."""
        n, m = self.problem.gain.size, self.problem.cost.size
        return Part(np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32))


def build_network(parent: Array, gain: Array, split_cost: Array, indptr: Array, indices: Array, cost: Array) -> Network:
    """Allocate a network without flow, with narrow labels."""
    n, m = gain.size, cost.size

    def zeros(size: int, dtype: type[np.integer[Any]] = np.int64) -> Array:
        return np.zeros(size, dtype=dtype)

    problem = Problem(
        parent=parent.astype(np.int32),
        first_child=np.full(n, -1, dtype=np.int32),
        next_sibling=np.full(n, -1, dtype=np.int32),
        row_start=indptr[:-1].astype(np.int64),
        row_end=indptr[1:].astype(np.int64),
        indices=indices.astype(np.int32),
        gain=gain.astype(np.int64),
        split_cost=split_cost.astype(np.int64),
        cost=cost.astype(np.int64),
    )
    _list_children(problem.parent, problem.first_child, problem.next_sibling)
    return Network(
        problem,
        Flow(zeros(indices.size), zeros(n), zeros(n), zeros(n), zeros(m), zeros(m)),
        Labels(zeros(n, np.int32), zeros(m, np.uint8), 250, zeros(m), zeros(m)),
        Worth(zeros(n), zeros(m, np.int32), zeros(m, np.int32)),
        Search(zeros(m), zeros(m), zeros(m), zeros(n), zeros(n, np.int32)),
        SpanningForest(zeros(m, np.int32), zeros(m), zeros(n, np.int32), zeros(n, np.int32)),
        signals=zeros(2),
    )


@njit
def _list_children(parent: Array, first_child: Array, next_sibling: Array) -> None:
    for node in range(parent.size - 1, -1, -1):
        above = parent[node]
        if above >= 0:
            next_sibling[node] = first_child[above]
            first_child[above] = node


@inlined
def nodes_of_level(levels: Array, nodes: Array, level: int) -> Array:
    """Select the nodes of a level."""
    chosen, n_chosen = np.empty(nodes.size, np.int32), 0
    for i in range(nodes.size):
        if levels[nodes[i]] == level:
            chosen[n_chosen] = nodes[i]
            n_chosen += 1
    return chosen[:n_chosen]
