"""The boosting trick (section 5): limited-depth regression trees as features of linear classifiers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest._internal.rational import nonnegative_fraction
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.growing.acquisition import AcquisitionState
from ipforest.growing.codes import CodedExamples
from ipforest.growing.grower import Grower, forest_of
from ipforest.growing.impurities import Gradient


@dataclass(eq=False, repr=False)
class BoostingTrick(BaseEstimator):
    """Limited-depth regression trees as features: phi(x) = (h_1(x), ..., h_T(x)), section 5.

    The trees come from gradient boosting with squared loss. A weight on one needs all features that the tree tests.

    Parameters
    ----------
    n_trees : int, default=100
        T; 3,000 in section 6.2.
    max_depth : int, default=4
    learning_rate : float, default=0.1
        Trees are scaled by it, so that weights of 1 make the boosted ensemble.
    max_bins : int or None, default=64
        Thresholds that are tried per feature; see `ipforest.growing.codes.CodedExamples`.
    evaluation_cost : number or sequence of numbers, shape (n_trees,), default=0
        What evaluating a tree costs, e_t of (21), once per example; 1 for each in the paper, whose unit of cost it is.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    forest_ : Forest
        The trees, not scaled; they fit what is left of the target less its mean.
    feature_of_weight_ : sparse array, shape (n_features, n_trees)
        F of section 5.1.
    evaluation_cost_ : ndarray of float64, shape (n_trees,)
    """

    dtype = np.float32

    n_trees: int = 100
    _: KW_ONLY
    max_depth: int = 4
    learning_rate: float = 0.1
    max_bins: int | None = 64
    evaluation_cost: Any = 0
    random_state: Any = None

    def fit(self, X: Array, y: Array) -> Self:
        """Grow the trees on examples (n_samples, n_features) and targets (n_samples,).

        Raises
        ------
        TypeError, ValueError
            Costs of evaluation that are no numbers >= 0, or not one per tree.
        """
        self.evaluation_cost_ = self._evaluation_costs()
        examples = check_array(X, dtype=self.dtype, ensure_all_finite="allow-nan", input_name="X")
        n_samples, n_features = examples.shape
        coded = CodedExamples.from_examples(examples, self.max_bins)
        grower = Grower(Gradient(), max_depth=self.max_depth, price_weight=0.0)
        free = AcquisitionState.per_tree(FeatureCosts.uniform(n_features))
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_trees)
        trees, rest, ones = [], y - np.mean(y), np.ones((1, n_samples))
        for seed in seeds.tolist():
            trees.append(grower.grow_regressors(coded, -rest[None], ones, free, seeds=[seed]))
            alone = forest_of(trees[-1:], n_features, None, "squared_error")
            rest = rest - self.learning_rate * alone.predict(examples)
        self.forest_ = forest_of(trees, n_features, None, "squared_error")
        self.feature_of_weight_ = features_of_trees(self.forest_)
        return self

    def _evaluation_costs(self) -> FloatArray:
        given = self.evaluation_cost
        costs = np.ravel(given) if np.ndim(given) else np.repeat(given, self.n_trees)
        if costs.size != self.n_trees:
            raise ValueError(
                f"evaluation_cost: expected a number, or one for each of {self.n_trees} trees, got {costs.size}"
            )
        return np.array([float(nonnegative_fraction(cost, "evaluation_cost")) for cost in costs.tolist()])

    def transform(self, X: Array, columns: IntArray | None = None) -> FloatArray:
        """Evaluate the trees, shape (n_samples, n_weights)."""
        leaves = self.forest_.leaves(np.asarray(X, dtype=np.float32))
        which = leaves if columns is None else leaves[columns]
        return np.ascontiguousarray(self.learning_rate * self.forest_.value[which, 0].T)


def features_of_trees(forest: Forest) -> Any:
    """Return F of section 5.1, a sparse array of shape (n_features, n_trees): 1 where a tree tests a feature."""
    tree = forest.tree_of_node
    tests = forest.feature >= 0
    uses = sparse.coo_array(
        (np.ones(tests.sum()), (forest.feature[tests], tree[tests])), shape=(forest.n_features, forest.n_trees)
    ).tocsr()
    uses.data[:] = 1
    return uses
