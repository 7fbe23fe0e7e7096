"""Splits of a grown tree judged by brute force: every cut of every feature, in plain Python."""

import numpy as np

from ipforest.growing import GrownTree


def members_of_nodes(tree: GrownTree, X):
    """Rows of the examples that pass each node."""
    members = {0: np.arange(len(X))}
    for node in range(tree.n_nodes):
        if tree.left[node] < 0:
            continue
        values = X[members[node], tree.feature[node]]
        left = np.where(np.isnan(values), tree.missing_left[node], values <= tree.threshold[node])
        members[int(tree.left[node])] = members[node][left]
        members[int(tree.right[node])] = members[node][~left]
    return members


def units_above(tree: GrownTree, costs):
    """Units that the tests above each node have bought."""
    above = {0: frozenset()}
    for node in range(tree.n_nodes):
        if tree.left[node] >= 0:
            units = above[node] | set(units_of(tree.feature[node], costs))
            above[int(tree.left[node])] = above[int(tree.right[node])] = units
    return above


def units_of(feature, costs):
    return costs.unit_indices[costs.unit_indptr[feature] : costs.unit_indptr[feature + 1]].tolist()


def cuts(column):
    """Every way to cut a feature: masks of the examples that go left."""
    missing = np.isnan(column)
    values = np.unique(column[~missing])
    for value in values[:-1]:
        yield np.where(missing, False, column <= value)
        if missing.any():
            yield np.where(missing, True, column <= value)
    if missing.any() and values.size:
        yield ~missing


def class_reduction(impurity, reduction, labels, weights, left, n_classes):
    """What a cut reduces, and the impurity before."""

    def of(mask):
        counts = np.bincount(labels[mask], weights=weights[mask], minlength=n_classes)
        return impurity.of(counts), counts.sum()

    (whole, total), (a, a_weight), (b, b_weight) = of(np.ones(len(labels), dtype=bool)), of(left), of(~left)
    if reduction == "minimax":
        return whole - max(a, b)
    if reduction == "expected":
        return whole - (a * a_weight + b * b_weight) / total
    if impurity.is_normalised:
        return whole * total - a * a_weight - b * b_weight
    return whole - a - b


def price_per_example(feature, costs, owned, bought, weights):
    """Average price of a feature for the examples of a node; `bought` has a row per example, or is None."""
    price = 0.0
    for unit in units_of(feature, costs):
        if unit not in owned:
            lacking = np.ones(len(weights)) if bought is None else ~bought[:, unit]
            price += float(costs.unit_costs[unit]) * (lacking * weights).sum() / weights.sum()
    return price
