"""Does one flow prove a path? What `PathFlow` states, checked in linear time before a path is given out.

A search that was interrupted, or read from a file, went through states that no test has seen. The checker that is
independent of this package, with numbers that cannot overflow, is `proofs.certificates.path_optimality`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.maxflow.path_flow import PathFlow


def balance_fault(instance: PruningInstance, flow: PathFlow) -> str | None:
    """Name the first condition of `PathFlow` that does not hold, in the order given there; None if all hold.

    Parameters
    ----------
    instance : PruningInstance
    flow : PathFlow
        Its lambdas are those of the pieces, and fit 64 bits times their gains and costs.
    """
    k, piece, gain, parent = len(flow.p), flow.node_breakpoint, instance.gain, instance.parent
    p, q = (np.array(numbers, dtype=np.int64) for numbers in ([*flow.p, 0, 0], [*flow.q, 1, 1]))
    owner = np.full(instance.n_acquisitions, -1, dtype=np.int32)
    np.maximum.at(owner, instance.indices, np.repeat(piece, np.diff(instance.indptr)))
    payer, paid = instance.node_of_triples(flow.used), instance.indices[flow.used]
    child, always = parent >= 0, piece == k
    if np.any(child & (piece > piece[parent])):
        return "a node is kept longer than its parent"
    if instance.split_cost[always].any() or instance.acquisition_cost[owner == k].any():
        return "a node that costs something is never dropped"
    if min(arc.min(initial=0) for arc in (flow.triple, flow.up, flow.gain, flow.split)) < 0:
        return "flow is negative"
    if np.any((flow.up > 0) & ~(child & (piece == piece[parent]))) or np.any(owner[paid] != piece[payer]):
        return "flow leaves its piece"
    left = np.where(gain > 0, flow.gain, -flow.gain) - flow.split - flow.up
    np.add.at(left, parent[child], flow.up[child])
    np.subtract.at(left, payer, flow.triple)
    if left.any():
        return "flow is lost at a node"
    partly = np.where(gain > 0, always, piece < 0)
    full = q[piece] * np.abs(gain)
    inflow = np.zeros(instance.n_acquisitions, dtype=np.int64)
    np.add.at(inflow, paid, flow.triple)
    if (
        np.any(np.where(partly, flow.gain > full, flow.gain != full))
        or np.any(flow.split != p[piece] * instance.split_cost)
        or np.any(inflow != p[owner] * instance.acquisition_cost)
    ):
        return "an arc from the source or into the sink does not carry what its piece demands"
    return None
