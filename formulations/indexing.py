"""The rows and columns of every formulation, block by block in the order of the models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from formulations.specification import ModelSpecification
from ipforest._arrays import IntArray
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Block

__all__ = ["ancestor_lists", "columns", "nodes_below_first_use", "rows", "tree_leaves", "triple_index"]


def columns(specification: ModelSpecification) -> tuple[Block, ...]:
    """Return the names of the variables: z or x of the nodes, w^(t) of the triples, w of the acquisitions."""
    instance = specification.instance
    tree = (
        Block("x", (instance.internal_nodes,))
        if specification.formulation == "closure"
        else Block("z", (np.arange(instance.n_nodes),))
    )
    if specification.formulation == "ip0":
        return (tree,)
    acquired = Block("w", (instance.acquisition_unit, instance.acquisition_example))
    if specification.formulation in ("ip3", "lp1"):
        return tree, Block("w_tree", triple_index(instance)), acquired
    return tree, acquired


def rows(specification: ModelSpecification) -> tuple[Block, ...]:
    """Return the names of the constraints."""
    instance = specification.instance
    paths = Block("one_leaf_per_path", (tree_leaves(instance),))
    if specification.formulation == "ip0":
        return (paths,)
    triples = triple_index(instance)
    match specification.formulation:
        case "ip1":
            triple, node = nodes_below_first_use(instance)
            unit, example = (part[triple] for part in triples[1:])
            return paths, Block("acquired_above_leaf", (node, unit, example))
        case "ip2":
            return paths, Block("usage_in_tree", triples)
        case "ip3" | "lp1":
            budget = (Block("within_budget"),) if specification.formulation == "lp1" else ()
            return paths, Block("usage_in_tree", triples), Block("usage_anywhere", triples), *budget
        case "compact":
            return paths, Block("usage_unless_stopped", triples)
    below = instance.internal_nodes[instance.parent >= 0]
    return Block("kept_under_parent", (below,)), Block("acquired_where_kept", triples)


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


def nodes_below_first_use(instance: PruningInstance) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """List the nodes strictly below each triple's first use on its example's path: triple and node of each.

    Raises
    ------
    ValueError
        The instance holds no ``example_leaf``.
    """
    if instance.example_leaf is None:
        raise ValueError("instance: expected example_leaf, the leaf of each example in each tree, got None")
    tree, _, example = triple_index(instance)
    leaf = instance.example_leaf[tree, example]
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
