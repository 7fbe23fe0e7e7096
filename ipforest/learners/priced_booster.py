"""Boosting's inner step: one more tree on the residuals, which pays for the units that no tree before has used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FloatArray
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.estimator.checks import check_choice, check_integer, check_positive
from ipforest.growing import AcquisitionState, CodedExamples, Gradient, Grower, GrownTree, forest_of
from ipforest.growing.acquisition import CHARGES, Charge
from ipforest.growing.codes import check_max_bins
from ipforest.settings import Settings, checked

TINY = 1e-150


@dataclass(frozen=True, slots=True, repr=False)
class PricedGrowth(Settings):
    """How boosted trees grow that pay for what is new to the ensemble.

    Parameters
    ----------
    learning_rate : float, default=0.1
    charge : {"path", "tree", "node"}, default="path"
        How often a tree pays for a feature that no earlier tree has used. With "path", once along each path from the
        root, so that a path is charged what an example on it would pay; with "tree", at the first of its nodes, in the
        order of their numbers, that tests the feature, as the paper charges; with "node", at each node that tests it,
        as the program of the paper's authors charges. It steers the growing alone; what examples pay stays what they
        buy.
    max_depth : int, default=3
    min_samples_leaf : int, default=1
    max_bins : int or None, default=255
        Thresholds lie between so many bins per feature; with None between any two values.
    """

    parameter: ClassVar[str] = "growth"

    learning_rate: float = checked(0.1, check_positive)
    charge: Charge = checked("path", check_choice, CHARGES)
    max_depth: int = checked(3, check_integer, 1)
    min_samples_leaf: int = checked(1, check_integer, 1)
    max_bins: int | None = checked(255, check_max_bins)


class PricedBooster:
    """Grow trees of least squared distance to residuals plus the price of the units that are new to all trees.

    Parameters
    ----------
    examples : ndarray of float32, shape (n_samples, n_features)
    costs : FeatureCosts
    lam : float
        What a unit of cost is worth in squared error, halved and averaged over the examples.
    growth : PricedGrowth
    """

    def __init__(
        self, examples: npt.NDArray[np.float32], costs: FeatureCosts, *, lam: float, growth: PricedGrowth
    ) -> None:
        self._examples, self._n_features = examples, costs.n_features
        self._coded = CodedExamples.from_examples(examples, growth.max_bins)
        self._costs, self._charge = costs, growth.charge
        self.restart()
        self._grower = Grower(
            Gradient(),
            max_depth=growth.max_depth,
            min_samples_leaf=growth.min_samples_leaf,
            price_weight=lam * len(examples),
        )

    def restart(self) -> None:
        """Forget the trees: their units have to be paid for again."""
        self._state = AcquisitionState.per_ensemble(self._costs, charge=self._charge)

    def grow(self, residuals: FloatArray, curvature: FloatArray, step: float, scores: FloatArray) -> list[GrownTree]:
        """Grow one tree per column of scores, each buying what it uses; their leaves take Newton's steps.

        Parameters
        ----------
        residuals, curvature : ndarray of float64, shape (n_samples, n_columns)
            Negative gradient, and second derivative, of each example's loss.
        step : float
            Factor of the leaf values.
        scores : ndarray of float64, shape (n_samples, n_columns)
            What the trees say is added to it.
        """
        trees = []
        for column in range(scores.shape[1]):
            tree, gains = self._grow_tree(residuals[:, column], curvature[:, column], step)
            scores[:, column] += gains
            trees.append(tree)
        return trees

    def _grow_tree(self, residuals: FloatArray, curvature: FloatArray, step: float) -> tuple[GrownTree, FloatArray]:
        """Grow one tree; return what it adds to the scores of the examples, too."""
        tree = self._grower.grow_regressors(self._coded, -residuals[None], np.ones((1, len(residuals))), self._state)
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
