"""The shape of a tree of classifiers: full and pruned, grown greedily, or a chain (sections 3.4.2, 3.6 and 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ipforest._internal.arrays import FloatArray
from ipforest.classifier_trees.block_descent import DescentSettings, fit_leaf
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.objective import Objective

Measure: TypeAlias = Callable[[ClassifierTree], float]
"""Gives the value of a tree on validation data; less is better."""

NodeFit: TypeAlias = Callable[[Objective, ClassifierTree, int, DescentSettings], ClassifierTree]
"""Fits a leaf from nothing and gives the tree with it; `fit_leaf` is one."""


@dataclass(frozen=True, slots=True, eq=False)
class Initialisation:
    """Where the descent starts: trees whose nodes were fitted one after another, each as if it were a leaf.

    Parameters
    ----------
    objective : Objective
    settings : DescentSettings
        Its ``sent_up`` is the share of the examples at a node that its threshold sends to the upper child.
    fit_node : callable
    """

    objective: Objective
    settings: DescentSettings
    fit_node: NodeFit = fit_leaf

    def full_tree(self, depth: int) -> ClassifierTree:
        """Initialise a balanced tree of 2 ** depth - 1 nodes from the root downwards (section 3.4.2)."""
        tree = self._root()
        for node in range(2 ** (depth - 1) - 1):
            tree = self._split(tree, node)
            for above in (True, False):
                tree = self._with_fitted_child(tree, node, above=above)
        return tree

    def chain(self, n_nodes: int) -> ClassifierTree:
        """Initialise a cascade from left to right (section 4)."""
        tree = self._root()
        for node in range(n_nodes - 1):
            tree = self._with_fitted_child(self._split(tree, node), node, above=True)
        return tree

    def grown(self, validation: FloatArray, measure: Measure, max_nodes: int) -> ClassifierTree:
        """Add the potential node that makes the validation value best, as long as one makes it better (3.6.2).

        Parameters
        ----------
        validation : ndarray of float64, shape (n_validation, n_weights)
            A new node's threshold parts those of these examples that reach it.
        measure : callable
        max_nodes : int
        """
        tree = self._root()
        value = measure(tree)
        potential: dict[tuple[int, bool], ClassifierTree] = {}
        newest = 0
        while tree.n_nodes < max_nodes:
            tree = self._split(tree, newest, validation)
            for above in (True, False):
                potential[newest, above] = self._with_fitted_child(tree, newest, above=above)
            trials = {
                place: tree.with_child(
                    place[0], above=place[1], coef=fitted.coef[-1], intercept=float(fitted.intercept[-1])
                )
                for place, fitted in potential.items()
            }
            values = {place: measure(trial) for place, trial in trials.items()}
            best = min(values, key=values.__getitem__)
            if values[best] >= value:
                break
            tree, value = trials[best], values[best]
            del potential[best]
            newest = tree.n_nodes - 1
        return tree

    def _root(self) -> ClassifierTree:
        root = ClassifierTree.single(np.zeros(self.objective.phi.shape[1]))
        return self.fit_node(self.objective, root, 0, self.settings)

    def _with_fitted_child(self, tree: ClassifierTree, node: int, *, above: bool) -> ClassifierTree:
        tree = tree.with_child(node, above=above, coef=np.zeros(tree.coef.shape[1]), intercept=0.0)
        return self.fit_node(self.objective, tree, tree.n_nodes - 1, self.settings)

    def _split(self, tree: ClassifierTree, node: int, validation: FloatArray | None = None) -> ClassifierTree:
        """Set a leaf's threshold so that a share of the examples that reach it goes to its upper child."""
        goal = self.objective
        phi, share = (goal.phi, goal.share) if validation is None else (validation, 1 / validation.shape[0])
        scores = tree.scores(phi)
        arrival, _ = tree.traverse(scores)
        threshold = quantile_between(scores[:, node], share * arrival[:, node], 1 - self.settings.sent_up)
        return tree.with_node(node, tree.coef[node], float(tree.intercept[node]), threshold)


def pruned(tree: ClassifierTree, measure: Measure) -> ClassifierTree:
    """Take away nodes from the leaves upwards whose removal does not make the validation value worse (3.6.1)."""
    value = measure(tree)
    for node in range(tree.n_nodes - 1, 0, -1):
        if not tree.is_leaf[node]:
            continue
        smaller = tree.without(node)
        smaller_value = measure(smaller)
        if smaller_value <= value:
            tree, value = smaller, smaller_value
    return tree


def quantile_between(values: FloatArray, weights: FloatArray, below: float = 0.5) -> float:
    """Find the midpoint of two neighbouring values that has as nearly as possible a share of the weight below it.

    Parameters
    ----------
    values, weights : ndarray of float64, shape (n_samples,)
    below : float
        The share; with a half it is the median.

    Returns
    -------
    float
        The value itself if there is only one.
    """
    order = np.argsort(values)
    ascending, so_far = values[order], np.cumsum(weights[order])
    ends = np.flatnonzero(np.diff(ascending) > 0)
    if ends.size == 0:
        return float(ascending[0])
    best = ends[np.argmin(np.abs(so_far[ends] - below * so_far[-1]))]
    return float((ascending[best] + ascending[best + 1]) / 2)
