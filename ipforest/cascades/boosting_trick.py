"""The boosting trick (section 5): limited-depth regression trees as features of linear classifiers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import GradientBoostingRegressor

from ipforest._arrays import Array, FloatArray, IntArray


class BoostingTrick(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Limited-depth regression trees as features: phi(x) = (h_1(x), ..., h_T(x)), section 5.

    The trees come from gradient boosting with squared loss. A weight on one needs all features that the tree tests.

    Parameters
    ----------
    n_trees : int, default=100
        T; 3,000 in section 6.2.
    max_depth : int, default=4
    learning_rate : float, default=0.1
        Trees are scaled by it, so that weights of 1 make the boosted ensemble.
    max_features : float or None, default=None
        Share of the features that each split looks at; see `sklearn.ensemble.GradientBoostingRegressor`.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    feature_of_weight_ : sparse array, shape (n_features, n_trees)
        F of section 5.1.
    initial_ : float
        What the ensemble starts from: the mean target.
    """

    dtype = np.float32

    def __init__(
        self,
        n_trees: int = 100,
        *,
        max_depth: int = 4,
        learning_rate: float = 0.1,
        max_features: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.max_features = max_features
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Grow the trees on examples (n_samples, n_features) and targets (n_samples,)."""
        boosted = GradientBoostingRegressor(
            n_estimators=self.n_trees,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            max_features=self.max_features,
            random_state=self.random_state,
        ).fit(X, y)
        self.trees_ = [tree.tree_ for tree in boosted.estimators_[:, 0]]
        self.initial_ = float(np.mean(y))
        used = [np.unique(tree.feature[tree.feature >= 0]) for tree in self.trees_]
        weights = np.repeat(np.arange(len(used)), [features.size for features in used])
        self.feature_of_weight_ = sparse.csr_array(
            (np.ones(weights.size), (np.concatenate(used), weights)), shape=(X.shape[1], len(used))
        )
        return self

    def transform(self, X: Array, columns: IntArray | None = None) -> FloatArray:
        """Evaluate the trees, shape (n_samples, n_weights)."""
        examples = np.asarray(X, dtype=np.float32)
        which = np.arange(len(self.trees_)) if columns is None else columns
        phi = np.empty((examples.shape[0], which.size))
        for position, tree in enumerate(which):
            phi[:, position] = self.trees_[tree].predict(examples)[:, 0]
        phi *= self.learning_rate
        return phi
