r"""Is a pruning optimal? A checker that needs integers, numpy and ten minutes of reading.

What is proved. With p/q = lambda * cost_unit / error_unit, the objective of a set S of kept internal nodes, closed
under parents, is a positive constant times (a constant minus V(S)), where

.. math:: V(S) = q \sum_{h \in S} gain_h - p \Big( \sum_{h \in S} split_h + \sum_{j \text{ used by } S} cost_j \Big).

Take non-negative numbers on the arcs of the closure network (`ipforest.results.DualFlow`): source -> h at most q gain_h
where the gain is positive, h -> sink at most q (-gain_h) where it is negative, h -> sink at most p split_h,
h -> parent(h) and h -> acquisition without bound, acquisition j -> sink at most p cost_j; at each h as much goes in as
comes out. Let F leave the source. For every closed S the arcs that leave S lead only to the sink or to acquisitions
that S uses, so, writing f for the flow from the source into S,

.. math:: f \le p \sum_{j \text{ used}} cost_j + p \sum_{h \in S} split_h + q \sum_{h \in S, gain < 0} (-gain_h), \qquad
          f \ge F - q \sum_{h \notin S, gain > 0} gain_h ,

hence V(S) <= q * (sum of the positive gains) - F. A pruning whose V reaches this number is optimal. That is all: the
checker verifies the flow's conditions, the closure of the pruning, and the equality. No solver is involved.

All numbers are exact: see `proofs.certificates.exact_arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.exact_arrays import (
    add,
    array_fault,
    fraction_fault,
    integer_fault,
    scaled,
    sum_at,
    sum_rows,
    total,
)
from proofs.certificates.instance import InternalNodes, instance_fault
from proofs.verdict import Verdict, accept, refuse

if TYPE_CHECKING:
    from ipforest.results import PruningResult
    from proofs.certificates.records import Flow, Instance, PathFlow


def verify_optimality(instance: Instance, result: PruningResult) -> Verdict:
    """Verify that a result is an optimal pruning of the instance, and every number it states.

    Parameters
    ----------
    instance : PruningInstance
        The data; only its stored arrays are used, everything derived is derived again.
    result : PruningResult
        What a solver returned, with its dual flow.

    Returns
    -------
    Verdict
        Accepted, or refused with the first thing found wrong.
    """
    if result.flow is None:
        return refuse(f"the result of {result.method!r} carries no flow to prove its bound; solve with 'min-cut'")
    if str(result.status) != "optimal":
        return refuse(f"the status is {str(result.status)!r}, not 'optimal'")
    claims = {"error": result.error, "cost": result.cost, "objective": result.objective, "bound": result.bound}
    return verify_claim(instance, result.lam, result.pruning.kept, result.flow, claims)


def verify_claim(
    instance: Instance, lam: Fraction, kept: NDArray[np.bool_], flow: Flow, claims: Mapping[str, Fraction]
) -> Verdict:
    """Verify a kept set against an integer flow, and the stated error, cost, objective and bound.

    Parameters
    ----------
    instance : PruningInstance or InstanceRecord
    lam : Fraction
        The multiplier of the cost.
    kept : (n_internal,) bool ndarray
    flow : DualFlow or FlowRecord
    claims : dict
        Any of ``error``, ``cost``, ``objective``, ``bound``, as Fractions.

    Returns
    -------
    Verdict
    """
    fault = instance_fault(instance)
    if fault:
        return refuse(f"instance: {fault}")
    nodes = InternalNodes(instance)
    fault = (
        fraction_fault({"lambda": lam, **claims})
        or _lambda_fault(instance, lam, flow.p, flow.q)
        or _pruning_fault(nodes, kept)
        or _flow_fault(nodes, instance, flow)
    )
    if fault:
        return refuse(fault)
    gain, cost = _gain_and_cost(nodes, instance, kept)
    positive = nodes.gain > 0
    upper = flow.q * total(nodes.gain[positive]) - total(flow.gain[positive])
    value = flow.q * gain - flow.p * cost
    if value != upper:
        return refuse(f"the pruning is worth {value} scaled units, the flow only proves that none exceeds {upper}")
    error_rate, cost_rate = _rates(instance, gain, cost)
    objective = error_rate + lam * cost_rate
    found = {"error": error_rate, "cost": cost_rate, "objective": objective, "bound": objective}
    for name, stated in claims.items():
        if stated != found[name]:
            return refuse(f"the {name} is {found[name]}, not {stated}")
    return accept(
        f"objective {objective} at lambda {lam} is optimal: cut = flow = {value} scaled units over "
        f"{instance.indices.size} triples"
    )


def evaluate(instance: Instance, kept: NDArray[np.bool_]) -> tuple[Fraction, Fraction] | str:
    """Compute error and cost of a pruning, from the instance's stored arrays alone; say what is wrong if it is none."""
    fault = instance_fault(instance)
    if fault:
        return f"instance: {fault}"
    nodes = InternalNodes(instance)
    return _pruning_fault(nodes, kept) or _rates(instance, *_gain_and_cost(nodes, instance, kept))


def _gain_and_cost(nodes: InternalNodes, instance: Instance, kept: NDArray[np.bool_]) -> tuple[int, int]:
    used = np.zeros(instance.acquisition_cost.size, dtype=bool)
    used[instance.indices[np.repeat(kept, np.diff(instance.indptr))]] = True
    cost = total(instance.acquisition_cost[used]) + total(instance.split_cost[kept])
    return total(nodes.gain[kept]), cost


def _rates(instance: Instance, gain: int, cost: int) -> tuple[Fraction, Fraction]:
    roots = total(instance.errors[instance.tree_offsets[:-1]])
    return instance.error_unit * (roots - gain), instance.cost_unit * cost


def _lambda_fault(instance: Instance, lam: Fraction, p: int, q: int) -> str | None:
    fault = integer_fault({"p": p, "q": q})
    if fault:
        return fault
    if p < 0 or q <= 0:
        return f"the integer form {p}/{q} of lambda must not be negative"
    if Fraction(p, q) != lam * instance.cost_unit / instance.error_unit:
        return f"lambda {lam} in integer units is {lam * instance.cost_unit / instance.error_unit}, not {p}/{q}"
    return None


def _pruning_fault(nodes: InternalNodes, kept: NDArray[np.bool_]) -> str | None:
    fault = array_fault("kept", kept, np.bool_, nodes.parent.size)
    if fault:
        return fault
    orphans = kept & (nodes.parent >= 0) & ~kept[nodes.parent]
    if orphans.any():
        return f"node {nodes.number[orphans][0]} is kept under a parent that is not"
    return None


def _flow_fault(nodes: InternalNodes, instance: Instance, flow: Flow) -> str | None:
    """Name the condition of a flow that is violated; return None if none is."""
    fault = sign_fault(nodes, instance, flow)
    if fault:
        return fault
    over = flow.gain > scaled(np.abs(nodes.gain), flow.q)
    if over.any():
        return f"flow.gain exceeds q * |gain| at node {nodes.number[over][0]}"
    over = flow.split > scaled(instance.split_cost, flow.p)
    if over.any():
        return f"flow.split exceeds p * split_cost at node {nodes.number[over][0]}"
    inflow = sum_at(instance.indices[flow.used], flow.triple, instance.acquisition_cost.size)
    over = inflow > scaled(instance.acquisition_cost, flow.p)
    if over.any():
        return f"the flow into acquisition {int(np.argmax(over))} exceeds p * its cost"
    return conservation_fault(nodes, instance, flow)


def sign_fault(nodes: InternalNodes, instance: Instance, flow: Flow | PathFlow) -> str | None:
    """Name an array of the flow of the wrong kind or length, or with a negative entry; return None if all are right."""
    fault = used_fault(instance, flow.used)
    if fault:
        return fault
    n_internal = nodes.parent.size
    sizes = {"triple": flow.used.size, "up": n_internal, "gain": n_internal, "split": n_internal}
    for name, size in sizes.items():
        values: NDArray[np.int64] = getattr(flow, name)
        fault = array_fault(f"flow.{name}", values, np.int64, size)
        if fault:
            return fault
        if (values < 0).any():
            return f"flow.{name} is negative at position {int(np.argmax(values < 0))}"
    return None


def used_fault(instance: Instance, used: NDArray[np.int64]) -> str | None:
    """Describe how the triples of a flow differ from ascending ones of the instance; return None if they do not."""
    fault = array_fault("flow.used", used, np.int64)
    if fault:
        return fault
    falls = used[1:] <= used[:-1]
    if falls.any():
        return f"flow.used does not ascend at position {int(np.argmax(falls)) + 1}"
    outside = (used < 0) | (used >= instance.indices.size)
    if outside.any():
        return f"flow.used: expected triples 0..{instance.indices.size - 1}, got {used[outside][0]}"
    return None


def used_rows(instance: Instance, flow: Flow | PathFlow) -> NDArray[np.int64]:
    """Return where the row of each node begins among the triples that the flow uses, and where the last one ends."""
    return np.searchsorted(flow.used, instance.indptr)


def conservation_fault(nodes: InternalNodes, instance: Instance, flow: Flow | PathFlow) -> str | None:
    """Name a node where the flow in is not the flow out; return None if there is none."""
    has_parent = nodes.parent >= 0
    leaving_root = ~has_parent & (flow.up != 0)
    if leaving_root.any():
        return f"flow.up leaves the root {nodes.number[leaving_root][0]}"
    from_source = np.where(nodes.gain > 0, flow.gain, 0)
    from_children = sum_at(nodes.parent[has_parent], flow.up[has_parent], nodes.parent.size)
    entering = add(from_source, from_children)
    leaving = add(sum_rows(used_rows(instance, flow), flow.triple), flow.up, flow.split, flow.gain - from_source)
    wrong = entering != leaving
    if wrong.any():
        node = int(np.argmax(wrong))
        return f"at node {nodes.number[node]} the flow in is {entering[node]}, out {leaving[node]}"
    return None
