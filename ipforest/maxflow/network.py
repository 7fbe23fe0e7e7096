"""A closure problem as arrays, the flow in it, and the trees that carry the flow while it is sought."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, aligned_empty
from ipforest._internal.kernels import with_fields
from ipforest.maxflow.bit_rows import BitRows

KEPT = 2**30
"""Label of the vertices on the source side of the minimum cut."""


class Lambda(NamedTuple):
    """Lambda as p / q in integer units of gain over integer units of cost.

    At this lambda flow is counted in units of 1 / q of a unit of gain: capacities are q gain_h and p cost_j.
    """

    p: int
    q: int


class Members(NamedTuple):
    """The nodes and the acquisitions that a subproblem owns, each ascending: views of two permutations, int32."""

    nodes: Array
    acquisitions: Array


class ClosureProblem(NamedTuple):
    """A closure problem with n nodes and m acquisitions.

    Written between cuts only: by `split` and `settle_ends` (`ipforest.maxflow.splitting`), and where a subproblem moves
    back (`ipforest.maxflow.subproblems`).

    Attributes
    ----------
    parent : int32 (n,)
        -1 at roots and where the parent is in another subproblem.
    rows : BitRows
        What the nodes meet; `split` shortens rows, and moves what is left of one to its front.
    gain, split_cost : int64 (n,)
    cost : int64 (m,)
    """

    parent: Array
    rows: BitRows
    gain: Array
    split_cost: Array
    cost: Array


class Flow(NamedTuple):
    """A maximum flow on the arcs of nodes, of those that were in no cut as long as the search goes on.

    Attributes
    ----------
    up : int64 (n,)
        Flow to the parent.
    excess : int64 (n,)
        What the arc from the source does not carry.
    own_room : int64 (n,)
        What the node's own arcs to the sink can still take.
    """

    up: Array
    excess: Array
    own_room: Array


class Payments(NamedTuple):
    """What nodes pay for acquisitions, by ascending nodes, each pair once: int32, int32 and int64, of one length."""

    node: Array
    acquisition: Array
    amount: Array


VERTEX = np.dtype(
    [
        ("above", np.int32),
        ("first_child", np.int32),
        ("next_child", np.int32),
        ("previous_child", np.int32),
        ("scan", np.int32),
        ("next_root", np.int32),
        ("flow", np.int64),
    ]
)
"""A vertex of `ResidualTrees`; for the numbers of other vertices, -1 stands for none.

``above`` is the vertex above it in its tree, and ``flow`` what goes between the two on the arc of the problem that
joins them, whichever way it leads. ``first_child``, ``next_child`` and ``previous_child`` list what hangs below while a
cut is under way, and ``scan`` is the child that a search looks at next. ``next_root`` lists roots of the same label,
and at the end of a cut vertices that have yet to return an imbalance.
"""


def new_vertices(size: int) -> Array:
    """Allocate vertices, no field of which is written."""
    return with_fields(aligned_empty(size, VERTEX))


class ResidualTrees(NamedTuple):
    """Rooted trees over nodes and acquisitions, which carry all flow; every cut starts from it, rescaled.

    Vertex h is node h, vertex n + j is acquisition j. See `ipforest.maxflow.pseudoflow`.

    Attributes
    ----------
    vertices : VERTEX (n + m,)
        What is needed of a vertex at the same time lies side by side, in half a line of the cache.
    imbalance : int64 (n + m,)
        What arrives less what leaves, at the lambda of the last cut.
    labels : int32 (n + m,)
        In a cut a lower bound of the arcs to a weak tree; after it `KEPT` on the source side, 0 elsewhere.
    guide : int32 (m,)
        Scratch of a cut: the vertex whose label counts for an acquisition, itself or the node above it.
    next_entry : int64 (n,)
        Which entry of a node's row a search looks at next.
    """

    vertices: Array
    imbalance: Array
    labels: Array
    guide: Array
    next_entry: Array


STOP, MERGERS = 0, 1
"""Places of `Network.signals`."""


class Network(NamedTuple):
    """All arrays, which subproblems share.

    Each owns some nodes and acquisitions, and the thread that works on it writes only the entries of these.
    ``signals``, int64 (2,), is for all threads: not 0 at `STOP` ends all cuts after their merger, and at `MERGERS`
    mergers are counted.
    """

    problem: ClosureProblem
    flow: Flow
    trees: ResidualTrees
    signals: Array

    @property
    def whole(self) -> Members:
        """All nodes and acquisitions."""
        n, m = self.problem.gain.size, self.problem.cost.size
        return Members(np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32))


def build_network(parent: Array, gain: Array, split_cost: Array, rows: BitRows, cost: Array) -> Network:
    """Allocate a network without flow; it takes over the rows."""
    n, m = gain.size, cost.size

    def zeros(size: int) -> Array:
        return np.zeros(size, dtype=np.int64)

    vertices = new_vertices(n + m)
    vertices.view(np.int64)[:] = -1  # as records they would be written a field at a time
    vertices["flow"] = 0
    problem = ClosureProblem(
        parent=parent.astype(np.int32),
        rows=rows,
        gain=gain.astype(np.int64),
        split_cost=split_cost.astype(np.int64),
        cost=cost.astype(np.int64),
    )
    return Network(
        problem,
        Flow(zeros(n), zeros(n), zeros(n)),
        ResidualTrees(vertices, zeros(n + m), np.zeros(n + m, dtype=np.int32), np.zeros(m, dtype=np.int32), zeros(n)),
        signals=zeros(2),
    )
