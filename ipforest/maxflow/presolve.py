"""Exact reductions of the closure problem in linear time, and the way back for flows.

Three reductions, none of which changes an optimum at any lambda > 0, nor the smallest optimal set:

- acquisitions of cost zero disappear;
- a node of positive gain that needs no costly acquisition and has no split cost is kept whenever its parent is, so it
  becomes a part of its parent; without a parent it is always kept and leaves the problem. Nodes of gain zero are not
  merged: the smallest optimal set may leave them out although their parent is kept;
- acquisitions that are met by exactly the same nodes (twins) are bought together and become one, costs added. The
  candidates share a random signature of their nodes, and are then compared exactly. Rewriting the rows and bringing the
  flow back takes a part of the time of a cut, so twins are merged only where enough acquisitions disappear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import njit
from ipforest.maxflow.network import Flow

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.results import DualFlow

TWIN_SHARE_OF_ONE_CUT, TWIN_SHARE_OF_PATHS = 2, 16
"""Twins are merged when at least one acquisition in so many disappears by it; a path visits the rows more often."""
ALWAYS_KEPT = -1
FREE = -1
LAST_ROW, N_ROWS, N_MET = 0, 1, 2
"""Columns of the counts of `_write_rows`."""


class Rows(NamedTuple):
    """Rows of acquisitions as `PruningInstance` has them: those of node h are ``indices[indptr[h]:indptr[h + 1]]``."""

    indptr: Array
    indices: Array


class NodeFlow(NamedTuple):
    """What reduced nodes send, int64 (n_reduced_nodes,) each.

    The scale of their gains, what the source arc does not carry, flow on the fixed sink arc, flow to the parent.
    """

    q: Array
    unused: Array
    sunk: Array
    up: Array


class ArcFlow(NamedTuple):
    """The flow on the arcs of an instance, as in `DualFlow`: int64 (n_triples,), then (n_internal,) each."""

    triple: Array
    up: Array
    gain: Array
    split: Array


@dataclass(frozen=True, slots=True, eq=False)
class ReducedProblem:
    """A closure problem and how it comes from an instance.

    Parameters
    ----------
    parent, gain, split_cost, indptr, indices, cost : ndarray
        As in `PruningInstance`, over reduced nodes and acquisitions; all costs > 0.
    node : ndarray of int32, shape (n_internal,)
        Reduced node of each internal node, `ALWAYS_KEPT` for nodes that are kept at every lambda.
    acquisition : ndarray of int32, shape (n_acquisitions,)
        Reduced acquisition of each acquisition, `FREE` for cost zero.
    first : ndarray of int64, shape (n_reduced_nodes,)
        The first member of each reduced node: the one that has the row.
    """

    parent: Array
    gain: Array
    split_cost: Array
    indptr: Array
    indices: Array
    cost: Array
    node: Array
    acquisition: Array
    first: Array

    @property
    def rows(self) -> Rows:
        """Reduced acquisitions of each reduced node."""
        return Rows(self.indptr, self.indices)


def presolve(instance: PruningInstance, twin_share: int = TWIN_SHARE_OF_PATHS) -> ReducedProblem:
    """Reduce an instance.

    Parameters
    ----------
    instance : PruningInstance
    twin_share : int
        Merge twins when at least one acquisition in so many disappears by it.

    Returns
    -------
    ReducedProblem
        Shares the arrays of the instance where nothing could be reduced.
    """
    acquisition, n_acquisitions = _number_acquisitions(instance, twin_share)
    row_size, indices = np.diff(instance.indptr), instance.indices
    unchanged = n_acquisitions == instance.n_acquisitions
    if not unchanged:
        acquisition, n_acquisitions, row_size, indices = _merge_rows(_rows(instance), acquisition, n_acquisitions)
    costly = acquisition != FREE
    cost = np.zeros(n_acquisitions, dtype=np.int64)
    np.add.at(cost, acquisition[costly], instance.acquisition_cost[costly])
    node = np.empty(instance.n_internal, dtype=np.int32)
    n_reduced = _merge_nodes(instance.parent, instance.gain, instance.split_cost, row_size, node)
    first = _first_members(node)
    if unchanged and n_reduced == instance.n_internal:
        return ReducedProblem(
            instance.parent,
            instance.gain,
            instance.split_cost,
            instance.indptr,
            instance.indices,
            instance.acquisition_cost,
            node,
            acquisition,
            first,
        )
    stays = node >= 0
    gain = np.zeros(n_reduced, dtype=np.int64)
    np.add.at(gain, node[stays], instance.gain[stays])
    above = instance.parent[first]
    parent = np.where(above >= 0, node[above], -1).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(row_size[first])])
    if not unchanged:
        indices = indices[: indptr[-1]]
    return ReducedProblem(parent, gain, instance.split_cost[first], indptr, indices, cost, node, acquisition, first)


def _rows(instance: PruningInstance) -> Rows:
    return Rows(instance.indptr, instance.indices)


def _first_members(node: Array) -> Array:
    """Return the index of the first member of each reduced node."""
    first = node > np.concatenate([[-1], np.maximum.accumulate(node)[:-1]]) if node.size else node.astype(bool)
    return np.flatnonzero(first)


def _number_acquisitions(instance: PruningInstance, twin_share: int) -> tuple[Array, int]:
    """Give the costly acquisitions numbers from 0, the same for one signature if that saves many; count the numbers."""
    costly = instance.acquisition_cost > 0
    n_costly = int(np.count_nonzero(costly))
    signature = np.zeros(instance.n_acquisitions, dtype=np.uint64)
    _sign(_rows(instance), _random_keys(instance.n_internal), signature)
    met = costly & (signature != 0)
    candidates = np.sort(signature[met])
    n_twins = int(np.count_nonzero(candidates[1:] == candidates[:-1]))
    number = np.full(instance.n_acquisitions, FREE, dtype=np.int32)
    if n_twins == 0 or n_twins * twin_share < n_costly:
        number[costly] = np.arange(n_costly, dtype=np.int32)
        return number, n_costly
    distinct, first, inverse = np.unique(signature[met], return_index=True, return_inverse=True)
    by_first_member = np.empty(distinct.size, dtype=np.int32)
    by_first_member[np.argsort(first)] = np.arange(distinct.size, dtype=np.int32)
    number[met] = by_first_member[inverse]
    unmet = costly & ~met
    number[unmet] = np.arange(distinct.size, n_costly - n_twins, dtype=np.int32)
    return number, n_costly - n_twins


def _random_keys(size: int) -> Array:
    return np.random.default_rng(0).integers(0, 2**64, size, dtype=np.uint64)


def _merge_rows(rows: Rows, number: Array, n_numbers: int) -> tuple[Array, int, Array, Array]:
    """Write each number of a row once; acquisitions that share a number, but not all their rows, get their own.

    Returns
    -------
    number : ndarray of int32, shape (n_acquisitions,)
    n_numbers : int
    row_size : ndarray of int64, shape (n_internal,)
    indices : ndarray of int32
        The rows one after another, at the front.
    """
    size = np.bincount(number[number != FREE], minlength=n_numbers)
    row_size = np.zeros(rows.indptr.size - 1, dtype=np.int64)
    indices = np.empty(rows.indices.size, dtype=np.int32)
    counts = np.zeros((n_numbers, 3), dtype=np.int32)
    _write_rows(rows, number, row_size, indices, counts)
    alone = np.append(counts[:, N_MET] != size * counts[:, N_ROWS], False)[number]
    if not alone.any():
        return number, n_numbers, row_size, indices
    apart = number.astype(np.int64)
    apart[alone] = n_numbers + np.arange(np.count_nonzero(alone))
    distinct, inverse = np.unique(apart[apart != FREE], return_inverse=True)
    number[number != FREE] = inverse
    return _merge_rows(rows, number, distinct.size)


@njit
def _sign(rows: Rows, keys: Array, signature: Array) -> None:
    indptr, indices = rows
    for h in range(indptr.size - 1):
        for x in range(indptr[h], indptr[h + 1]):
            signature[indices[x]] += keys[h]


@njit
def _write_rows(rows: Rows, number: Array, row_size: Array, written: Array, counts: Array) -> None:
    """Write the numbers in each row, each once; count how many members and how many rows of each number there are.

    ``counts``, zeros of shape (n_numbers, 3), has columns for the last row plus one, for rows and for members.
    """
    indptr, indices = rows
    at = 0
    for h in range(indptr.size - 1):
        for x in range(indptr[h], indptr[h + 1]):
            g = number[indices[x]]
            if g >= 0:
                counts[g, N_MET] += 1
                if counts[g, LAST_ROW] != h + 1:
                    counts[g, LAST_ROW] = h + 1
                    counts[g, N_ROWS] += 1
                    written[at] = g
                    at += 1
                    row_size[h] += 1


@njit
def _merge_nodes(parent: Array, gain: Array, split_cost: Array, row_size: Array, node: Array) -> int:
    count = 0
    for h in range(parent.size):
        if gain[h] > 0 and split_cost[h] == 0 and row_size[h] == 0:
            node[h] = node[parent[h]] if parent[h] >= 0 else -1
        else:
            node[h] = count
            count += 1
    return count


def restore_flow(
    instance: PruningInstance, reduced: ReducedProblem, flow: Flow, node_p: Array, node_q: Array, price: Array
) -> ArcFlow:
    """Carry the flow in a reduced problem back to the arcs of the instance.

    Parameters
    ----------
    instance : PruningInstance
    reduced : ReducedProblem
    flow : Flow
        With triples in the order of the reduced problem.
    node_p, node_q : ndarray of int64, shape (n_reduced_nodes,)
        Lambda of each node's flow, p / q; q is the scale of its gain.
    price : ndarray of int64, shape (n_reduced_acquisitions,)
        Capacity of each acquisition over its cost.

    Returns
    -------
    ArcFlow
    """
    own_flow = node_p * reduced.split_cost + node_q * np.maximum(-reduced.gain, 0) - flow.own_room
    split_flow = np.minimum(own_flow, node_p * reduced.split_cost)
    split, gain, up = (np.zeros(instance.n_internal, dtype=np.int64) for _ in range(3))
    split[reduced.first] = split_flow
    sent = NodeFlow(node_q, flow.excess, own_flow - split_flow, flow.up)
    _unmerge(instance.parent, instance.gain, reduced.node, reduced.first, sent, gain, up)
    if reduced.indices is instance.indices:
        return ArcFlow(flow.triple, up, gain, split)
    room = instance.acquisition_cost * np.append(price, 0)[reduced.acquisition]
    triple = np.zeros(instance.n_triples, dtype=np.int64)
    _spread(_rows(instance), reduced.rows, reduced.first, reduced.acquisition, room, flow.triple, triple)
    return ArcFlow(triple, up, gain, split)


@njit
def restore_row_order(rows: Rows, reordered: Array, triple: Array, n_acquisitions: int) -> None:
    """Bring the flow on the triples of rows that were reordered back into the order of `rows`."""
    indptr, indices = rows
    of_acquisition = np.empty(n_acquisitions, np.int64)
    for h in range(indptr.size - 1):
        for x in range(indptr[h], indptr[h + 1]):
            of_acquisition[reordered[x]] = triple[x]
        for x in range(indptr[h], indptr[h + 1]):
            triple[x] = of_acquisition[indices[x]]


@njit
def _spread(
    rows: Rows, reduced_rows: Rows, first: Array, group: Array, room: Array, flow: Array, restored: Array
) -> None:
    indptr, indices = rows
    reduced_indptr, reduced_indices = reduced_rows
    pending = np.empty(group.size, np.int64)
    for r in range(first.size):
        h = first[r]
        left = 0
        for x in range(reduced_indptr[r], reduced_indptr[r + 1]):
            pending[reduced_indices[x]] = flow[x]
            left += flow[x]
        x = indptr[h]
        while left > 0 and x < indptr[h + 1]:
            j = indices[x]
            if group[j] >= 0 and pending[group[j]] > 0:
                taken = min(pending[group[j]], room[j])
                pending[group[j]] -= taken
                room[j] -= taken
                left -= taken
                restored[x] = taken
            x += 1


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


def reduce_flow(instance: PruningInstance, reduced: ReducedProblem, flow: DualFlow) -> tuple[Array, Array]:
    """Carry a flow on the arcs of the instance over to the reduced problem: triples and flow to parents."""
    if reduced.indices is instance.indices:
        return flow.triple, flow.up[reduced.first]
    triple = np.empty(reduced.indices.size, dtype=np.int64)
    _collect(_rows(instance), reduced.rows, reduced.first, reduced.acquisition, flow.triple, triple)
    return triple, flow.up[reduced.first]


@njit
def _collect(rows: Rows, reduced_rows: Rows, first: Array, group: Array, flow: Array, collected: Array) -> None:
    indptr, indices = rows
    reduced_indptr, reduced_indices = reduced_rows
    pending = np.zeros(group.size, np.int64)
    for r in range(first.size):
        h = first[r]
        for x in range(indptr[h], indptr[h + 1]):
            if group[indices[x]] >= 0:
                pending[group[indices[x]]] += flow[x]
        for x in range(reduced_indptr[r], reduced_indptr[r + 1]):
            collected[x] = pending[reduced_indices[x]]
            pending[reduced_indices[x]] = 0
