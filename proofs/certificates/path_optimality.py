r"""Is a whole path of prunings optimal, at every lambda? A checker in linear time, by integers.

The nodes come in pieces -1, 0, ..., k: piece b in 0..k-1 is dropped at the breakpoint with :math:`\mu_b = p_b / q_b`
in integer units, piece -1 is kept for no lambda > 0, piece k is always kept. An acquisition belongs to the largest
piece of the nodes that meet it. One flow, the `ipforest.maxflow.path_flow.PathFlow`, stays within the pieces; in piece
b it is counted in units of 1/q_b and saturates every arc from the source and into the sink as it is at :math:`\mu_b`.

Why that proves every pruning S(lambda), the union of the pieces with :math:`\mu_b > \lambda`, optimal. Node pieces do
not rise from parent to child, so S(lambda) is closed. Take the flow of each piece apart into paths from source to
sink; there are no cycles. In pieces with :math:`\mu_b \le \lambda` send it as it is: capacities :math:`\lambda c \ge
\mu_b c` hold, and the source arcs are saturated. In pieces with :math:`\mu_b > \lambda` shrink the paths that end in
acquisitions and split arcs by :math:`\lambda / \mu_b`: the source arcs hold, and all arcs into the sink are
saturated. No flow crosses from one piece into another. So this is a flow that fills the cut around S(lambda) exactly,
and both are optimal.

The path's breakpoints are exactly the kinks of the optimal value: costs fall strictly from one pruning to the next. Not
checked is which of several equally good prunings was taken: a node that gains and costs nothing may be in either piece.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.exact_arrays import array_fault, fraction_fault, integer_fault, scaled_by_group, sum_at, total
from proofs.certificates.instance import InternalNodes, instance_fault
from proofs.certificates.optimality import conservation_fault, sign_fault, used_rows
from proofs.verdict import Verdict, accept, refuse

if TYPE_CHECKING:
    from proofs.certificates.records import AnyPath, Instance, PathFlow


def verify_path(instance: Instance, path: AnyPath) -> Verdict:
    """Verify that every pruning of a path is optimal on its interval, and every number the path states.

    Parameters
    ----------
    instance : PruningInstance
        The data; only its stored arrays are used.
    path : PruningPath
        A whole one, with its flow.

    Returns
    -------
    Verdict
        Accepted, or refused with the first thing found wrong.
    """
    flow = path.flow
    if flow is None:
        return refuse("the path carries no flow to prove it; a coarse path has none")
    fault = instance_fault(instance)
    if fault:
        return refuse(f"instance: {fault}")
    nodes = InternalNodes(instance)
    fault = _breakpoint_fault(instance, path, flow) or _piece_fault(nodes, flow.node_breakpoint, len(flow.p))
    if fault:
        return refuse(fault)
    if not np.array_equal(flow.node_breakpoint, path.node_breakpoint):
        return refuse("the path and its flow put nodes into different pieces")
    piece = flow.node_breakpoint
    owner = np.full(instance.acquisition_cost.size, -1, dtype=np.int32)
    np.maximum.at(owner, instance.indices, np.repeat(piece, np.diff(instance.indptr)))
    fault = (
        sign_fault(nodes, instance, flow)
        or _crossing_fault(nodes, instance, flow, piece, owner)
        or conservation_fault(nodes, instance, flow)
        or _saturation_fault(nodes, instance, flow, piece, owner)
        or _curve_fault(nodes, instance, path, piece, owner)
    )
    if fault:
        return refuse(fault)
    return accept(
        f"{len(flow.p)} breakpoints, every pruning between them optimal: one flow over {instance.indices.size} triples"
    )


def _breakpoint_fault(instance: Instance, path: AnyPath, flow: PathFlow) -> str | None:
    if not len(path.breakpoints) == len(flow.p) == len(flow.q):
        return f"{len(path.breakpoints)} breakpoints, but {len(flow.p)} and {len(flow.q)} integer forms"
    fault = (
        fraction_fault({f"breakpoint {number}": stated for number, stated in enumerate(path.breakpoints)})
        or integer_fault({f"p[{number}]": p for number, p in enumerate(flow.p)})
        or integer_fault({f"q[{number}]": q for number, q in enumerate(flow.q)})
    )
    if fault:
        return fault
    for number, (stated, p, q) in enumerate(zip(path.breakpoints, flow.p, flow.q, strict=True)):
        if p <= 0 or q <= 0:
            return f"breakpoint {number} has the integer form {p}/{q}, both must be positive"
        if stated != Fraction(p, q) * instance.error_unit / instance.cost_unit:
            return f"breakpoint {number} is {Fraction(p, q) * instance.error_unit / instance.cost_unit}, not {stated}"
    for number, (low, high) in enumerate(pairwise(path.breakpoints)):
        if low >= high:
            return f"breakpoint {number + 1} is not above the one before"
    return None


def _piece_fault(nodes: InternalNodes, node_breakpoint: NDArray[np.int32], k: int) -> str | None:
    fault = array_fault("node_breakpoint", node_breakpoint, np.int32, nodes.parent.size)
    if fault:
        return fault
    if ((node_breakpoint < -1) | (node_breakpoint > k)).any():
        return f"node_breakpoint: expected pieces from -1 to {k}, got other values"
    child = nodes.parent >= 0
    early = child & (node_breakpoint > node_breakpoint[nodes.parent])
    if early.any():
        return f"node {nodes.number[early][0]} is kept longer than its parent"
    return None


def _crossing_fault(
    nodes: InternalNodes, instance: Instance, flow: PathFlow, piece: NDArray[np.int32], owner: NDArray[np.int32]
) -> str | None:
    """Name an arc that carries flow out of its piece; return None if there is none."""
    crossing = (nodes.parent >= 0) & (flow.up > 0) & (piece != piece[nodes.parent])
    if crossing.any():
        return f"flow.up leaves the piece of node {nodes.number[crossing][0]}"
    payer = np.repeat(piece, np.diff(used_rows(instance, flow)))
    if ((flow.triple > 0) & (owner[instance.indices[flow.used]] != payer)).any():
        return "a triple carries flow out of its piece"
    return None


def _saturation_fault(
    nodes: InternalNodes, instance: Instance, flow: PathFlow, piece: NDArray[np.int32], owner: NDArray[np.int32]
) -> str | None:
    """Name an arc from the source or into the sink that is not as full as its piece demands.

    Into acquisitions and split arcs of pieces -1 and k no flow may go.
    """
    k = len(flow.p)
    always = piece == k
    if instance.split_cost[always].any() or instance.acquisition_cost[owner == k].any():
        return "a node that is never dropped has a cost"
    scale = [*flow.q, 1, 1]  # pieces 0..k-1, then k; -1 is the last entry
    full = scaled_by_group(np.abs(nodes.gain), scale, piece)
    partly = (piece < 0) & (nodes.gain < 0) | always & (nodes.gain > 0)
    wrong = (flow.gain != full) & ~partly | (flow.gain > full)
    if wrong.any():
        return f"the gain arc of node {nodes.number[wrong][0]} does not carry what its piece demands"
    prices = [*flow.p, 0, 0]
    wrong = flow.split != scaled_by_group(instance.split_cost, prices, piece)
    if wrong.any():
        return f"the split arc of node {nodes.number[wrong][0]} is not saturated at its breakpoint"
    inflow = sum_at(instance.indices[flow.used], flow.triple, owner.size)
    wrong = inflow != scaled_by_group(instance.acquisition_cost, prices, owner)
    if wrong.any():
        return f"acquisition {int(np.argmax(wrong))} is not saturated at its breakpoint"
    return None


def _curve_fault(
    nodes: InternalNodes, instance: Instance, path: AnyPath, piece: NDArray[np.int32], owner: NDArray[np.int32]
) -> str | None:
    """Recompute error and cost of every pruning of the path from the pieces' totals."""
    k = len(path.breakpoints)
    if not len(path.errors) == len(path.costs) == k + 1:
        return f"expected {k + 1} errors and costs, got {len(path.errors)} and {len(path.costs)}"
    fault = fraction_fault(
        {f"error {number} of the path": error for number, error in enumerate(path.errors)}
    ) or fraction_fault({f"cost {number} of the path": cost for number, cost in enumerate(path.costs)})
    if fault:
        return fault
    gains = _by_piece(piece, np.maximum(nodes.gain, 0), k), _by_piece(piece, np.maximum(-nodes.gain, 0), k)
    costs = _by_piece(owner, instance.acquisition_cost, k), _by_piece(piece, instance.split_cost, k)
    error = total(instance.errors[instance.tree_offsets[:-1]]) - gains[0][k] + gains[1][k]
    cost = costs[0][k] + costs[1][k]
    for number in range(k, -1, -1):
        if path.errors[number] != instance.error_unit * error:
            return f"error {number} of the path is {instance.error_unit * error}, not {path.errors[number]}"
        if path.costs[number] != instance.cost_unit * cost:
            return f"cost {number} of the path is {instance.cost_unit * cost}, not {path.costs[number]}"
        if number > 0:
            error += gains[1][number - 1] - gains[0][number - 1]
            if costs[0][number - 1] + costs[1][number - 1] <= 0:
                return f"breakpoint {number - 1} is none: nothing that costs is dropped there"
            cost += costs[0][number - 1] + costs[1][number - 1]
    return None


def _by_piece(piece: NDArray[np.int32], values: NDArray[np.int64], k: int) -> list[int]:
    """Sum by piece as Python integers; piece -1 is the last entry."""
    n_pieces = k + 2
    return [int(number) for number in sum_at(piece % n_pieces, values, n_pieces)]
