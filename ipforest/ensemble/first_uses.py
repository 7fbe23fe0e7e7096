"""First uses: where examples first need each unit, found by climbing from the leaves.

Threads share trees, so results do not depend on their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, Int32Array, IntArray, read_only
from ipforest._internal.kernels import inner_njit, njit, run_in_slices
from ipforest.costs import FeatureCosts
from ipforest.ensemble.routing import accumulate_to_ancestors, depth_first_ranges

TREES_THAT_SORT = 3
"""Examples are alike when they reach the same leaves in so many trees."""


class FirstUses(NamedTuple):
    """Where examples first need each unit.

    Parameters
    ----------
    indptr, indices : ndarray of int64 (n_internal + 1,) and int32 (n_triples,)
        CSR rows over the internal nodes: the needed pairs that are needed there first, ascending.
    example, unit : ndarray of int64, shape (n_pairs,)
        The pairs that are needed in any tree: unit by unit, examples that reach the same leaves side by side. A node's
        row then lies close together, which is what makes passes over all rows fast.
    n_passing : ndarray of int64, shape (n_internal,)
        Examples that pass each internal node: |S_h|.
    """

    indptr: IntArray
    indices: Int32Array
    example: IntArray
    unit: IntArray
    n_passing: IntArray


class Passing(NamedTuple):
    """Which examples pass each node: those of node h are ``examples[first[h]:last[h]]``.

    Parameters
    ----------
    examples : ndarray of int32
        Tree after tree, those that reach neighbouring leaves side by side.
    first, last : ndarray of int64, shape (n_nodes,)
    """

    examples: Int32Array
    first: IntArray
    last: IntArray

    @classmethod
    def of(cls, parent: Array, tree_offsets: IntArray, leaves: Array, counted: BoolArray | None = None) -> Passing:
        """Sort examples by the leaves that they reach; see `ipforest.ensemble.trees.Trees.passing`."""
        begin, end = depth_first_ranges(parent)
        examples, used = [], 0
        first, last = np.empty(parent.size, dtype=np.int64), np.empty(parent.size, dtype=np.int64)
        for tree, reached in enumerate(leaves):
            rows = np.arange(reached.size) if counted is None else np.flatnonzero(counted[:, tree])
            places = begin[reached[rows]]
            order = np.argsort(places, kind="stable")
            nodes = slice(*tree_offsets[tree : tree + 2].tolist())
            first[nodes] = used + np.searchsorted(places[order], begin[nodes])
            last[nodes] = used + np.searchsorted(places[order], end[nodes])
            examples.append(rows[order].astype(np.int32))
            used += rows.size
        return cls(np.concatenate(examples), first, last)


def first_uses(parent: Array, feature: Array, tree_offsets: IntArray, leaves: Array, costs: FeatureCosts) -> FirstUses:
    """Find where examples first need each unit: u_{t,k,i} of the papers; of delayed features, in which round.

    Parameters
    ----------
    parent, feature : ndarray of int32, shape (n_nodes,)
        Of trees; features are negative at leaves.
    tree_offsets : ndarray of int64, shape (n_trees + 1,)
    leaves : ndarray of int32, shape (n_trees, n_samples)
        Where each example ends in each tree, over all nodes.
    costs : FeatureCosts
    """
    if costs.delayed.any():
        return _uses_in_rounds(parent, feature, Passing.of(parent, tree_offsets, leaves), leaves, costs)
    counts = np.bincount(leaves.ravel(), minlength=parent.size)[:, None]
    accumulate_to_ancestors(parent, counts)
    n_passing = counts[:, 0]
    alike_together, internal = _alike_together(leaves), feature >= 0
    leaves = leaves[:, alike_together]
    needs = first_needs(parent, feature, costs.unit_indptr, costs.unit_indices)
    needed = np.zeros((leaves.shape[1], costs.n_units), dtype=np.uint8)
    mark_needs(needs, leaves, needed)
    by_unit = np.ascontiguousarray(needed.T)
    pair_index = np.cumsum(by_unit, dtype=np.int32).reshape(by_unit.shape) - np.int32(1)
    row_sizes = n_passing * np.diff(needs.indptr)
    ends = np.cumsum(row_sizes)
    indices = np.empty(int(ends[-1]), dtype=np.int32)
    fill_first_uses(needs, leaves, pair_index, n_passing, ends - row_sizes, indices)
    unit, example = np.nonzero(by_unit)
    indptr = np.concatenate([[0], ends[internal]])
    return FirstUses(indptr, indices, alike_together[example], unit, n_passing[internal])


def _uses_in_rounds(parent: Array, feature: Array, passing: Passing, leaves: Array, costs: FeatureCosts) -> FirstUses:
    """Find what each node needs where the values of some features come in the next round only.

    What a node below a delayed test first needs, all examples need that pass the highest delayed test above it.
    """
    order, internal = _alike_together(leaves), np.flatnonzero(feature >= 0)
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    needs = first_needs(parent, feature, costs.unit_indptr, costs.unit_indices)
    decided_at = _decided_at(parent, feature, costs)
    n_samples, keys = order.size, [np.empty(0, dtype=np.int64)]
    for node in internal.tolist():
        above = decided_at[node]
        examples = np.sort(rank[passing.examples[passing.first[above] : passing.last[above]]])
        units = needs.units[needs.indptr[node] : needs.indptr[node + 1]].astype(np.int64)
        keys.append((units[:, None] * n_samples + examples).ravel())
    pairs, indices = np.unique(np.concatenate(keys), return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum([key.size for key in keys[1:]], dtype=np.int64)])
    n_passing = (passing.last - passing.first)[internal]
    return FirstUses(indptr, indices.astype(np.int32), order[pairs % n_samples], pairs // n_samples, n_passing)


def _alike_together(leaves: Array) -> IntArray:
    """Order examples so that those that reach the same leaves stand side by side."""
    return np.asarray(np.lexsort(leaves[:TREES_THAT_SORT][::-1]))


def _decided_at(parent: Array, feature: Array, costs: FeatureCosts) -> IntArray:
    """Return for each node the highest delayed test above it, at which it is decided to buy; else the node itself.

    A feature is delayed at the first test on a path that needs its unit; below that its value is known.
    """
    numbers = np.arange(costs.n_features + 1, dtype=np.int32)
    first_test = np.diff(first_needs(parent, feature, numbers, costs.first_unit).indptr) > 0
    waits = first_test & (feature >= 0) & costs.delayed_features[feature]
    highest = np.full(parent.size, -1)
    for node, above in enumerate(parent.tolist()):
        if above >= 0:
            highest[node] = above if highest[above] < 0 and waits[above] else highest[above]
    return np.where(highest >= 0, highest, np.arange(parent.size))


class FirstNeeds(NamedTuple):
    """The units that no node above has needed, which are the same for all examples that pass a node.

    Parameters
    ----------
    above : ndarray of int32, shape (n_nodes,)
        Nearest node above that needs a unit first, -1 without one.
    indptr, units : ndarray of int64 (n_nodes + 1,) and int32
        Node h needs ``units[indptr[h]:indptr[h + 1]]`` first, ascending.
    """

    above: Array
    indptr: Array
    units: Array


def first_needs(parent: Array, feature: Array, unit_indptr: Array, unit_indices: Array) -> FirstNeeds:
    """Find the units that each node needs first; feature f needs ``unit_indices[unit_indptr[f]:unit_indptr[f + 1]]``.

    ``feature`` (n_nodes,) is negative at leaves.
    """
    return FirstNeeds(*_first_needs(*map(read_only, (parent, feature, unit_indptr, unit_indices))))


@njit
def _first_needs(parent: Array, feature: Array, unit_indptr: Array, unit_indices: Array) -> tuple[Array, Array, Array]:
    most = 0
    for node in range(parent.size):
        if feature[node] >= 0:
            most += unit_indptr[feature[node] + 1] - unit_indptr[feature[node]]
    above, indptr, units = (
        np.empty(parent.size, np.int32),
        np.zeros(parent.size + 1, np.int64),
        np.empty(most, np.int32),
    )
    for node in range(parent.size):
        nearest = parent[node]
        if nearest >= 0 and indptr[nearest] == indptr[nearest + 1]:
            nearest = above[nearest]
        above[node] = nearest
        end = indptr[node]
        if feature[node] >= 0:
            for position in range(unit_indptr[feature[node]], unit_indptr[feature[node] + 1]):
                if not _is_needed_from(nearest, above, indptr, units, unit_indices[position]):
                    units[end] = unit_indices[position]
                    end += 1
        indptr[node + 1] = end
    return above, indptr, units


@inner_njit
def _is_needed_from(node: int, above: Array, indptr: Array, units: Array, unit: int) -> bool:
    """Return whether a node, or one above it, needs a unit first."""
    while node >= 0:
        for position in range(indptr[node], indptr[node + 1]):
            if units[position] == unit:
                return True
        node = above[node]
    return False


def mark_needs(needs: FirstNeeds, leaves: Array, needed: Array) -> None:
    """Mark in ``needed`` (n_samples, n_units) the units that each example needs in any tree."""
    run_in_slices(lambda trees: _mark_needs(needs, leaves[trees], needed), leaves.shape[0], leaves.size)


@njit
def _mark_needs(needs: FirstNeeds, leaves: Array, needed: Array) -> None:
    for tree in range(leaves.shape[0]):
        for i in range(leaves.shape[1]):
            node = needs.above[leaves[tree, i]]
            while node >= 0:
                for position in range(needs.indptr[node], needs.indptr[node + 1]):
                    needed[i, needs.units[position]] = 1
                node = needs.above[node]


def fill_first_uses(
    needs: FirstNeeds, leaves: Array, pair_index: Array, n_passing: Array, next_position: Array, indices: Array
) -> None:
    """Write the (example, unit) pairs first needed at each node into CSR ``indices``, rows ascending.

    ``pair_index`` (n_units, n_samples) numbers the pairs; ``n_passing`` (n_nodes,) counts the examples that pass each
    node; ``next_position`` (n_nodes,) holds where each node's row starts, and is moved on by so many.
    """

    def fill(trees: slice) -> None:
        _fill_first_uses(needs, leaves[trees], pair_index, n_passing, next_position, indices)

    run_in_slices(fill, leaves.shape[0], leaves.size)


@njit
def _fill_first_uses(
    needs: FirstNeeds, leaves: Array, pair_index: Array, n_passing: Array, next_position: Array, indices: Array
) -> None:
    for tree in range(leaves.shape[0]):
        for i in range(leaves.shape[1]):
            node = needs.above[leaves[tree, i]]
            while node >= 0:
                x = next_position[node]
                for position in range(needs.indptr[node], needs.indptr[node + 1]):
                    indices[x] = pair_index[needs.units[position], i]
                    x += n_passing[node]
                next_position[node] += 1
                node = needs.above[node]
