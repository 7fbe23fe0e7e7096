"""Flows between an instance and its reduced problem: from the trees of the last cuts to the arcs, and back again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ipforest._internal.arrays import Array
from ipforest._internal.kernels import njit, run_in_slices
from ipforest.maxflow.bit_rows import Rows, rows_of
from ipforest.maxflow.network import ClosureProblem, Flow, Network, Payments, ResidualTrees
from ipforest.maxflow.presolve import FREE, ReducedProblem

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.results import DualFlow


class Capacities(NamedTuple):
    """What flows are measured against.

    Attributes
    ----------
    p, q : int64 (n,)
        Lambda of each reduced node's flow, p / q; q is the scale of its gain.
    price : int64 (m,)
        Capacity of each reduced acquisition over its cost.
    """

    p: Array
    q: Array
    price: Array


class Shares(NamedTuple):
    """How the cost of a reduced acquisition is divided among the nodes that pay for it.

    What its members cost is laid out one after another, and so is what its payers pay: first the node above it, then
    those below. A triple carries what its node pays of its member: where the two intervals meet.

    Attributes
    ----------
    group : int32 (n_acquisitions,)
        Reduced acquisition of each member, `FREE` for cost zero.
    cost, begin : int64 (n_acquisitions,)
        Where the interval of each member begins; it is as long as its cost times the price of its group.
    price : int64 (m,)
    payer : int32 (m,)
        The node above each reduced acquisition.
    paid_from : int64 (n,)
        Where the interval of each node begins that is below an acquisition.
    """

    group: Array
    cost: Array
    begin: Array
    price: Array
    payer: Array
    paid_from: Array


class NodeFlow(NamedTuple):
    """What reduced nodes send, int64 (n_reduced_nodes,) each.

    The scale of their gains, what the source arc does not carry, flow on the fixed sink arc, flow to the parent.
    """

    q: Array
    unused: Array
    sunk: Array
    up: Array


class ArcFlow(NamedTuple):
    """The flow on the arcs of an instance, as in `DualFlow`: int64 (n_used,) twice, then (n_internal,) each."""

    used: Array
    triple: Array
    up: Array
    gain: Array
    split: Array


def restore_flow(
    instance: PruningInstance, reduced: ReducedProblem, network: Network, nodes: Array, capacities: Capacities
) -> ArcFlow:
    """Carry the flow in the trees of a reduced problem to the arcs of the instance, on all cores.

    Parameters
    ----------
    instance : PruningInstance
    reduced : ReducedProblem
    network : Network
        Its flow on the arcs of `nodes` is overwritten.
    nodes : ndarray of int32
        The nodes that were in a cut.
    capacities : Capacities
    """
    trees, flow, (p, q, price) = network.trees, network.flow, capacities
    _write_node_flow(network.problem, trees, flow, nodes)
    own_flow = p * reduced.split_cost + q * np.maximum(-reduced.gain, 0) - flow.own_room
    split_flow = np.minimum(own_flow, p * reduced.split_cost)
    split, gain, up = (np.zeros(instance.n_internal, dtype=np.int64) for _ in range(3))
    split[reduced.first] = split_flow
    sent = NodeFlow(q, flow.excess, own_flow - split_flow, flow.up)
    _unmerge(instance.parent, instance.gain, reduced.node, reduced.first, sent, gain, up)
    shares = Shares(*_share(trees, reduced.acquisition, instance.acquisition_cost, price))
    rows, most = rows_of(instance), min(instance.n_triples, instance.n_acquisitions + reduced.first.size)

    def pay(some: slice) -> tuple[Array, Array]:
        used, triple = np.empty((2, most), dtype=np.int64)
        n_used = _pay_rows(rows, reduced.first, some.start, some.stop, trees, shares, used, triple)
        return used[:n_used], triple[:n_used]

    paid = run_in_slices(pay, reduced.first.size, instance.n_triples)
    used, triple = (np.concatenate(parts) for parts in zip(*paid, strict=True))
    return ArcFlow(used, triple, up, gain, split)


@njit
def _write_node_flow(problem: ClosureProblem, trees: ResidualTrees, flow: Flow, nodes: Array) -> None:
    parent, vertices, imbalance = problem.parent, trees.vertices, trees.imbalance
    up, excess, own_room = flow
    for i in range(nodes.size):
        h = nodes[i]
        above = parent[h]
        up[h] = 0
        if above >= 0 and vertices[h].above == above:
            up[h] = vertices[h].flow
        elif above >= 0 and vertices[above].above == h:
            up[h] = vertices[above].flow
        excess[h] = max(imbalance[h], 0)
        own_room[h] = max(-imbalance[h], 0)


@njit
def _share(
    trees: ResidualTrees, group: Array, cost: Array, price: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    vertices, n = trees.vertices, trees.next_entry.size
    begin, paid_from = np.empty(group.size, np.int64), np.zeros(n, np.int64)
    payer, laid_out = np.empty(price.size, np.int32), np.zeros(price.size, np.int64)
    for j in range(group.size):
        g = group[j]
        if g != FREE:
            begin[j] = laid_out[g]
            laid_out[g] += cost[j] * price[g]
    for g in range(price.size):
        payer[g] = vertices[n + g].above
        laid_out[g] = vertices[n + g].flow
    for r in range(n):
        g = vertices[r].above - n
        if g >= 0:
            paid_from[r] = laid_out[g]
            laid_out[g] += vertices[r].flow
    return group, cost, begin, price, payer, paid_from


@njit
def _pay_rows(
    rows: Rows, first: Array, start: int, stop: int, trees: ResidualTrees, shares: Shares, used: Array, triple: Array
) -> int:
    """Write the triples of some rows that carry flow, and their flow; return their number.

    Intervals of members and of payers meet in fewer pairs than there are members and payers: no more triples are used
    than there are acquisitions and reduced nodes.
    """
    indptr, indices = rows
    vertices, n = trees.vertices, first.size
    group, cost, begin, price, payer, paid_from = shares
    n_used = 0
    for r in range(start, stop):
        target = vertices[r].above - n
        for x in range(indptr[first[r]], indptr[first[r] + 1]):
            j = indices[x]
            g = group[j]
            if g == FREE or (payer[g] != r and g != target):
                continue
            paid = paid_from[r] if g == target else 0
            amount = min(paid + vertices[r if g == target else n + g].flow, begin[j] + cost[j] * price[g])
            amount -= max(paid, begin[j])
            if amount > 0:
                used[n_used], triple[n_used] = x, amount
                n_used += 1
    return n_used


@njit
def _unmerge(
    parent: Array, gain: Array, node: Array, first: Array, flow: NodeFlow, gain_flow: Array, up_flow: Array
) -> None:
    q, up = flow.q, flow.up
    unused, absorbed = flow.unused.copy(), flow.sunk.copy()
    for h in range(gain.size):
        r = node[h]
        if r >= 0 and gain[h] > 0 and gain[first[r]] < 0:
            absorbed[r] += q[r] * gain[h]
    for h in range(gain.size - 1, -1, -1):
        r = node[h]
        if r < 0:
            up_flow[h] = 0
            continue
        if gain[h] > 0:
            held_back = min(unused[r], q[r] * gain[h])
            unused[r] -= held_back
            gain_flow[h] = q[r] * gain[h] - held_back
        elif gain[h] < 0:
            gain_flow[h] = min(absorbed[r], -q[r] * gain[h])
        up_flow[h] = up[r] if first[r] == h else up_flow[h] + gain_flow[h]
        if parent[h] >= 0:
            up_flow[parent[h]] += up_flow[h]


def reduce_flow(instance: PruningInstance, reduced: ReducedProblem, flow: DualFlow) -> tuple[Payments, Array]:
    """Carry a flow on the arcs of the instance over to the reduced problem: payments and flow to parents."""
    group = reduced.acquisition[instance.indices[flow.used]].astype(np.int64)
    costly = group != FREE
    pair = reduced.node[instance.node_of_triples(flow.used[costly])] * np.int64(reduced.cost.size) + group[costly]
    pairs, place = np.unique(pair, return_inverse=True)
    amount = np.zeros(pairs.size, dtype=np.int64)
    np.add.at(amount, place, flow.triple[costly])
    node, acquisition = (part.astype(np.int32) for part in np.divmod(pairs, max(reduced.cost.size, 1)))
    return Payments(node, acquisition, amount), flow.up[reduced.first]
