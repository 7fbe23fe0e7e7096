"""ASTC: the approximately submodular tree of classifiers of Kusner et al. (2014): features chosen greedily per node."""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray
from ipforest.classifier_trees.block_descent import DescentSettings, centred_moments, fit_leaf
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.cstc import CSTC
from ipforest.classifier_trees.fine_tuning import without_cost
from ipforest.classifier_trees.objective import Objective
from ipforest.classifier_trees.relaxed_tree import Prune

COLLINEAR = 1e-9
"""Share of its variance up to which a column counts as explained by the chosen ones."""


def greedy_leaf(objective: Objective, tree: ClassifierTree, node: int, settings: DescentSettings) -> ClassifierTree:
    """Fit a leaf on features that are chosen greedily; what nodes above it use is free."""
    reach = tree.traverse(tree.scores(objective.phi))[0][:, node]
    if not (objective.sample_weight * reach).any():
        return tree
    above = np.flatnonzero(tree.on_path[node] & (np.arange(tree.n_nodes) != node))
    bought = np.asarray(objective.resources.used(tree.coef[above]).any(axis=1))
    support = choose_greedily(objective, reach, bought)
    alone = ClassifierTree.single(np.zeros(support.size))
    fitted = fit_leaf(without_cost(objective, reach, support), alone, 0, settings)
    coef = np.zeros(tree.coef.shape[1])
    coef[support] = fitted.coef[0]
    return tree.with_node(node, coef, float(fitted.intercept[0]))


def choose_greedily(objective: Objective, reach: FloatArray, bought: BoolArray) -> IntArray:
    """Choose weights by forward regression: the fall of half the mean squared error per price, the largest first.

    Parameters
    ----------
    objective : Objective
        Its lambda is the least fall per price, its rho the least fall of a weight that is free.
    reach : ndarray of float64, shape (n_samples,)
        How likely each example reaches the node; the price counts for these only.
    bought : ndarray of bool, shape (n_resources,)
        What is paid for already.

    Returns
    -------
    ndarray of int, shape (n_used,)
        Ascending.
    """
    weight = objective.sample_weight * reach * objective.share
    _, _, gram, moment = centred_moments(objective.phi, objective.target, weight)
    resources, share = objective.resources, float((objective.sample_weight * reach) @ objective.share)
    bought, open_ = bought.copy(), np.diag(gram) > 0
    spread = np.diag(gram).copy()
    chosen: list[int] = []
    while open_.any():
        fall, variance = np.zeros(moment.size), np.maximum(np.diag(gram), COLLINEAR * spread)
        np.divide(0.5 * moment**2, variance, out=fall, where=open_)
        price = share * (resources.needs @ np.where(bought, 0.0, resources.prices))
        worth = fall - objective.lam * price - objective.rho
        if (worth[open_] <= 0).all():
            break
        ratio = np.where(open_ & (worth > 0), fall / np.maximum(price, np.finfo(float).tiny), 0.0)
        best = int(np.argmax(np.where(ratio == ratio.max(), fall, -1.0)))
        chosen.append(best)
        bought |= resources.used(np.eye(1, moment.size, best))[:, 0]
        column = gram[best] / np.sqrt(gram[best, best])
        moment = moment - column * (moment[best] / np.sqrt(gram[best, best]))
        gram = gram - np.outer(column, column)
        open_[best] = False
        open_ &= np.diag(gram) > COLLINEAR * spread
    return np.sort(np.array(chosen, dtype=np.int64))


class ASTC(CSTC):
    """A `CSTC` whose nodes choose their features greedily: the most explained variance per price first.

    Each node, from the root downwards, takes one feature after another, each time the one that most lowers the squared
    loss of its examples per price, until the best lowers it by less than lambda times its price. What its path has
    bought is free. Nothing is relaxed, and no node is optimised again: training is much faster than that of `CSTC`.

    Parameters
    ----------
    loss, objective, feature_map, descent, validation_fraction, n_jobs
        See `CSTC`; ``objective.rho`` is the fall in loss for which a feature that is free is still used.
    feature_costs, split_cost, budget, random_state, class_costs, scoring
        See `CSTC`.

    Notes
    -----
    The paper of Kusner et al. ("Feature-cost sensitive learning with submodular trees of classifiers", AAAI 2014) is
    not at hand; those that cite it give its idea, greedy choice by the approximately submodular explained variance.
    Left open, and settled here: a node's budget is set by lambda, thresholds stay where they send half of the examples
    up, and with logistic loss the features are chosen by squared loss on labels -1 and 1, as in the others.
    """

    fit_node = staticmethod(greedy_leaf)

    def _optimised(
        self, objective: Objective, tree: ClassifierTree, held_out: Objective, prune: Prune | None
    ) -> ClassifierTree:
        return tree
