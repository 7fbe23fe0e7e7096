"""BudgetForest: averaged trees that pay for features together, pruned exactly, grown anew on what is bought."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest.ensemble.forest import Forest
from ipforest.growing import AcquisitionState, CodedExamples, Gini, Grower, bootstrap_counts, forest_of
from ipforest.instance import PruningInstance
from ipforest.learners.forest_pruner import Labelled
from ipforest.learners.joint_frontier import (
    MOST_COST_ROWS,
    JointFrontier,
    check_integer,
    price_scale,
    sample_of,
    spread_prunings,
)
from ipforest.path import prune_path
from ipforest.results import Pruning

DEAREST, CHEAPEST = 0.2, 2e-3
"""Growing prices a typical unit at these shares of the impurity of all examples, and some between; and at nothing."""

UNAFFORDABLE = 1e12


class BudgetForest(JointFrontier):
    """Classify by averaged trees that pay for features together: pruned exactly, grown anew, stopped when sure.

    Forests are grown at several prices, the first at none; an example pays for a unit in the first tree that tests it,
    and has it in all that follow. Each is pruned along the exact path. What the training examples buy in a pruned
    forest is then free: a new forest of deep trees is *regrown* on that alone, so each example is judged by all that
    was bought for it. On validation examples it is learnt when to stop buying. All of that gives one frontier of cost
    and error.

    Parameters
    ----------
    n_estimators : int, default=50
        Trees per forest.
    max_features : int or None, optional
        Features that a split is chosen from, drawn at random; by default the square root of their number. Regrown
        trees choose from all that are bought.
    min_samples_leaf : int, default=1
    max_bins : int or None, default=64
        Thresholds lie between so many bins per feature; with None between any two values.
    n_lambdas : int, default=4
        Prices at which forests are grown, no price included.
    n_prunings : int, default=5
        Prunings of each of them that are tried; 0 to prune nothing.
    regrow : bool, default=True
        Whether trees are grown anew on what a pruned forest buys.
    loss : {"gini", "entropy", "misclassification"}, default="gini"
        What the nodes of a pruning lose; see `ipforest.losses.node_errors`.
    stopping, feature_costs, groups, group_fees, budget, max_cost, validation_fraction
        See `BudgetBoost`.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, bootstrap samples and subsets of features.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_, classes_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BudgetForest
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetForest(10, n_lambdas=2, n_prunings=2, budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_features: int | None = None,
        min_samples_leaf: int = 1,
        max_bins: int | None = 64,
        n_lambdas: int = 4,
        n_prunings: int = 5,
        regrow: bool = True,
        loss: str = "gini",
        stopping: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        group_fees: Any = None,
        budget: Any = None,
        max_cost: Any = None,
        validation_fraction: float | None = 0.25,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.n_lambdas = n_lambdas
        self.n_prunings = n_prunings
        self.regrow = regrow
        self.loss = loss
        self.stopping = stopping
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_fees = group_fees
        self.budget = budget
        self.max_cost = max_cost
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _check_growing(self) -> None:
        for name in ("n_estimators", "min_samples_leaf"):
            check_integer(getattr(self, name), name, 1)
        if self.max_features is not None:
            check_integer(self.max_features, "max_features", 1)
        if self.loss not in ("gini", "entropy", "misclassification"):
            raise ValueError(f"loss: expected 'gini', 'entropy' or 'misclassification', got {self.loss!r}")

    def _ensembles(self, training: Labelled, validation: Labelled, random: Any) -> Iterator[Forest]:
        X = np.ascontiguousarray(training.X, dtype=np.float32)
        coded = CodedExamples.from_examples(X, self.max_bins)
        labels = np.searchsorted(self.classes_, training.y)
        paying = sample_of(training, MOST_COST_ROWS, random)
        shares = np.bincount(labels, training.weight) / training.weight.sum()
        dearest = float(1 - np.square(shares).sum()) / price_scale(self.costs_)
        priced = dearest * np.geomspace(DEAREST, CHEAPEST, self.n_lambdas - 1)
        n_tried = self._n_tried(X.shape[1])
        for lam in (0.0, *priced.tolist()):
            state = AcquisitionState.per_example(self.costs_, labels.size)
            grower = self._grower(lam, n_tried)
            forest = self._grow(grower, X, coded, labels, training.weight, state, random)
            if lam == 0:
                yield forest.prune(Pruning(np.zeros(forest.n_internal, dtype=bool)))
            yield forest
            path = prune_path(PruningInstance.from_forest(forest, paying.X, self.costs_, self.loss))
            for _, pruning in spread_prunings(path, self.n_prunings):
                pruned = forest.prune(pruning).without_bare_roots()
                yield pruned
                if self.regrow:
                    owned = AcquisitionState.per_example(self.costs_, labels.size)
                    owned.record_trees(pruned, pruned.leaves(X))
                    yield self._grow(
                        self._grower(UNAFFORDABLE, X.shape[1]), X, coded, labels, training.weight, owned, random
                    )

    def _n_tried(self, n_features: int) -> int:
        return max(1, int(np.sqrt(n_features))) if self.max_features is None else min(self.max_features, n_features)

    def _grower(self, lam: float, n_tried: int) -> Grower:
        return Grower(Gini(), min_samples_leaf=self.min_samples_leaf, max_features=n_tried, price_weight=float(lam))

    def _grow(
        self,
        grower: Grower,
        X: npt.NDArray[np.float32],
        coded: CodedExamples,
        labels: npt.NDArray[np.int64],
        weight: npt.NDArray[np.float64],
        state: AcquisitionState,
        random: Any,
    ) -> Forest:
        """Grow trees one after another; what one tests is bought for all that follow."""
        trees = []
        for _ in range(self.n_estimators):
            drawn = bootstrap_counts(labels.size, random) * weight
            if not drawn.any():
                drawn = weight
            seed = int(random.randint(2**31))
            tree = grower.grow_classifier(coded, labels, len(self.classes_), state, weights=drawn, seed=seed)
            alone = forest_of([tree], X.shape[1], self.classes_, "gini")
            state.record_trees(alone, alone.leaves(X))
            trees.append(tree)
        return forest_of(trees, X.shape[1], self.classes_, "gini")
