"""Boosting's inner step: one more tree on the residuals, which pays for the units that no tree before has used."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FloatArray
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.growing import AcquisitionState, CodedExamples, Gradient, Grower, GrownTree, forest_of

TINY = 1e-150


class PricedBooster:
    """Grow trees of least squared distance to residuals plus the price of the units that are new to all trees.

    Parameters
    ----------
    examples : ndarray of float32, shape (n_samples, n_features)
    costs : FeatureCosts
    lam : float
        What a unit of cost is worth in squared error, halved and averaged over the examples.
    max_depth, min_samples_leaf : int
    max_bins : int or None
    """

    def __init__(
        self,
        examples: npt.NDArray[np.float32],
        costs: FeatureCosts,
        *,
        lam: float,
        max_depth: int,
        min_samples_leaf: int,
        max_bins: int | None,
    ) -> None:
        self._examples, self._n_features = examples, costs.n_features
        self._coded = CodedExamples.from_examples(examples, max_bins)
        self._state = AcquisitionState.per_ensemble(costs)
        self._grower = Grower(
            Gradient(), max_depth=max_depth, min_samples_leaf=min_samples_leaf, price_weight=lam * len(examples)
        )

    def grow(self, residuals: FloatArray, curvature: FloatArray, step: float) -> tuple[GrownTree, FloatArray]:
        """Grow one tree, and buy what it uses; its leaves take Newton's steps.

        Parameters
        ----------
        residuals, curvature : ndarray of float64, shape (n_samples,)
            Negative gradient, and second derivative, of each example's loss.
        step : float
            Factor of the leaf values.

        Returns
        -------
        tree : GrownTree
        gains : ndarray of float64, shape (n_samples,)
            What it adds to the scores of the examples.
        """
        tree = self._grower.grow_regressor(self._coded, -residuals, np.ones(len(residuals)), self._state)
        structure = self.forest([tree])
        leaves = structure.leaves(self._examples)
        sums = structure.reach_sums(leaves, [residuals, curvature])
        values = np.where(np.abs(sums[:, 1]) < TINY, 0.0, sums[:, 0] / np.maximum(sums[:, 1], TINY))
        tree.value[:, 0] = step * values
        self._state.record(np.bincount(tree.feature[tree.left >= 0], minlength=self._n_features)[None])
        return tree, tree.value[leaves[0], 0]

    def forest(self, trees: list[GrownTree]) -> Forest:
        """Put grown trees into a forest whose values are steps of scores."""
        return forest_of(trees, self._n_features, None, "squared_error")
