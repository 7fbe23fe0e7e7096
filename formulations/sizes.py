"""Sizes of the formulations in closed form, and the papers' counts."""

from __future__ import annotations

import numpy as np

from formulations.base import Formulation, ModelSize
from formulations.registry import formulation
from ipforest.instance import PruningInstance

__all__ = ["ModelSize", "papers_bound", "size"]


def size(name: str | Formulation, instance: PruningInstance) -> ModelSize:
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
    return formulation(name).size(instance)


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
