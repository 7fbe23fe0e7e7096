"""Stage-wise regression (Friedman, 2001): the first trees of a boosted ensemble, as many as the budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipforest.classifier_trees.boosting_trick import BoostingTrick
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.feature_map import FeatureMap
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator, Examples

N_PREFIXES = 40
"""How many lengths are tried."""


@dataclass(eq=False, repr=False, kw_only=True)
class StagewiseRegression(ClassifierTreeEstimator):
    """Gradient boosting cut off where the budget ends: what learners that know prices are measured against.

    Parameters
    ----------
    feature_map : BoostingTrick or None, default=None
        The boosted trees; None for the default ones.
    feature_costs, split_cost, budget, validation_fraction, random_state
        See `ipforest.classifier_trees.CSTC`.
    """

    loss = "squared"

    feature_map: BoostingTrick | None = None

    def _make_feature_map(self) -> FeatureMap:
        return (
            BoostingTrick(random_state=self.random_state) if self.feature_map is None else super()._make_feature_map()
        )

    def _learn(self, training: Examples, validation: Examples) -> Sequence[tuple[float, ClassifierTree]]:
        """Take the first trees, of several numbers; the tradeoff is the number."""
        n_trees = training.phi.shape[1]
        initial = float(np.mean(training.target))
        lengths = np.unique(np.geomspace(1, n_trees, N_PREFIXES).round().astype(int))
        first = ((np.arange(n_trees) < length).astype(np.float64) for length in lengths)
        return [(float(coef.sum()), ClassifierTree.single(coef, initial)) for coef in first]
