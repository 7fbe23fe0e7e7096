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

Exactness. A sum of non-negative int64 numbers runs in int64 once its exact total is known to stay below 2^62; where it
does not, high and low halves are summed apart and joined as Python integers (numpy's object arrays).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proofs.verdict import Verdict, accept, refuse

if TYPE_CHECKING:
    from ipforest.results import PruningResult
    from proofs.certificates.records import Flow, Instance, PathFlow

LIMIT = 1 << 62


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
    instance: Instance,
    lam: Fraction,
    kept: NDArray[np.bool_],
    flow: Flow,
    claims: dict[str, Fraction],
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
        _lambda_fault(instance, lam, flow.p, flow.q)
        or _pruning_fault(nodes, kept)
        or _flow_fault(nodes, instance, flow)
    )
    if fault:
        return refuse(fault)
    used = np.zeros(instance.acquisition_cost.size, dtype=bool)
    used[instance.indices[np.repeat(kept, np.diff(instance.indptr))]] = True
    gain = total(nodes.gain[kept])
    cost = total(instance.acquisition_cost[used]) + total(instance.split_cost[kept])
    positive = nodes.gain > 0
    upper = flow.q * total(nodes.gain[positive]) - total(flow.gain[positive])
    value = flow.q * gain - flow.p * cost
    if value != upper:
        return refuse(f"the pruning is worth {value} scaled units, the flow only proves that none exceeds {upper}")
    error_rate = instance.error_unit * (total(instance.errors[instance.tree_offsets[:-1]]) - gain)
    cost_rate = instance.cost_unit * cost
    objective = error_rate + lam * cost_rate
    found = {"error": error_rate, "cost": cost_rate, "objective": objective, "bound": objective}
    for name, stated in claims.items():
        if stated != found[name]:
            return refuse(f"the {name} is {found[name]}, not {stated}")
    return accept(
        f"objective {objective} at lambda {lam} is optimal: cut = flow = {value} scaled units over "
        f"{instance.indices.size} triples"
    )


class InternalNodes:
    """The forest's internal nodes, derived from the parent pointers alone.

    Attributes
    ----------
    number : (n_internal,) int64 ndarray
        Of each internal node among all nodes.
    parent : (n_internal,) int64 ndarray
        Parent among the internal nodes, -1 for a root.
    gain : (n_internal,) int64 ndarray
        Errors of the node minus those of its children.
    """

    def __init__(self, instance: Instance) -> None:
        children = np.flatnonzero(instance.node_parent >= 0)
        above = instance.node_parent[children]
        is_internal = np.zeros(instance.node_parent.size, dtype=bool)
        is_internal[above] = True
        self.number = np.flatnonzero(is_internal).astype(np.int64)
        place = np.full(instance.node_parent.size + 1, -1, dtype=np.int64)
        place[self.number] = np.arange(self.number.size)
        self.parent = place[instance.node_parent[self.number]]
        below = np.zeros(instance.node_parent.size, dtype=np.int64)
        np.add.at(below, above, instance.errors[children])
        self.gain = instance.errors[self.number] - below[self.number]


def instance_fault(instance: Instance) -> str | None:
    """Describe what is malformed in the instance; return None if nothing is."""
    offsets, parent = instance.tree_offsets, instance.node_parent
    if offsets.size < 2 or offsets[0] != 0 or (np.diff(offsets) < 1).any() or offsets[-1] != parent.size:
        return "tree_offsets do not split the nodes into trees"
    own_root = np.repeat(offsets[:-1], np.diff(offsets))
    is_root = own_root == np.arange(parent.size)
    inside = (parent >= own_root) & (parent < np.arange(parent.size))
    if not np.where(is_root, parent == -1, inside).all():
        return "a node's parent is not an earlier node of its own tree"
    n_internal = np.unique(parent[parent >= 0]).size
    indptr, indices, n_acquisitions = instance.indptr, instance.indices, instance.acquisition_cost.size
    if indptr.shape != (n_internal + 1,) or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        return f"indptr does not describe {n_internal} rows"
    if indptr[-1] != indices.size or (indices.size and not 0 <= indices.min() <= indices.max() < n_acquisitions):
        return "indices do not point to acquisitions"
    if instance.errors.shape != parent.shape or instance.split_cost.shape != (n_internal,):
        return "errors or split_cost have the wrong length"
    if instance.error_unit <= 0 or instance.cost_unit <= 0:
        return "error_unit and cost_unit must be positive"
    for name in ("errors", "acquisition_cost", "split_cost"):
        values: NDArray[np.int64] = getattr(instance, name)
        if (values < 0).any():
            return f"{name} has a negative entry"
        if total(values) >= LIMIT:
            return f"{name} sums to 2^62 or more"
    return None


def _lambda_fault(instance: Instance, lam: Fraction, p: int, q: int) -> str | None:
    if lam < 0 or p < 0 or q <= 0:
        return f"lambda {lam} and its integer form {p}/{q} must not be negative"
    if Fraction(p, q) != lam * instance.cost_unit / instance.error_unit:
        return f"lambda {lam} in integer units is {lam * instance.cost_unit / instance.error_unit}, not {p}/{q}"
    return None


def _pruning_fault(nodes: InternalNodes, kept: NDArray[np.bool_]) -> str | None:
    if kept.dtype != np.bool_ or kept.shape != nodes.parent.shape:
        return f"kept: expected {nodes.parent.size} booleans, got {kept.dtype} of shape {kept.shape}"
    orphans = kept & (nodes.parent >= 0) & ~kept[nodes.parent]
    if orphans.any():
        return f"node {nodes.number[orphans][0]} is kept under a parent that is not"
    return None


def _flow_fault(nodes: InternalNodes, instance: Instance, flow: Flow) -> str | None:
    """Name the condition of a flow that is violated; return None if none is."""
    fault = array_fault(nodes, instance, flow)
    if fault:
        return fault
    over = flow.gain > scaled(np.abs(nodes.gain), flow.q)
    if over.any():
        return f"flow.gain exceeds q * |gain| at node {nodes.number[over][0]}"
    over = flow.split > scaled(instance.split_cost, flow.p)
    if over.any():
        return f"flow.split exceeds p * split_cost at node {nodes.number[over][0]}"
    inflow = sum_at(instance.indices, flow.triple, instance.acquisition_cost.size)
    over = inflow > scaled(instance.acquisition_cost, flow.p)
    if over.any():
        return f"the flow into acquisition {int(np.argmax(over))} exceeds p * its cost"
    return conservation_fault(nodes, instance, flow)


def array_fault(
    nodes: InternalNodes,
    instance: Instance,
    flow: Flow | PathFlow,
) -> str | None:
    """Name an array of the flow of the wrong length or kind, or with a negative entry; return None if all are right."""
    n_internal = nodes.parent.size
    sizes = {"triple": instance.indices.size, "up": n_internal, "gain": n_internal, "split": n_internal}
    for name, size in sizes.items():
        values: NDArray[np.int64] = getattr(flow, name)
        if values.shape != (size,) or values.dtype != np.int64:
            return f"flow.{name}: expected {size} int64 numbers, got {values.dtype} of shape {values.shape}"
        if (values < 0).any():
            return f"flow.{name} is negative at position {int(np.argmax(values < 0))}"
    return None


def conservation_fault(
    nodes: InternalNodes,
    instance: Instance,
    flow: Flow | PathFlow,
) -> str | None:
    """Name a node where the flow in is not the flow out; return None if there is none."""
    has_parent = nodes.parent >= 0
    if flow.up[~has_parent].any():
        return f"flow.up leaves the root {nodes.number[~has_parent & (flow.up != 0)][0]}"
    from_source = np.where(nodes.gain > 0, flow.gain, 0)
    from_children = sum_at(nodes.parent[has_parent], flow.up[has_parent], nodes.parent.size)
    entering = add(from_source, from_children)
    leaving = add(sum_rows(instance.indptr, flow.triple), flow.up, flow.split, flow.gain - from_source)
    wrong = entering != leaving
    if wrong.any():
        node = int(np.argmax(wrong))
        return f"at node {nodes.number[node]} the flow in is {entering[node]}, out {leaving[node]}"
    return None


def scaled(values: NDArray[np.int64], factor: int) -> NDArray[Any]:
    """Multiply exactly: in int64 when every product fits, else in Python integers."""
    if max(1, int(values.max(initial=0))) * factor < LIMIT:
        return values * np.int64(factor)
    product: NDArray[Any] = values.astype(object) * factor
    return product


def add(*parts: NDArray[Any]) -> NDArray[Any]:
    """Add non-negative arrays exactly: in int64 when no sum can leave it, else in Python integers."""
    fits = sum(int(part.max(initial=0)) for part in parts) < LIMIT
    total: NDArray[Any] = sum((part if fits else part.astype(object) for part in parts[1:]), start=parts[0] + 0)
    return total


def sum_at(places: NDArray[Any], values: NDArray[np.int64], size: int) -> NDArray[Any]:
    """Sum non-negative values by place, exactly."""

    def by_place(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(size, dtype=np.int64)
        np.add.at(sums, places, numbers)
        return sums

    if total(values) < LIMIT:
        return by_place(values)
    sums: NDArray[Any] = by_place(values >> 32).astype(object) * (1 << 32) + by_place(values & 0xFFFFFFFF)
    return sums


def sum_rows(indptr: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[Any]:
    """Sum non-negative values row by row, exactly."""

    def by_row(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        running = np.zeros(numbers.size + 1, dtype=np.int64)
        np.cumsum(numbers, out=running[1:])
        sums: NDArray[np.int64] = running[indptr[1:]] - running[indptr[:-1]]
        return sums

    if total(values) < LIMIT:
        return by_row(values)
    sums: NDArray[Any] = by_row(values >> 32).astype(object) * (1 << 32) + by_row(values & 0xFFFFFFFF)
    return sums


def total(values: NDArray[np.int64]) -> int:
    """Sum int64 numbers exactly: high and low halves apart, neither of which can overflow."""
    high = int((values >> 32).sum(dtype=np.int64))
    low = int((values & 0xFFFFFFFF).sum(dtype=np.int64))
    return (high << 32) + low
