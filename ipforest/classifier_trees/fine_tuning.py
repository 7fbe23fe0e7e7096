"""Fine-tuning (section 3.5): what answers is fitted again without the cost, zero weights staying zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.classifier_trees.block_descent import DescentSettings, update_node
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.objective import Objective
from ipforest.classifier_trees.relaxation import PathCost
from ipforest.classifier_trees.resources import Resources


def fine_tuned(
    objective: Objective, tree: ClassifierTree, settings: DescentSettings, validation: Objective | None = None
) -> ClassifierTree:
    """Fit what each terminal element answers by to the examples that leave by it.

    First by the soft probabilities of leaving, as printed, then by the hard thresholds of prediction. Where a node both
    answers and routes (a cascade, a pruned tree), it goes on routing by its old weights.

    Parameters
    ----------
    objective : Objective
    tree : ClassifierTree
    settings : DescentSettings
    validation : Objective, optional
        The objective on validation data; a node's new answers are taken only if they do not raise its loss there.

    Returns
    -------
    ClassifierTree
        Costs the same for every example.
    """
    coef, intercept = (part.copy() for part in tree.answers_by)
    soft, hard = tree.traverse(tree.scores(objective.phi))[1], _leaves_by(tree, objective)
    held_out = None if validation is None else _leaves_by(tree, validation)
    for node in np.flatnonzero(tree.answers):
        support = np.flatnonzero(tree.coef[node])
        for leaving in (soft[:, node], hard[:, node]):
            before = ClassifierTree.single(coef[node, support], float(intercept[node]))
            goal = without_cost(objective, leaving, support)
            scores = before.scores(goal.phi)
            after = update_node(goal, before, 0, scores, goal.value(before, scores), settings)[0]
            if validation is not None and held_out is not None:
                check = replace(without_cost(validation, held_out[:, node], support), rho=0.0, ridge=0.0)
                if check.value(after) > check.value(before):
                    continue
            coef[node, support], intercept[node] = after.coef[0], after.intercept[0]
    return replace(tree, answer_coef=coef, answer_intercept=intercept)


def _leaves_by(tree: ClassifierTree, objective: Objective) -> FloatArray:
    """Return by which terminal element each example leaves under hard thresholds, shape (n_samples, n_nodes)."""
    return np.eye(tree.n_nodes)[tree.route(objective.phi)]


def without_cost(objective: Objective, share: FloatArray, support: IntArray) -> Objective:
    """Return the loss of one classifier on given columns of phi, free of cost.

    Parameters
    ----------
    objective : Objective
    share : ndarray of float64, shape (n_samples,)
        How much of each example counts.
    support : ndarray of int, shape (n_used,)
        Columns of phi.

    Returns
    -------
    Objective
        Of trees of one node over these columns.
    """
    nothing = Resources(objective.resources.members[:0][:, support], np.zeros(0))
    return replace(
        objective,
        phi=objective.phi[:, support],
        sample_weight=objective.sample_weight * share,
        resources=nothing,
        cost=PathCost(nothing),
        lam=0.0,
        exits_pay=False,
    )
