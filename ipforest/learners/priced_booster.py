"""Boosting's inner step: one more tree on the residuals, which pays for the units that no tree before has used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FloatArray
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.growing import AcquisitionState, CodedExamples, Gradient, Grower, GrownTree, forest_of
from ipforest.growing.acquisition import CHARGES, Charge

TINY = 1e-150


def check_charge(charge: Any) -> None:
    """Require one of the ways in which a tree pays for what is new to it.

    Raises
    ------
    ValueError
        It is none.
    """
    if not isinstance(charge, str) or charge not in CHARGES:
        raise ValueError(f"charge: expected one of {', '.join(CHARGES)}, got {charge!r}")


class PricedBooster:
    """Grow trees of least squared distance to residuals plus the price of the units that are new to all trees.

    Parameters
    ----------
    examples : ndarray of float32, shape (n_samples, n_features)
    costs : FeatureCosts
    lam : float
        What a unit of cost is worth in squared error, halved and averaged over the examples.
    charge : {"path", "tree", "node"}
        How often a tree pays for a unit that is new; see `GreedyMiser`.
    max_depth, min_samples_leaf : int
    max_bins : int or None
    """

    def __init__(
        self,
        examples: npt.NDArray[np.float32],
        costs: FeatureCosts,
        *,
        lam: float,
        charge: Charge = "path",
        max_depth: int,
        min_samples_leaf: int,
        max_bins: int | None,
    ) -> None:
        self._examples, self._n_features = examples, costs.n_features
        self._coded = CodedExamples.from_examples(examples, max_bins)
        self._costs, self._charge = costs, charge
        self.restart()
        self._grower = Grower(
            Gradient(), max_depth=max_depth, min_samples_leaf=min_samples_leaf, price_weight=lam * len(examples)
        )

    def restart(self) -> None:
        """Forget the trees: their units have to be paid for again."""
        self._state = AcquisitionState.per_ensemble(self._costs, charge=self._charge)

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
