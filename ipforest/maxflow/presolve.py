"""Exact reductions of the closure problem in linear time; `ipforest.maxflow.flows` has the way back.

Three reductions, none of which changes an optimum at any lambda > 0, nor the smallest optimal set:

- acquisitions of cost zero disappear;
- a node of positive gain that needs no costly acquisition and has no split cost is kept whenever its parent is, so it
  becomes a part of its parent; without a parent it is always kept and leaves the problem. Nodes of gain zero are not
  merged: the smallest optimal set may leave them out although their parent is kept;
- acquisitions that are met by exactly the same nodes (twins) are bought together and become one, costs added. The
  candidates share a random signature of their nodes, and are then compared exactly. Rewriting the rows takes a part
  of the time of a cut, so twins are merged only where enough acquisitions disappear.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ipforest._internal.arrays import Array
from ipforest._internal.kernels import njit, run_in_slices
from ipforest.maxflow.bit_rows import BitRows, Rows, bit_rows, rows_of

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

TWIN_SHARE_OF_ONE_CUT, TWIN_SHARE_OF_PATHS = 2, 16
"""Twins are merged when at least one acquisition in so many disappears by it; a path visits the rows more often."""
ALWAYS_KEPT = -1
FREE = -1
ALONE = -1
"""In place of a place in the counts of `_write_rows`: the number of one acquisition only."""
LAST_ROW, N_ROWS, N_MET = 0, 1, 2
"""Columns of the counts of `_write_rows`."""


@dataclass(frozen=True, slots=True, eq=False)
class ReducedProblem:
    """A closure problem and how it comes from an instance.

    Parameters
    ----------
    parent, gain, split_cost, cost : ndarray
        As in `PruningInstance`, over reduced nodes and acquisitions; all costs > 0.
    rows : BitRows
        A network that is built of them shortens them.
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
    rows: BitRows
    cost: Array
    node: Array
    acquisition: Array
    first: Array


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
    rows = rows_of(instance)
    if n_acquisitions < instance.n_acquisitions:
        acquisition, n_acquisitions, rows = _merge_rows(rows, acquisition, n_acquisitions)
    costly = acquisition != FREE
    cost = np.zeros(n_acquisitions, dtype=np.int64)
    np.add.at(cost, acquisition[costly], instance.acquisition_cost[costly])
    node = np.empty(instance.n_internal, dtype=np.int32)
    n_reduced = _merge_nodes(instance.parent, instance.gain, instance.split_cost, rows.indptr, node)
    first = _first_members(node)
    bits = bit_rows(rows)
    if n_reduced == instance.n_internal:
        return ReducedProblem(instance.parent, instance.gain, instance.split_cost, bits, cost, node, acquisition, first)
    stays = node >= 0
    gain = np.zeros(n_reduced, dtype=np.int64)
    np.add.at(gain, node[stays], instance.gain[stays])
    above = instance.parent[first]
    parent = np.where(above >= 0, node[above], -1).astype(np.int32)
    bits = bits._replace(start=bits.start[first], end=bits.end[first])
    return ReducedProblem(parent, gain, instance.split_cost[first], bits, cost, node, acquisition, first)


def _first_members(node: Array) -> Array:
    """Return the index of the first member of each reduced node."""
    first = node > np.concatenate([[-1], np.maximum.accumulate(node)[:-1]]) if node.size else node.astype(bool)
    return np.flatnonzero(first)


def _number_acquisitions(instance: PruningInstance, twin_share: int) -> tuple[Array, int]:
    """Give the costly acquisitions numbers from 0, the same for one signature if that saves many; count the numbers."""
    costly = instance.acquisition_cost > 0
    n_costly = int(np.count_nonzero(costly))
    number = np.full(instance.n_acquisitions, FREE, dtype=np.int32)
    n_distinct = _number_signatures(_signatures(instance), costly, number)
    n_twins = n_costly - n_distinct
    if n_twins == 0 or n_twins * twin_share < n_costly:
        number[costly] = np.arange(n_costly, dtype=np.int32)
        return number, n_costly
    return number, n_distinct


def _signatures(instance: PruningInstance) -> Array:
    """Sum the random keys of the nodes that meet each acquisition, on all cores."""
    keys, rows = _random_keys(instance.n_internal), rows_of(instance)

    def sign(some: slice) -> Array:
        signature = np.zeros(instance.n_acquisitions, dtype=np.uint64)
        _sign(rows, some.start, some.stop, keys, signature)
        return signature

    return functools.reduce(operator.iadd, run_in_slices(sign, instance.n_internal, instance.n_triples))


def _random_keys(size: int) -> Array:
    return np.random.default_rng(0).integers(0, 2**64, size, dtype=np.uint64)


def _merge_rows(rows: Rows, number: Array, n_numbers: int) -> tuple[Array, int, Rows]:
    """Write each number of a row once; acquisitions that share a number, but not all their rows, get their own.

    Numbers are, and stay, in the order of first appearance; so rows stay ascending.

    Returns
    -------
    number : ndarray of int32, shape (n_acquisitions,)
    n_numbers : int
    rows : Rows
    """
    size = np.bincount(number[number != FREE], minlength=n_numbers)
    shared = np.flatnonzero(size > 1)
    place = np.full(n_numbers, ALONE, dtype=np.int32)
    place[shared] = np.arange(shared.size)
    row_size = np.zeros(rows.indptr.size - 1, dtype=np.int64)
    written = np.empty(rows.indices.size, dtype=np.int32)

    def write(some: slice) -> tuple[slice, Array]:
        counts = np.zeros((shared.size, 3), dtype=np.int32)
        end = _write_rows(rows, some.start, some.stop, number, place, row_size, written, counts)
        return slice(int(rows.indptr[some.start]), end), counts[:, N_ROWS:]

    segments, counts = zip(*run_in_slices(write, row_size.size, rows.indices.size), strict=True)
    indices = _closed_up(written, segments)
    n_rows, n_met = functools.reduce(np.add, counts).T
    differ = shared[n_met != size[shared] * n_rows]
    if differ.size == 0:
        return number, n_numbers, Rows(np.concatenate([[0], np.cumsum(row_size)]), indices)
    alone = np.isin(number, differ)
    apart = number.astype(np.int64)
    apart[alone] = n_numbers + np.arange(np.count_nonzero(alone))
    distinct, first, inverse = np.unique(apart[apart != FREE], return_index=True, return_inverse=True)
    number[number != FREE] = np.argsort(np.argsort(first))[inverse]
    return _merge_rows(rows, number, distinct.size)


def _closed_up(values: Array, segments: Sequence[slice]) -> Array:
    """Move segments of an array, in their order, one after another to its front, and return the front."""
    at = 0
    for segment in segments:
        size = segment.stop - segment.start
        values[at : at + size] = values[segment]
        at += size
    return values[:at]


@njit
def _sign(rows: Rows, start: int, stop: int, keys: Array, signature: Array) -> None:
    indptr, indices = rows
    for h in range(start, stop):
        for x in range(indptr[h], indptr[h + 1]):
            signature[indices[x]] += keys[h]


@njit
def _number_signatures(signature: Array, costly: Array, number: Array) -> int:
    """Give numbers to signatures in the order of first appearance; acquisitions that met no node share none.

    Returns
    -------
    int
        How many numbers there are.
    """
    n_slots = 4
    while n_slots < 2 * signature.size:
        n_slots *= 2
    table = np.full(n_slots, FREE, np.int32)
    count = 0
    for j in range(signature.size):
        if not costly[j]:
            continue
        slot = np.int64(signature[j] >> np.uint64(1)) % n_slots
        while table[slot] != FREE and signature[table[slot]] != signature[j]:
            slot = (slot + 1) % n_slots
        first = table[slot]
        if first != FREE and signature[j] != 0:
            number[j] = number[first]
        else:
            table[slot] = j
            number[j] = count
            count += 1
    return count


@njit
def _write_rows(
    rows: Rows, start: int, stop: int, number: Array, place: Array, row_size: Array, written: Array, counts: Array
) -> int:
    """Write the numbers in some rows, each once in a row; count how many members and how many rows each number has.

    Numbers that several acquisitions share have a place in ``counts``, zeros with columns for the last row plus one,
    for rows and for members. Rows are written one after another from where the first one begins; where they end is
    returned.
    """
    indptr, indices = rows
    at = int(indptr[start])
    for h in range(start, stop):
        begin = at
        for x in range(indptr[h], indptr[h + 1]):
            g = number[indices[x]]
            if g == FREE:
                continue
            k = place[g]
            if k != ALONE:
                counts[k, N_MET] += 1
                if counts[k, LAST_ROW] == h + 1:
                    continue
                counts[k, LAST_ROW] = h + 1
                counts[k, N_ROWS] += 1
            written[at] = g
            at += 1
        row_size[h] = at - begin
    return at


@njit
def _merge_nodes(parent: Array, gain: Array, split_cost: Array, indptr: Array, node: Array) -> int:
    count = 0
    for h in range(parent.size):
        if gain[h] > 0 and split_cost[h] == 0 and indptr[h] == indptr[h + 1]:
            node[h] = node[parent[h]] if parent[h] >= 0 else -1
        else:
            node[h] = count
            count += 1
    return count
