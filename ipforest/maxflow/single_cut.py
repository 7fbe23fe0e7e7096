"""The minimum cut of an instance at one lambda, with the maximum flow that proves it: presolve, solve, and back."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ipforest._internal.rational import INT64_SAFE, coarsened, exact_sum
from ipforest._internal.undisturbed import undisturbed
from ipforest.maxflow.flows import Capacities, reduce_flow, restore_flow
from ipforest.maxflow.network import KEPT, STOP, Lambda, build_network
from ipforest.maxflow.presolve import TWIN_SHARE_OF_ONE_CUT, presolve
from ipforest.maxflow.pseudoflow import maximum_flow, plant
from ipforest.maxflow.threads import helped
from ipforest.results import DualFlow, Pruning

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance


def minimum_cut(instance: PruningInstance, lam: Lambda, start: DualFlow | None = None) -> tuple[Pruning, DualFlow, int]:
    """Find the smallest optimal pruning as the source side of a minimum cut.

    Parameters
    ----------
    instance : PruningInstance
    lam : Lambda
    start : DualFlow, optional
        Flow at another lambda to start from; it need not be feasible at this one.

    Returns
    -------
    pruning : Pruning
    flow : DualFlow
        Maximum.
    n_mergers : int

    Raises
    ------
    OverflowError
        Gains or costs at this lambda reach 2^62 in integer units.
    """
    require_range(instance, lam)
    reduced = presolve(instance, TWIN_SHARE_OF_ONE_CUT)
    network = build_network(reduced.parent, reduced.gain, reduced.split_cost, reduced.rows, reduced.cost)
    if start is not None:
        least, largest = int(start.used.min(initial=0)), int(start.used.max(initial=-1))
        if start.up.size != instance.n_internal or least < 0 or largest >= instance.n_triples:
            raise ValueError(
                f"start: expected a flow over {instance.n_internal} internal nodes and triples "
                f"0..{instance.n_triples - 1}, got one over {start.up.size} nodes and triples {least}..{largest}"
            )
        given = reduce_flow(instance, reduced, start)
        plant(network.problem, network.trees, *given, lam, lam.q / start.q)
    whole = network.whole

    def cut() -> int:
        with helped(network, whole, reduced.rows.bits.size) as search:
            return maximum_flow(network, whole, search, lam, 1.0)[1]

    try:
        n_mergers = undisturbed(cut)
    except KeyboardInterrupt:
        network.signals[STOP] = 1
        raise
    n, m = reduced.gain.size, reduced.cost.size
    kept = network.trees.labels[:n] == KEPT
    capacities = Capacities(*(np.full(*number) for number in ((n, lam.p), (n, lam.q), (m, lam.p))))
    flow = restore_flow(instance, reduced, network, whole.nodes, capacities)
    return Pruning(np.append(kept, True)[reduced.node]), DualFlow(lam.p, lam.q, *flow), n_mergers


def dual_bound(instance: PruningInstance, flow: DualFlow) -> Fraction:
    """Bound the objective of every pruning from below by the value of a flow (weak duality)."""
    positive = instance.gain > 0
    surplus = flow.q * exact_sum(instance.gain[positive]) - exact_sum(flow.gain[positive])
    at_the_roots = flow.q * exact_sum(instance.errors[instance.tree_offsets[:-1]])
    return instance.error_unit * Fraction(at_the_roots - surplus, flow.q)


def lambda_within_range(instance: PruningInstance, ratio: Fraction) -> Fraction:
    """Return a scaled lambda p / q, or one of fewer digits near it, such that flows at it stay within 64 bits."""
    gains, costs = _most(instance)
    if ratio.denominator * gains + ratio.numerator * costs < INT64_SAFE:
        return ratio
    largest = Fraction((INT64_SAFE - 1 - gains) // costs)
    return min(largest, coarsened(ratio, gains, costs, INT64_SAFE - 1 - costs))  # p may be rounded up by 1


def _most(instance: PruningInstance) -> tuple[int, int]:
    """Return what gains and costs add up to at most, in integer units."""
    return max(1, exact_sum(np.abs(instance.gain))), max(1, instance.total_cost)


def require_range(instance: PruningInstance, lam: Lambda) -> None:
    """Require that no flow at a lambda can leave the integers of the kernels."""
    most_gains, most_costs = _most(instance)
    gains, costs = lam.q * most_gains, lam.p * most_costs
    if gains + costs >= INT64_SAFE:
        raise OverflowError(
            f"lam: expected gains and costs below 2^62 in integer units, got 2^{gains.bit_length()} and "
            f"2^{costs.bit_length()} at this lambda; use a lambda, prices or a resolution of fewer digits, as 1/300 "
            "written as Fraction(1, 300) has; prune_path(instance).result(lam) finds the same pruning at one that fits"
        )
