"""The first trees of an ensemble: what they cost together, and the ensemble cut short."""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import FloatArray, Int32Array
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.results import Pruning


def first_trees(forest: Forest, n_trees: int) -> Forest:
    """Return the forest of the first trees alone; without any, the first tree's root."""
    if n_trees == 0:
        first = first_trees(forest, 1)
        return first.prune(Pruning(np.zeros(first.n_internal, dtype=bool)))
    return forest.first(n_trees)


def staged_costs(forest: Forest, leaves: Int32Array, costs: FeatureCosts) -> FloatArray:
    """Compute what an example pays on average for the first trees, by their number.

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of int32, shape (n_trees, n_samples)
        Where the examples end.
    costs : FeatureCosts

    Returns
    -------
    ndarray of float64, shape (n_trees + 1,)
        From no tree to all.
    """
    uses = forest.first_uses(leaves, costs)
    tree_of_node = forest.tree_of_node[forest.internal_nodes]
    first_tree = np.full(uses.unit.size, forest.n_trees)
    np.minimum.at(first_tree, uses.indices, np.repeat(tree_of_node, np.diff(uses.indptr)))
    prices = costs.float_unit_costs[uses.unit]
    bought = np.bincount(first_tree, weights=prices, minlength=forest.n_trees)
    averages: FloatArray = np.concatenate([[0.0], np.cumsum(bought)]) / leaves.shape[1]
    return averages
