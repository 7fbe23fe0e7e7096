"""What the readers of other libraries share: trees, one by one, put into the flat arrays of `Trees`; names, classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from ipforest._internal.arrays import Array
from ipforest.ensemble.category_sets import CategorySets, Members
from ipforest.ensemble.trees import LEAF


class TreeNodes(NamedTuple):
    """One tree; the root is node 0, nodes that it does not lead to are left out.

    Parameters
    ----------
    left, right : array of int, shape (n_nodes,)
        Children, -1 at leaves.
    feature : array of int, shape (n_nodes,)
    threshold : array of float, shape (n_nodes,)
    missing_left : array of bool, shape (n_nodes,)
    value : array of float, shape (n_nodes,) or (n_nodes, n_values)
    cover : array of float, shape (n_nodes,)
        What passed each node in training.
    left_categories : dict of int to Members, optional
        Of the nodes that test a category: which categories go left.
    """

    left: Any
    right: Any
    feature: Any
    threshold: Any
    missing_left: Any
    value: Any
    cover: Any
    left_categories: Mapping[int, Members] = MappingProxyType({})


def join_trees(trees: Sequence[TreeNodes]) -> dict[str, Any]:
    """Return the fields of `Trees`, ``value`` and ``cover``, parents before their children.

    Raises
    ------
    ValueError
        There are no trees.
    """
    if not trees:
        raise ValueError("model: expected at least one tree, got none")
    orders = [_breadth_first(tree.left, tree.right) for tree in trees]
    offsets = np.concatenate([[0], np.cumsum([order.size for order in orders])])
    numbered = [number for number, tree in enumerate(trees) for _ in tree.left_categories]
    fields: dict[str, list[Array]] = {name: [] for name in ("left", "right", "category_set")}
    for tree, order, start in zip(trees, orders, offsets.tolist(), strict=False):
        new_number = np.full(np.size(tree.left), LEAF)
        new_number[order] = np.arange(order.size) + start
        for name in ("left", "right"):
            old = np.asarray(getattr(tree, name))[order]
            fields[name].append(np.where(old == LEAF, LEAF, new_number[old]))
        sets = np.full(np.size(tree.left), -1)
        sets[list(tree.left_categories)] = np.arange(len(tree.left_categories))
        fields["category_set"].append(sets[order])
    first_set = np.searchsorted(numbered, np.arange(len(trees)))
    sets = np.concatenate(fields.pop("category_set"))
    tree_of_node = np.repeat(np.arange(len(trees)), np.diff(offsets))
    joined = {name: np.concatenate(parts).astype(np.int32) for name, parts in fields.items()}
    is_leaf = joined["left"] == LEAF

    def taken(name: str) -> Array:
        return np.concatenate(
            [np.asarray(getattr(tree, name))[order] for tree, order in zip(trees, orders, strict=True)]
        )

    values = taken("value").astype(np.float64)
    return {
        "tree_offsets": offsets,
        **joined,
        "feature": np.where(is_leaf, LEAF, taken("feature")).astype(np.int32),
        "threshold": np.where(is_leaf, 0.0, taken("threshold").astype(np.float64)),
        "missing_left": taken("missing_left").astype(bool) & ~is_leaf,
        "category_set": np.where(sets < 0, -1, sets + first_set[tree_of_node]).astype(np.int32),
        "left_categories": CategorySets.of(row for tree in trees for row in tree.left_categories.values()),
        "value": values if values.ndim == 2 else values[:, None],
        "cover": taken("cover").astype(np.float64),
    }


def _breadth_first(left: Any, right: Any) -> Array:
    order = [0]
    for node in order:
        if left[node] != LEAF:
            order += [left[node], right[node]]
    return np.array(order)


def classes_of_margins(model: Any, link: str, n_margins: int) -> Array | None:
    """Return the labels of a classifier, numbers where the model does not keep them; None for regression.

    Raises
    ------
    TypeError
        Two classes have a margin each, or a classifier was trained by a loss of targets, a regressor by one of classes.
    """
    kind = type(model).__name__
    if link in ("identity", "log"):
        if isinstance(model, ClassifierMixin):
            raise TypeError(f"model: expected a loss of classes, got {kind} with one of targets; train a regressor")
        return None
    if isinstance(model, RegressorMixin):
        if n_margins > 1:
            raise TypeError(f"model: expected one target, got {kind} with {n_margins} classes; train a classifier")
        return None
    classes = np.asarray(getattr(model, "classes_", np.arange(max(2, n_margins))))
    if n_margins == classes.size == 2:
        raise TypeError(
            "model: expected one margin for two classes, got one for each; train it with the objective for two classes"
        )
    return classes
