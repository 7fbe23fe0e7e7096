"""BudgetBoost: boosted trees that pay for features, pruned exactly, refitted, and stopped when they are sure."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.refitting import mean_loss, refit_by_newton
from ipforest.growing import CodedExamples, Gradient, Grower
from ipforest.growing.boosting import Boosting
from ipforest.instance import PruningInstance
from ipforest.learners.alternation import alternate
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

REFITS = ("newton", "alternate", None)
DEAREST, CHEAPEST = 0.2, 2e-4
"""Growing prices a typical unit at these shares of the loss of the best constant, and some between."""

N_ROUNDS_A_TIME = 10


class BudgetBoost(JointFrontier):
    """Classify by boosted trees that pay for features: grown at several prices, pruned exactly, stopped when sure.

    For each of several lambdas, trees are boosted on log loss, and a split pays for the units that its examples have
    not bought in any tree. Greedy growth buys too little, since the first tree that uses a unit pays for all; so the
    trees are grown at small lambdas and pruned at larger ones along the exact path. The leaves of what is left are
    refitted. On validation examples it is learnt when to stop buying. All of that gives one frontier of cost and error.

    Parameters
    ----------
    n_estimators : int, default=100
        Most rounds; each grows one tree, with more than two classes one per class. Growing stops early when the
        validation loss has not fallen in 20 rounds.
    learning_rate : float, default=0.1
    max_leaf_nodes : int, default=16
    min_samples_leaf : int, default=5
    l2 : float, default=1
        Penalty on squared leaf values.
    max_bins : int or None, default=64
        Thresholds lie between so many bins per feature; with None between any two values.
    n_lambdas : int, default=6
        Prices at which trees are grown.
    n_prunings : int, default=4
        Prunings of each of them that are tried; 0 to prune nothing.
    refit : {"newton", "alternate", None}, default="newton"
        How pruned trees are refitted: stage by stage by Newton steps; or by `alternate`, which refits all leaves
        jointly and grows trees on what is bought; or not.
    stopping : StoppingRule or sequence of StoppingRule, optional
        As in `EarlyExit`; an empty sequence to stop nobody.
    feature_costs, groups, group_fees
        See `BudgetPrune`.
    budget : number, optional
        What an example may cost on average; without one, as much as lowers the error.
    max_cost : number, optional
        What no example may pay more than.
    validation_fraction : float or None, default=0.25
        Share of the examples held out where `fit` gets no validation examples; with None, the training examples.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part and breaks ties between features.

    Attributes
    ----------
    members_, frontier_, choice_, trees_, costs_, n_features_in_, classes_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BudgetBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetBoost(20, n_lambdas=2, n_prunings=2, budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 16,
        min_samples_leaf: int = 5,
        l2: float = 1.0,
        max_bins: int | None = 64,
        n_lambdas: int = 6,
        n_prunings: int = 4,
        refit: str | None = "newton",
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
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.max_bins = max_bins
        self.n_lambdas = n_lambdas
        self.n_prunings = n_prunings
        self.refit = refit
        self.stopping = stopping
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_fees = group_fees
        self.budget = budget
        self.max_cost = max_cost
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _check_growing(self) -> None:
        for name, least in (("n_estimators", 1), ("max_leaf_nodes", 2), ("min_samples_leaf", 1)):
            check_integer(getattr(self, name), name, least)
        for name, allowed in (("learning_rate", self.learning_rate), ("l2", self.l2)):
            if not isinstance(allowed, Real) or not 0 < allowed < np.inf:
                raise ValueError(f"{name}: expected a finite number > 0, got {allowed!r}")
        if self.refit not in REFITS:
            raise ValueError(f"refit: expected one of {', '.join(map(repr, REFITS))}, got {self.refit!r}")

    def _ensembles(self, training: Labelled, validation: Labelled, random: Any) -> Iterator[BoostedTrees]:
        X = np.ascontiguousarray(training.X, dtype=np.float32)
        coded = CodedExamples.from_examples(X, self.max_bins)
        data = Boosting(X, coded, training.y, training.weight, self.classes_, self.costs_, self.learning_rate)
        paying = sample_of(training, MOST_COST_ROWS, random)
        start = data.start()
        yield start
        dearest = mean_loss(start, X, data.y, data.weight) / price_scale(self.costs_)
        for lam in dearest * np.geomspace(DEAREST, CHEAPEST, self.n_lambdas):
            grower = Grower(
                Gradient(self.l2),
                max_leaf_nodes=self.max_leaf_nodes,
                min_samples_leaf=self.min_samples_leaf,
                price_weight=float(lam),
            )
            grown = self._grow(data, start, grower, validation, random)
            if grown.n_internal:
                yield grown
                yield from self._pruned(data, grown, grower, paying)

    def _grow(
        self, data: Boosting, start: BoostedTrees, grower: Grower, validation: Labelled, random: Any
    ) -> BoostedTrees:
        """Grow until the validation loss has not fallen for twice as many rounds as grow at a time; cut there."""
        trees, losses, sizes = start, [mean_loss(start, validation.X, validation.y)], [start.n_trees]
        for done in range(0, self.n_estimators, N_ROUNDS_A_TIME):
            seed = int(random.randint(2**31 - self.n_estimators))
            trees = data.go_on(trees, min(N_ROUNDS_A_TIME, self.n_estimators - done), grower, seed)
            if trees.n_trees == sizes[-1]:
                break
            losses.append(mean_loss(trees, validation.X, validation.y))
            sizes.append(trees.n_trees)
            if int(np.argmin(losses)) + 2 < len(losses):
                break
        return trees.first(sizes[int(np.argmin(losses))])

    def _pruned(self, data: Boosting, grown: BoostedTrees, grower: Grower, paying: Labelled) -> Iterator[BoostedTrees]:
        """Prune at several lambdas, and refit."""
        if self.n_prunings == 0:
            return
        errors = (data.examples, data.y, data.weight)
        path = prune_path(PruningInstance.from_boosted(grown, paying.X, self.costs_, errors))
        for lam, pruning in spread_prunings(path, self.n_prunings):
            pruned = grown.prune(pruning)
            if self.refit == "alternate":
                yield alternate(data, grown, lam, grower, l2=self.l2).trees
            elif self.refit == "newton":
                yield refit_by_newton(pruned, *errors, learning_rate=self.learning_rate, l2=self.l2)
            else:
                yield pruned
