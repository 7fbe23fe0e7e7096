"""Sizes of the formulations in closed form, and the papers' counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.registry import formulation
from ipforest.instance import PruningInstance

__all__ = ["ModelSize", "papers_bound", "size"]


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Number of variables and constraints; bounds on single variables are not counted."""

    variables: int
    constraints: int


def size(name: str, instance: PruningInstance) -> ModelSize:
    r"""Count variables and constraints without building the model.

    With n nodes, m of them internal and r of these roots, L leaves, W acquisitions (k, i) and U triples (t, k, i):

    ========  ==============  ==========================================================
    name      variables       constraints
    ========  ==============  ==========================================================
    ip0       n               L
    ip1       n + W           L + sum over triples of (depth of i's leaf in t - depth of u)
    ip2       n + W           L + U
    ip3       n + U + W       L + 2 U
    compact   n + W           L + U
    closure   m + W           m - r + U
    lp1       n + U + W       L + 2 U + 1
    ========  ==============  ==========================================================

    The papers state ``ip3``'s as bounds, see `papers_bound`.

    Raises
    ------
    ValueError
        Unknown name, or no routing for ``ip1``.
    """
    formulation(name)
    nodes, leaves, internal = instance.n_nodes, instance.n_leaves, instance.n_internal
    pairs, triples = instance.n_acquisitions, instance.n_triples
    match name:
        case "ip0":
            return ModelSize(nodes, leaves)
        case "ip1":
            return ModelSize(nodes + pairs, leaves + _nodes_below(instance))
        case "ip2" | "compact":
            return ModelSize(nodes + pairs, leaves + triples)
        case "ip3":
            return ModelSize(nodes + triples + pairs, leaves + 2 * triples)
        case "lp1":
            return ModelSize(nodes + triples + pairs, leaves + 2 * triples + 1)
    roots = int(np.count_nonzero(instance.parent < 0))
    return ModelSize(internal + pairs, internal - roots + triples)


def papers_bound(instance: PruningInstance) -> ModelSize:
    r"""Bound the size of ``ip3`` as the optimal-pruning paper does (section 4, "Complexity").

    .. math:: T |\mathcal{T}_{max}| + N T K_{max} + N \min\{T K_{max}, K\}

    variables and :math:`T |\tilde{\mathcal{T}}_{max}| + 2 N T K_{max}` constraints, where K_max is the largest number
    of units that an example uses in a tree.
    """
    trees, examples = instance.n_trees, instance.n_examples
    nodes = np.diff(instance.tree_offsets)
    internal = np.diff(instance.internal_offsets)
    tree = instance.triple_tree.astype(np.int64)
    example = instance.acquisition_example[instance.indices]
    used = np.bincount(tree * examples + example, minlength=1)
    most = int(used.max())
    return ModelSize(
        trees * int(nodes.max()) + examples * trees * most + examples * min(trees * most, instance.n_units),
        trees * int((nodes - internal).max()) + 2 * examples * trees * most,
    )


def _nodes_below(instance: PruningInstance) -> int:
    if instance.example_leaf is None:
        raise ValueError("instance: expected example_leaf, the leaf of each example in each tree, got None")
    leaf = instance.example_leaf[instance.triple_tree, instance.acquisition_example[instance.indices]]
    first_use = instance.internal_nodes[instance.triple_node]
    return int((instance.node_depth[leaf] - instance.node_depth[first_use]).sum())
