"""The L1 baseline of section 5: features, classifier and gate one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import l1_min_c

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.adaptive.approximation import AdaptiveApproximation, PairSearch, Training
from ipforest.adaptive.candidates import GatedPair
from ipforest.adaptive.gated_policy import LinearScores
from ipforest.choosing.lambdas import geometric_grid, swept_lambdas
from ipforest.classifier_trees.feature_map import ScaledFeatures
from ipforest.learners.greedy_miser import Logistic, Squared
from ipforest.settings import Grouped

INTERCEPT_SCALING = 10.0
"""How much less than other weights liblinear penalises the intercept."""

NO_PENALTY = 1e6


@dataclass(eq=False, repr=False, kw_only=True)
class L1Baseline(AdaptiveApproximation):
    """Choose features by L1-regularised logistic regression, fit the classifier on them, then the gate on its mistakes.

    The gate is a logistic regression that tells the classifier's mistakes on training examples; it sends the given
    share of them, those of the highest scores, to the full model. Prices have no say in the choice of features.

    Parameters
    ----------
    estimator, search, feature_costs, budget, max_cost, class_costs
        See `AdaptiveApproximation`. ``search`` is a `PairSearch`; lambda is the weight of the L1 norm against the mean
        loss.
    scoring, validation_fraction, n_jobs, scale, random_state
        See `AdaptiveApproximation` and `LinearApproximation`.
    """

    _search = Grouped(PairSearch)

    scale: bool = True

    def _settings(self, training: Training) -> Sequence[tuple[float, float]]:
        """List the lambdas; each gives the pairs of all shares.

        Raises
        ------
        ValueError
            More than two classes.
        """
        if training.targets.shape[1] > 1:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: expected two classes "
                f"in y, got {training.targets.shape[1]}"
            )
        self.feature_map_ = ScaledFeatures(scale=self.scale).fit(training.X, training.targets)
        self._phi, self._labels = self.feature_map_.transform(training.X), training.targets[:, 0].astype(int)
        return [(np.nan, lam) for lam in swept_lambdas(self._search.lambdas, self._grid)]

    def _grid(self, size: int) -> list[float]:
        least = l1_min_c(self._phi, self._labels, loss="log", intercept_scaling=INTERCEPT_SCALING)
        return geometric_grid(1 / (least * len(self._phi)), size)

    def _learn(self, training: Training, share: float, lam: float) -> list[GatedPair]:
        """Choose features, fit classifier and gate; cut the gate's scores at each share of the training examples."""
        used = self._chosen_features(lam)
        weights = self._fit_on(used, self._labels)
        wrong = (self._scores(weights) > 0) != self._labels
        prices = self.costs_.feature_prices
        cheap = LinearScores(weights, self.feature_map_, prices, Logistic())
        gate_weights = self._fit_on(used, wrong)
        gate = LinearScores(gate_weights, self.feature_map_, prices, Squared())
        cuts = np.quantile(self._scores(gate_weights), 1 - np.asarray(self._search.shares, dtype=np.float64))
        return [
            GatedPair(gate, cheap, float(part), lam, 1, float(cut))
            for part, cut in zip(self._search.shares, cuts, strict=True)
        ]

    def _chosen_features(self, lam: float) -> IntArray:
        penalty = 1 / (lam * len(self._phi)) if lam else NO_PENALTY
        sparse = LogisticRegression(
            l1_ratio=1, C=penalty, solver="liblinear", intercept_scaling=INTERCEPT_SCALING, random_state=0
        )
        return np.flatnonzero(sparse.fit(self._phi, self._labels).coef_[0])

    def _fit_on(self, used: IntArray, labels: Array) -> FloatArray:
        """Fit a logistic regression on some features; give its weights and, last, its intercept, as a column."""
        weights = np.zeros((self._phi.shape[1] + 1, 1))
        weights[-1] = Logistic().base(np.asarray(labels, dtype=np.float64)[:, None])
        if used.size and np.unique(labels).size == 2:
            model = LogisticRegression(max_iter=1000).fit(self._phi[:, used], labels)
            weights[used, 0], weights[-1, 0] = model.coef_[0], model.intercept_[0]
        return weights

    def _scores(self, weights: FloatArray) -> FloatArray:
        return np.asarray(self._phi @ weights[:-1, 0] + weights[-1, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = replace(tags.classifier_tags, multi_class=False)
        return tags
