"""The minimum cut of an instance at one lambda, with the maximum flow that proves it: presolve, solve, and back."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ipforest.maxflow.network import KEPT, TUNING, Lambda, Network, Part, Tuning, build_network
from ipforest.maxflow.presolve import (
    TWIN_SHARE_OF_ONE_CUT,
    ReducedProblem,
    presolve,
    reduce_flow,
    restore_flow,
    restore_row_order,
)
from ipforest.maxflow.subproblems import Task, solve
from ipforest.maxflow.waves import EXACT
from ipforest.rational import INT64_SAFE, exact_sum
from ipforest.results import DualFlow, Pruning

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance


def minimum_cut(
    instance: PruningInstance, lam: Lambda, start: DualFlow | None = None, tuning: Tuning = TUNING
) -> tuple[Pruning, DualFlow, int]:
    """Find the smallest optimal pruning as the source side of a minimum cut.

    First the minimum cut, without the nodes that persistency drops; then the flow of all that is not kept. Where there
    is plenty of room the flow takes few rounds, and dropping nearly everything first would take as long.

    Parameters
    ----------
    instance : PruningInstance
    lam : Lambda
    start : DualFlow, optional
        Flow at another lambda to start from; it need not be feasible at this one.
    tuning : Tuning

    Returns
    -------
    pruning : Pruning
    flow : DualFlow
        Maximum.
    rounds : int

    Raises
    ------
    OverflowError
        Gains or costs at this lambda reach 2^62 in integer units.
    """
    reduced, network = _network(instance, lam, start)
    part, flow_q = network.whole, 0 if start is None else start.q
    room = lam.p * (exact_sum(reduced.cost) + exact_sum(reduced.split_cost))
    if room > tuning.plenty_of_room * lam.q * exact_sum(np.maximum(reduced.gain, 0)):
        rounds, _, _ = _run(network, part, Task(lam, flow_q, all_flow=True), tuning)
        kept = network.labels.level == KEPT
    else:
        rounds, n_kept, n_paid = _run(network, part, Task(lam, flow_q), tuning)
        kept = np.zeros(part.nodes.size, dtype=bool)
        kept[part.nodes[:n_kept]] = True
        rest = Part(part.nodes[n_kept:], part.acquisitions[n_paid:])
        more, _, _ = _run(network, rest, Task(lam, lam.q, all_flow=True), tuning)
        rounds += more
        restore_row_order(reduced.rows, network.problem.indices, network.flow.triple, reduced.cost.size)
    return Pruning(np.append(kept, True)[reduced.node]), _dual_flow(instance, reduced, network, lam), rounds


def complete_flow(instance: PruningInstance, lam: Lambda, start: DualFlow, tuning: Tuning = TUNING) -> DualFlow:
    """Find a maximum flow from one that is nearly maximum; it need not be feasible.

    Raises
    ------
    OverflowError
        Gains or costs at this lambda reach 2^62 in integer units.
    """
    reduced, network = _network(instance, lam, start)
    _run(network, network.whole, Task(lam, start.q, all_flow=True), tuning)
    return _dual_flow(instance, reduced, network, lam)


def dual_bound(instance: PruningInstance, flow: DualFlow) -> Fraction:
    """Bound the objective of every pruning from below by the value of a flow (weak duality)."""
    positive = instance.gain > 0
    surplus = flow.q * exact_sum(instance.gain[positive]) - exact_sum(flow.gain[positive])
    at_the_roots = flow.q * exact_sum(instance.errors[instance.tree_offsets[:-1]])
    return instance.error_unit * Fraction(at_the_roots - surplus, flow.q)


def require_range(instance: PruningInstance, lam: Lambda) -> None:
    """Require that no flow at a lambda can leave the integers of the kernels.

    Raises
    ------
    OverflowError
        Gains or costs at this lambda reach 2^62 in integer units.
    """
    gains = lam.q * max(1, exact_sum(np.abs(instance.gain)))
    costs = lam.p * max(1, instance.total_cost)
    if gains + costs >= INT64_SAFE:
        raise OverflowError(
            f"lam: expected gains and costs below 2^62 in integer units, got 2^{gains.bit_length()} and "
            f"2^{costs.bit_length()} at this lambda; use a lambda, prices or a resolution of fewer digits"
        )


def _network(instance: PruningInstance, lam: Lambda, start: DualFlow | None) -> tuple[ReducedProblem, Network]:
    require_range(instance, lam)
    reduced = presolve(instance, TWIN_SHARE_OF_ONE_CUT)
    network = build_network(
        reduced.parent, reduced.gain, reduced.split_cost, reduced.indptr, reduced.indices, reduced.cost
    )
    if start is not None:
        if (start.up.size, start.triple.size) != (instance.n_internal, instance.n_triples):
            raise ValueError(
                f"start: expected a flow over {instance.n_internal} internal nodes and {instance.n_triples} triples, "
                f"got {start.up.size} and {start.triple.size}"
            )
        network.flow.triple[:], network.flow.up[:] = reduce_flow(instance, reduced, start)
    return reduced, network


def _run(network: Network, part: Part, task: Task, tuning: Tuning) -> tuple[int, int, int]:
    """Cut once and exactly, with wide labels if it must be; return rounds, and sizes of the kept part."""
    if part.nodes.size == 0:
        return 0, 0, 0
    found = np.empty((part.nodes.size, 6), dtype=np.int64)
    search = network.search_if_large(tuning)
    report = solve(network, search, part, task, tuning, found)
    if report.outcome != EXACT:
        wide = network.with_wide_labels()
        report = solve(wide, search, part, task._replace(flow_q=0), tuning, found)
    n_paid = int(found[-report.n_open, 3]) if report.n_open else 0
    return report.rounds, report.n_kept, n_paid


def _dual_flow(instance: PruningInstance, reduced: ReducedProblem, network: Network, lam: Lambda) -> DualFlow:
    n, m = reduced.gain.size, reduced.cost.size
    p, q, price = (np.full(size, value, dtype=np.int64) for size, value in ((n, lam.p), (n, lam.q), (m, lam.p)))
    return DualFlow(lam.p, lam.q, *restore_flow(instance, reduced, network.flow, p, q, price))
