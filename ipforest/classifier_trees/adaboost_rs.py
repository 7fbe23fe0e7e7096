"""AdaBoostRS (Reyzin, 2011): trees of AdaBoost drawn at random by weight per price until the budget is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state

from ipforest._internal.arrays import Array, FloatArray, IntArray
from ipforest.classifier_trees.boosting_trick import features_of_trees
from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.feature_map import FeatureMap
from ipforest.classifier_trees.tree_estimator import ClassifierTreeEstimator, Examples
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.growing.acquisition import AcquisitionState
from ipforest.growing.codes import CodedExamples
from ipforest.growing.grower import Grower, GrownTree, forest_of
from ipforest.growing.impurities import Gini

CHANCE = 0.5
"""Error of a tree that tells nothing."""

N_LENGTHS = 40
"""How many numbers of draws are tried."""


@dataclass(eq=False, repr=False)
class AdaBoostVotes(BaseEstimator):
    """The trees of AdaBoost as features: each votes -1 or 1.

    Parameters
    ----------
    n_trees : int, default=200
        At most: boosting ends with a tree without errors, or before one no better than chance.
    max_depth : int, default=2
    max_bins : int or None, default=64
        Thresholds that are tried per feature; see `ipforest.growing.codes.CodedExamples`.
    random_state : int, RandomState instance or None
        Breaks ties between splits.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    feature_of_weight_ : sparse array, shape (n_features, n_trees)
        1 where a tree tests a feature.
    tree_weights_ : ndarray of float64, shape (n_trees,)
        AdaBoost's alpha.
    """

    dtype = np.float32

    n_trees: int = 200
    _: KW_ONLY
    max_depth: int = 2
    max_bins: int | None = 64
    random_state: Any = None

    def fit(self, X: Array, y: Array) -> Self:
        """Boost trees on examples (n_samples, n_features) and labels -1 and 1."""
        examples = check_array(X, dtype=self.dtype, ensure_all_finite="allow-nan", input_name="X")
        label = (np.asarray(y) > 0).astype(np.int64)
        n_samples, n_features = examples.shape
        coded = CodedExamples.from_examples(examples, self.max_bins)
        grower = Grower(Gini(), reduction="total", max_depth=self.max_depth, price_weight=0.0)
        free = AcquisitionState.per_tree(FeatureCosts.uniform(n_features))
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_trees)
        trees, alphas, weight = list[GrownTree](), list[float](), np.ones(n_samples)
        for seed in seeds.tolist():
            tree = grower.grow_classifiers(coded, label, 2, free, weight[None], [seed])
            alone = forest_of([tree], n_features, np.array([-1, 1]), "gini")
            wrong = _votes(alone)[alone.leaves(examples)[0]] != np.where(label, 1.0, -1.0)
            error = float(weight @ wrong) / n_samples
            if error >= CHANCE and trees:
                break
            trees.append(tree)
            alphas.append(float(np.log1p(-error) - np.log(error)) if error > 0 else 1.0)
            if not 0 < error < CHANCE:
                break
            weight = np.where(wrong, weight * np.exp(alphas[-1]), weight)
            weight *= n_samples / weight.sum()
        self.forest_ = forest_of(trees, n_features, np.array([-1, 1]), "gini")
        self.tree_weights_, self.feature_of_weight_ = np.array(alphas), features_of_trees(self.forest_)
        return self

    def transform(self, X: Array, columns: IntArray | None = None) -> FloatArray:
        """Let the trees vote, shape (n_samples, n_weights)."""
        leaves = self.forest_.leaves(np.asarray(X, dtype=np.float32))
        return np.ascontiguousarray(_votes(self.forest_)[leaves if columns is None else leaves[columns]].T)


def _votes(forest: Forest) -> FloatArray:
    """Return what each node votes, shape (n_nodes,)."""
    return np.where(forest.value[:, 1] > forest.value[:, 0], 1.0, -1.0)


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostRS(ClassifierTreeEstimator):
    """AdaBoost whose trees are drawn at random, in proportion to weight over price, as many as the budget allows.

    A tree that is drawn votes with its price, so that the expected vote is AdaBoost's. The draw is made once, in `fit`,
    for all examples; average over `random_state` to judge the method.

    Parameters
    ----------
    n_trees : int, default=200
    max_depth : int, default=2
        Of the trees that AdaBoost grows.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What mistakes cost, as in `ipforest.EarlyExit`: the number of draws is chosen by it; the trees are boosted and
        drawn without regard to it.
    scoring : {None, "total cost"}, default=None
        See `ipforest.EarlyExit`.
    feature_costs, split_cost, budget, validation_fraction, random_state
        See `ipforest.classifier_trees.CSTC`.

    Notes
    -----
    Reyzin's paper ("Boosting on a budget: sampling for feature-efficient prediction", ICML 2011) is not at hand; Xu et
    al. (2014), section 6.3, say only that trees are drawn inversely proportional to their cost. A tree's price here is
    that of its features alone and of its tests; trees that are free are always evaluated.
    """

    loss = "logistic"

    n_trees: int = 200
    max_depth: int = 2
    class_costs: Any = None
    scoring: str | None = None

    def _make_feature_map(self) -> FeatureMap:
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return AdaBoostVotes(self.n_trees, max_depth=self.max_depth, random_state=seed)

    def _learn(self, training: Examples, validation: Examples) -> Sequence[tuple[float, ClassifierTree]]:
        """Draw trees; the tradeoff is the number of draws."""
        alpha = cast("AdaBoostVotes", self.feature_map_).tree_weights_
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
