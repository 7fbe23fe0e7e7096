"""STreeD's optimal trees with costs of features, on columns that thresholds make binary.

J. van der Linden, M. de Weerdt, E. Demirovic, "Necessary and Sufficient Conditions for Optimal Decision Trees using
Dynamic Programming", NeurIPS 2023; the package pystreed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.costs import NO_GROUP, FeatureCosts
from ipforest.ensemble.forest import Forest

N_THRESHOLDS = 5
"""Most thresholds of a column: those of a small tree on it alone."""


def optimal_tree(
    X: Array,
    y: IntArray,
    costs: FeatureCosts,
    class_costs: FloatArray,
    depth: int,
    time_limit: float,
    seed: int,
    *,
    tune: bool = True,
) -> Forest:
    """Train the tree of least cost of tests and mistakes together; it knows groups, but no delays.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
    y : array of int64, shape (n_samples,)
        Classes 0, 1, ...
    costs : FeatureCosts
    class_costs : ndarray of float64, shape (n_classes, n_classes)
        What it costs to predict the class of the column where that of the row is true.
    depth : int
    time_limit : float
        In seconds.
    seed : int
    tune : bool, default=True
        Whether the size of the tree is chosen by cross-validation.

    Returns
    -------
    Forest
        One tree.
    """
    from pystreed import STreeDCostSensitiveClassifier
    from pystreed.cstreed import CostSpecifier, FeatureCostSpecifier

    cuts = [_thresholds(column, y) for column in X.T]
    tests = [(feature, threshold) for feature, found in enumerate(cuts) for threshold in found]
    binary = np.column_stack([X[:, feature] <= threshold for feature, threshold in tests]).astype(np.int32)
    ends = np.cumsum([len(found) for found in cuts]).tolist()
    prices = [
        FeatureCostSpecifier(*_prices_of(costs, feature), end - len(cuts[feature]), end - 1)
        for feature, end in enumerate(ends)
        if cuts[feature]
    ]
    model = STreeDCostSensitiveClassifier(max_depth=depth, hyper_tune=tune, time_limit=time_limit, random_seed=seed)
    model.fit(binary, y, CostSpecifier(class_costs.tolist(), prices))
    return _as_forest(model.get_tree(), tests, X.shape[1], class_costs.shape[0])


def _thresholds(column: Array, y: Array) -> list[float]:
    """Find the thresholds of a column."""
    tree = DecisionTreeClassifier(max_leaf_nodes=N_THRESHOLDS + 1, random_state=0).fit(column[:, None], y).tree_
    return sorted(tree.threshold[tree.children_left >= 0].tolist())


def _prices_of(costs: FeatureCosts, feature: int) -> tuple[float, float, str]:
    """Return the price of a feature alone, its price in its group, and the group's name."""
    group, price = int(costs.groups[feature]), float(costs.prices[feature])
    return (price, price, "x") if group == NO_GROUP else (price + float(costs.group_fees[group]), price, f"g{group}")


def _as_forest(root: Any, tests: list[tuple[int, float]], n_features: int, n_classes: int) -> Forest:
    """Write STreeD's tree as arrays; its right child is where the test holds."""
    nodes, children = [root], []
    for node in nodes:
        below = () if node.is_leaf_node() else (node.right_child, node.left_child)
        children.append(range(len(nodes), len(nodes) + len(below)))
        nodes.extend(below)
    left, right = ([kids[side] if kids else -1 for kids in children] for side in (0, 1))
    asked = [(-1, 0.0) if node.is_leaf_node() else tests[node.feature] for node in nodes]
    labels = [node.label if node.is_leaf_node() else 0 for node in nodes]
    return Forest(
        tree_offsets=np.array([0, len(nodes)]),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        feature=np.array([feature for feature, _ in asked], dtype=np.int32),
        threshold=np.array([threshold for _, threshold in asked]),
        missing_left=np.zeros(len(nodes), dtype=bool),
        n_features=n_features,
        value=np.eye(n_classes)[labels],
        weight=np.ones(len(nodes)),
        n_samples=np.ones(len(nodes), dtype=np.int64),
        impurity=np.zeros(len(nodes)),
        classes=np.arange(n_classes),
        criterion="gini",
        dtype=np.dtype(np.float64),
    )
