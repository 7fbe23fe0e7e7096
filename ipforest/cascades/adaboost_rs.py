"""AdaBoostRS (Reyzin, 2011): trees of AdaBoost drawn at random by weight per price until the budget is spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from ipforest._arrays import Array, FloatArray, IntArray
from ipforest.cascades.classifier_tree import ClassifierTree
from ipforest.cascades.feature_map import FeatureMap
from ipforest.cascades.tree_estimator import ClassifierTreeEstimator, Examples

N_LENGTHS = 40
"""How many numbers of draws are tried."""


class AdaBoostVotes(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """The trees of AdaBoost as features: each votes -1 or 1.

    Parameters
    ----------
    n_trees : int, default=200
    max_depth : int, default=2
    random_state : int, RandomState instance or None

    Attributes
    ----------
    feature_of_weight_ : sparse array, shape (n_features, n_trees)
        1 where a tree tests a feature.
    tree_weights_ : ndarray of float64, shape (n_trees,)
        AdaBoost's alpha.
    """

    dtype = np.float32

    def __init__(self, n_trees: int = 200, *, max_depth: int = 2, random_state: Any = None) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Boost trees on examples (n_samples, n_features) and labels -1 and 1."""
        boosted = AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=self.max_depth), n_estimators=self.n_trees, random_state=self.random_state
        ).fit(X, y)
        self.trees_ = [tree.tree_ for tree in boosted.estimators_]
        self.tree_weights_ = np.array(boosted.estimator_weights_[: len(self.trees_)])
        used = [np.unique(tree.feature[tree.feature >= 0]) for tree in self.trees_]
        weights = np.repeat(np.arange(len(used)), [features.size for features in used])
        self.feature_of_weight_ = sparse.csr_array(
            (np.ones(weights.size), (np.concatenate(used), weights)), shape=(X.shape[1], len(used))
        )
        return self

    def transform(self, X: Array, columns: IntArray | None = None) -> FloatArray:
        """Let the trees vote, shape (n_samples, n_weights)."""
        examples = np.asarray(X, dtype=np.float32)
        which = np.arange(len(self.trees_)) if columns is None else columns
        phi = np.empty((examples.shape[0], which.size))
        for position, tree in enumerate(which):
            leaf = self.trees_[tree].predict(examples)
            phi[:, position] = np.where(leaf[:, -1] > leaf[:, 0], 1.0, -1.0)
        return phi


class AdaBoostRS(ClassifierTreeEstimator):
    """AdaBoost whose trees are drawn at random, in proportion to weight over price, as many as the budget allows.

    A tree that is drawn votes with its price, so that the expected vote is AdaBoost's. The draw is made once, in `fit`,
    for all examples; average over `random_state` to judge the method.

    Parameters
    ----------
    n_trees : int, default=200
    max_depth : int, default=2
        Of the trees that AdaBoost grows.
    feature_costs, groups, group_fees, split_cost, budget, validation_fraction, random_state
        See `ipforest.cascades.CSTC`.

    Notes
    -----
    Reyzin's paper ("Boosting on a budget: sampling for feature-efficient prediction", ICML 2011) is not at hand; Xu et
    al. (2014), section 6.3, say only that trees are drawn inversely proportional to their cost. A tree's price here is
    that of its features alone and of its tests; trees that are free are always evaluated.
    """

    loss = "logistic"

    def __init__(
        self,
        *,
        n_trees: int = 200,
        max_depth: int = 2,
        feature_costs: Any = None,
        groups: Any = None,
        group_fees: Any = None,
        split_cost: Any = 0,
        budget: Any = None,
        validation_fraction: float | None = 0.25,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_fees = group_fees
        self.split_cost = split_cost
        self.budget = budget
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    feature_map_: AdaBoostVotes

    def _make_feature_map(self) -> FeatureMap:
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return AdaBoostVotes(self.n_trees, max_depth=self.max_depth, random_state=seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def _learn(self, training: Examples, validation: Examples) -> Sequence[tuple[float, ClassifierTree]]:
        """Draw trees; the tradeoff is the number of draws."""
        alpha = self.feature_map_.tree_weights_
        price = self.resources_.needs @ self.resources_.prices
        priced = price > 0
        always = np.where(priced, 0.0, alpha)
        if not (alpha[priced] > 0).any():
            return [(0.0, ClassifierTree.single(always))]
        chance = np.divide(alpha, price, out=np.zeros_like(alpha), where=priced)
        chance /= chance.sum()
        n_draws = 5 * alpha.size
        draws = check_random_state(self.random_state).choice(alpha.size, size=n_draws, p=chance)
        lengths = np.unique(np.geomspace(1, n_draws, N_LENGTHS).round().astype(int))
        found = []
        for length in lengths:
            drawn = np.bincount(draws[:length], minlength=alpha.size) * price
            coef = always + drawn * (alpha[priced].sum() / drawn.sum())
            found.append((float(length), ClassifierTree.single(coef)))
        return found
