"""The default solver: one exact minimum cut of the closure network, by the package's own compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import perf_counter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ipforest._arrays import Array
from ipforest.instance import PruningInstance
from ipforest.maxflow.minimum_cut import EXACT, LABEL_LIMIT, WIDE_LABEL_LIMIT, cut, solve_whole
from ipforest.maxflow.network import KEPT, Network, build_network
from ipforest.maxflow.presolve import (
    ReducedProblem,
    first_members,
    presolve,
    reduce_flow,
    restore_nodes,
    restore_triples,
)
from ipforest.maxflow.subproblems import restore_row_order, split, totals
from ipforest.rational import INT64_SAFE, exact_sum
from ipforest.results import DualFlow, Pruning, PruningResult, Status

Kernel: TypeAlias = Callable[..., tuple[int, int, int]]

PLENTY_OF_ROOM = 2
"""Room over supply from which on no nodes are dropped before the flow."""


def solve_min_cut(instance: PruningInstance, lam: Fraction, start: DualFlow | None = None) -> PruningResult:
    """Find the smallest optimal set of kept nodes as the source side of a minimum cut.

    Presolve (`ipforest.maxflow.presolve`), then the wave method (`ipforest.maxflow.minimum_cut`) on 64-bit integers.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
        At least 0.
    start : DualFlow, optional
        Flow at another lambda to start from; it need not be feasible at this one.

    Returns
    -------
    PruningResult
        With the maximum flow on the arcs of the instance as certificate.

    Raises
    ------
    OverflowError
        Gains or costs at this lambda reach 2^62 in integer units.
    """
    started = perf_counter()
    p, q = instance.scaled_lambda(lam)
    check_scale(instance, p, q)
    reduced = presolve(instance)
    network = build_network(
        reduced.parent, reduced.gain, reduced.split_cost, reduced.indptr, reduced.indices, reduced.cost
    )
    scale = 0.0
    if start is not None:
        network.flow[:], network.up[:] = reduce_flow(instance, reduced, start)
        scale = q / start.q
    kept_reduced, rounds = maximum_flow(reduced, network, p, q, scale)
    pruning = Pruning(np.append(kept_reduced, True)[reduced.node])
    flow = original_flow(instance, reduced, network, p, q)
    error, cost = instance.evaluate(pruning)
    return PruningResult(
        status=Status.OPTIMAL,
        pruning=pruning,
        lam=lam,
        objective=error + lam * cost,
        bound=dual_bound(instance, flow),
        error=error,
        cost=cost,
        runtime_s=perf_counter() - started,
        method="min-cut",
        flow=flow,
        iterations=rounds,
    )


def maximum_flow(
    reduced: ReducedProblem, network: Network, p: int, q: int, scale: float
) -> tuple[npt.NDArray[np.bool_], int]:
    """Solve a network that is one subproblem, at lambda p / q.

    First the minimum cut, without the nodes that persistency drops; then the flow of all that is not kept. Where there
    is plenty of room the flow takes few rounds, and dropping nearly everything first would take as long.

    Parameters
    ----------
    reduced : ReducedProblem
    network : Network
        Of that problem. Ends with the maximum flow in its arrays, triples in the order of the problem; ``excess`` is
        what each source arc does not carry.
    p, q : int
    scale : float
        Start from the flow in the arrays times this; 0 starts from nothing.

    Returns
    -------
    kept : ndarray of bool, shape (n,)
        The smallest source side of the minimum cut.
    rounds : int
    """
    nodes = np.arange(reduced.gain.size, dtype=np.int32)
    acquisitions = np.arange(reduced.cost.size, dtype=np.int32)
    _, cost, positive = totals(network, nodes, acquisitions)
    if p * cost > PLENTY_OF_ROOM * q * positive:
        _, _, rounds = _run(solve_whole, network, nodes, acquisitions, p, q, scale)
        return network.level == KEPT, rounds
    label, n_kept, rounds = _run(cut, network, nodes, acquisitions, p, q, scale)
    n_kept, n_paid = split(network, label, nodes, acquisitions)
    kept = np.zeros(nodes.size, dtype=bool)
    kept[nodes[:n_kept]] = True
    _, _, more = _run(solve_whole, network, nodes[n_kept:], acquisitions[n_paid:], p, q, 1.0)
    restore_row_order(reduced.indptr, reduced.indices, network.indices, network.flow, network.room)
    return kept, rounds + more


def _run(
    kernel: Kernel, network: Network, nodes: Array, acquisitions: Array, p: int, q: int, scale: float
) -> tuple[Array, int, int]:
    """Solve exactly, with wide labels if it must be; give the labels, the number of nodes kept and the rounds."""
    label: Array = np.zeros(network.cost.size, dtype=np.uint8)
    n_kept, rounds, outcome = kernel(network, label, LABEL_LIMIT, nodes, acquisitions, p, q, scale, 0.0)
    if outcome != EXACT:
        label = np.zeros(network.cost.size, dtype=np.int32)
        n_kept, rounds, _ = kernel(network, label, WIDE_LABEL_LIMIT, nodes, acquisitions, p, q, 0.0, 0.0)
    return label, n_kept, rounds


def check_scale(instance: PruningInstance, p: int, q: int) -> None:
    """Require that all flows at lambda p / q fit 64 bits.

    Raises
    ------
    OverflowError
        They may not.
    """
    gains = q * exact_sum(np.abs(instance.gain))
    costs = p * (exact_sum(instance.acquisition_cost) + exact_sum(instance.split_cost))
    if gains + costs >= INT64_SAFE:
        raise OverflowError(
            f"lam: expected gains and costs below 2^62 in integer units, got 2^{gains.bit_length()} and "
            f"2^{costs.bit_length()} at this lambda; use a lambda, prices or a resolution of fewer digits"
        )


def original_flow(instance: PruningInstance, reduced: ReducedProblem, network: Network, p: int, q: int) -> DualFlow:
    """Carry the flow of the reduced network back to the arcs of the instance."""
    own_flow = p * reduced.split_cost + q * np.maximum(-reduced.gain, 0) - network.own_room
    split_flow = np.minimum(own_flow, p * reduced.split_cost)
    split = np.zeros(instance.n_internal, dtype=np.int64)
    split[first_members(reduced.node)] = split_flow
    scale = np.full(reduced.gain.size, q, dtype=np.int64)
    gain, up = restore_nodes(instance, reduced, scale, network.excess, own_flow - split_flow, network.up)
    price = np.full(reduced.cost.size, p, dtype=np.int64)
    return DualFlow(p, q, restore_triples(instance, reduced, price, network.flow), up, gain, split)


def dual_bound(instance: PruningInstance, flow: DualFlow) -> Fraction:
    """Bound the objective of every pruning from below by the value of a flow (weak duality)."""
    positive = instance.gain > 0
    surplus = flow.q * exact_sum(instance.gain[positive]) - exact_sum(flow.gain[positive])
    at_the_roots = flow.q * exact_sum(instance.errors[instance.tree_offsets[:-1]])
    return instance.error_unit * Fraction(at_the_roots - surplus, flow.q)
