"""Index arrays of an instance that several formulations need: leaves, paths, triples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FloatArray, Int32Array, IntArray
from ipforest.instance import PruningInstance

__all__ = ["ancestor_lists", "kept_reader", "nodes_below_first_use", "required_leaves", "tree_leaves", "triple_index"]


def tree_leaves(instance: PruningInstance) -> IntArray:
    """Leaves of all trees, ascending, shape (n_leaves,)."""
    return np.flatnonzero(instance.is_leaf)


def ancestor_lists(instance: PruningInstance) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """List p(h), h included, root first, for every node: CSR offsets (n_nodes + 1,) and nodes."""
    depth = instance.node_depth
    offsets = np.concatenate([[0], np.cumsum(depth + 1, dtype=np.int64)])
    ancestors = np.empty(offsets[-1], dtype=np.int32)
    place, node = offsets[1:] - 1, np.arange(instance.n_nodes, dtype=np.int32)
    while node.size:
        ancestors[place] = node
        climbs = instance.node_parent[node] >= 0
        place, node = place[climbs] - 1, instance.node_parent[node[climbs]]
    return offsets, ancestors


def kept_reader(instance: PruningInstance) -> Callable[[FloatArray], FloatArray]:
    """Return what reads x_h = 1 - sum of z over p(h), shape (n_internal,), from the z of all nodes."""
    offsets, ancestors = ancestor_lists(instance)
    return lambda z: 1 - np.add.reduceat(z[ancestors], offsets[:-1])[instance.internal_nodes]


def required_leaves(instance: PruningInstance) -> Int32Array:
    """Return the leaf of each example in each tree, shape (n_trees, n_examples).

    Raises
    ------
    ValueError
        The instance holds no ``example_leaf``.
    """
    if instance.example_leaf is None:
        raise ValueError("instance: expected example_leaf, the leaf of each example in each tree, got None")
    return instance.example_leaf


def nodes_below_first_use(instance: PruningInstance) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """List the nodes strictly below each triple's first use on its example's path: triple and node of each.

    Raises
    ------
    ValueError
        The instance holds no ``example_leaf``.
    """
    tree, _, example = triple_index(instance)
    leaf = required_leaves(instance)[tree, example]
    first_use = instance.internal_nodes[instance.triple_node]
    offsets, ancestors = ancestor_lists(instance)
    count = (instance.node_depth[leaf] - instance.node_depth[first_use]).astype(np.int64)
    ends = np.cumsum(count)
    triple = np.repeat(np.arange(count.size), count)
    within = np.arange(triple.size) - np.repeat(ends - count, count)
    start = offsets[leaf] + instance.node_depth[first_use] + 1
    return triple, ancestors[start[triple] + within]


def triple_index(instance: PruningInstance) -> tuple[npt.NDArray[np.int32], ...]:
    """Tree, unit and example of each triple."""
    unit, example = instance.acquisition_unit, instance.acquisition_example
    return instance.triple_tree, unit[instance.indices], example[instance.indices]
