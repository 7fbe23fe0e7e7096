"""PathFlow: one integer flow that proves every breakpoint of a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ipforest._internal.arrays import Int32Array, IntArray, checked_array, checked_integer
from ipforest.maxflow.network import Lambda
from ipforest.results import DualFlow, check_flow_arrays

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PathFlow:
    r"""One integer flow that proves every breakpoint of a path (a balanced flow).

    Node h belongs to piece ``node_breakpoint[h]`` of its path: b for the b-th breakpoint, -1 for nodes that are kept
    for no lambda > 0, k for nodes that are never dropped. An acquisition belongs to the largest piece among the nodes
    that meet it. Flow in piece b is counted in units of ``error_unit / q[b]``; the arcs are those of `DualFlow`.

    **How to check it, in linear time and integers.** Let P_b / Q_b = ``p[b] / q[b]`` for a breakpoint, 0 / 1 for piece
    -1, and let piece k have scale 1. The path is proved when

    1. lambdas: ``breakpoints[b] == p[b] / q[b] * error_unit / cost_unit``, strictly ascending in b, p, q > 0;
    2. order: ``node_breakpoint[h] <= node_breakpoint[parent(h)]``; acquisitions of cost > 0 that are met in piece k do
       not exist, nor do nodes of split cost > 0 in it;
    3. flow stays in its piece: ``triple[i] > 0`` only if node and acquisition are of the same piece b in 0..k-1,
       ``up[h] > 0`` only if h and its parent are of the same piece; all flow >= 0;
    4. conservation at every node: source + ups of its children = triples + up + split + fixed sink;
    5. in a piece b of 0..k-1 everything is saturated: source arcs carry q[b] gain_h, fixed sinks q[b] (-gain_h), split
       arcs p[b] split_cost_h, and the flow into each acquisition is p[b] cost_j;
    6. in piece -1 source arcs are saturated, fixed sinks carry at most -gain_h; in piece k fixed sinks are saturated,
       source arcs carry at most gain_h; no other arcs of these pieces carry flow.

    Why this suffices: split the flow of piece b into paths from a source to a sink. At lambda >= lambda_b the flow
    itself is feasible and absorbs all gains of the piece; at lambda < lambda_b the paths that end in acquisitions and
    split arcs, times lambda / lambda_b, fill all sinks of the piece. Over all pieces this is a flow whose value equals
    the cut that keeps exactly the pieces with lambda_b > lambda, so that pruning is optimal.

    Parameters
    ----------
    p, q : tuple of int, length k
        Lambda of the breakpoints in integer units.
    node_breakpoint : ndarray of int32, shape (n_internal,)
    used, triple : ndarray of int64, shape (n_used,)
    up, gain, split : ndarray of int64, shape (n_internal,)
    """

    p: tuple[int, ...]
    q: tuple[int, ...]
    node_breakpoint: Int32Array
    used: IntArray
    triple: IntArray
    up: IntArray
    gain: IntArray
    split: IntArray

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            object.__setattr__(self, name, tuple(checked_integer(value, name) for value in getattr(self, name)))
        n_internal = np.asarray(self.node_breakpoint).size
        object.__setattr__(
            self, "node_breakpoint", checked_array(self.node_breakpoint, "node_breakpoint", np.int32, (n_internal,))
        )
        check_flow_arrays(self, n_internal)

    def at(self, instance: PruningInstance, lam: Lambda) -> DualFlow:
        """Return the flow in the units of one lambda, rounded; it is nearly maximum, but need not be feasible."""
        scale = lam.q / np.array([*self.q, 1, 1])[self.node_breakpoint]
        triple = (self.triple * scale[instance.node_of_triples(self.used)]).astype(np.int64)
        at_nodes = ((flow * scale).astype(np.int64) for flow in (self.up, self.gain, self.split))
        return DualFlow(*lam, self.used, triple, *at_nodes)
