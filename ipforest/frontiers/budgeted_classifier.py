"""BudgetedClassifier: several ways to spend a budget, of which validation examples choose one for each budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy.typing as npt
import pandas as pd
from sklearn.base import clone, is_classifier

from ipforest._internal.arrays import Array
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.libraries import read
from ipforest.estimator import BudgetedEstimator
from ipforest.frontiers.budget_boost import BudgetBoost
from ipforest.frontiers.budget_forest import BudgetForest
from ipforest.frontiers.joint_frontier import JointFrontier, Member
from ipforest.learners.forest_pruner import Labelled
from ipforest.stopping.stages import StagedEstimator
from ipforest.tabular.categories import FROM_DTYPE, is_from_dtype

SEEDS = 2**31


class BudgetedClassifier(JointFrontier):
    """Classify within a budget by whatever validation examples say is best for it.

    All estimators are trained on the same examples. What they can do, stopped when sure at any level, is measured on
    the same validation examples and makes one frontier of cost and error; a budget takes its place on it.

    Parameters
    ----------
    estimators : sequence of estimator, optional
        By default a `BudgetBoost` and a `BudgetForest`. Each is one of these, a `NestedCascade` or a
        `BranchingCascade`, whose prices and budget are those given here, or another classifier of trees that
        `ipforest.ensemble.read` reads, such as LightGBM's with penalties on features; it is stopped when sure.
    categorical_features : None, "from_dtype", or sequence of bool, int or str, default="from_dtype"
        See `BudgetBoost`. Estimators other than `BudgetBoost` and `BudgetForest` see the numbers of the categories: in
        a data frame's columns of names their places in alphabetical order, or in that of the dtype.
    feature_costs, groups, group_fees
        See `BudgetPrune`.
    budget : number, optional
        What an example may cost on average; without one, as much as lowers the error.
    max_cost : number, optional
        The most that any one example may pay.
    validation_fraction : float or None, default=0.25
        Share of the examples held out where `fit` gets no validation examples; None only with these.
    n_jobs : int, optional
        Nested forests and stages that are trained at once, by joblib, in each estimator; without it each has its own
        ``n_jobs``. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, and seeds the estimators.

    Attributes
    ----------
    estimators_ : tuple of estimator
        Fitted.
    members_, frontier_, choice_, trees_, costs_, n_features_in_, classes_
        See `JointFrontier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BudgetBoost, BudgetedClassifier, NestedCascade
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetedClassifier([BudgetBoost(20), NestedCascade()], budget=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 4), model.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        estimators: Sequence[Any] | None = None,
        *,
        categorical_features: Any = "from_dtype",
        feature_costs: Any = None,
        groups: Any = None,
        group_fees: Any = None,
        budget: Any = None,
        max_cost: Any = None,
        validation_fraction: float | None = 0.25,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.categorical_features = categorical_features
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_fees = group_fees
        self.budget = budget
        self.max_cost = max_cost
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        X_val: npt.ArrayLike | None = None,
        y_val: npt.ArrayLike | None = None,
    ) -> Self:
        """Train the estimators, measure what they can do, and choose for the budget.

        Parameters
        ----------
        X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        X_val, y_val : arrays, shapes (n_val, n_features) and (n_val,), optional
            Validation examples, on which everything is chosen; by default a part of X.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            Bad parameters, prices or examples, before anything is trained; or trees that cannot be read.
        """
        return self._fit(X, y, X_val, y_val, None)

    @property
    def _chosen_from(self) -> Sequence[Any]:
        if self.estimators is None:
            return BudgetBoost(), BudgetForest()
        return self.estimators

    def _check_training(self) -> None:
        if not isinstance(self._chosen_from, Sequence) or not self._chosen_from:
            raise ValueError(f"estimators: expected a sequence of estimators, got {self.estimators!r}")
        for estimator in self._chosen_from:
            name = type(estimator).__name__
            if not is_classifier(estimator):
                raise TypeError(f"estimators: expected classifiers, got {name}")
            if isinstance(estimator, JointFrontier | StagedEstimator):
                if any(getattr(estimator, price) is not None for price in ("feature_costs", "groups", "group_fees")):
                    raise ValueError(f"feature_costs: expected none in {name}, whose prices are given here, got some")
                categories = getattr(estimator, "categorical_features", FROM_DTYPE)
                if not is_from_dtype(categories):
                    raise ValueError(
                        f"categorical_features: expected {FROM_DTYPE!r} in {name}, whose columns are given here, "
                        f"got {categories!r}"
                    )
                estimator._read_parameters()
            elif isinstance(estimator, BudgetedEstimator):
                raise TypeError(
                    f"estimators: expected BudgetBoost, BudgetForest, a cascade of stages or trees to read, got {name}"
                )

    def _train(self, training: Labelled, validation: Labelled, random: Any) -> Iterator[Member]:
        self.estimators_: tuple[Any, ...] = ()
        for estimator in self._chosen_from:
            model = clone(estimator)
            if isinstance(model, BudgetedEstimator):
                model.set_params(feature_costs=self.costs_, budget=None, max_cost=self.max_cost)
                model.set_params(random_state=int(random.randint(SEEDS)))
                if self.n_jobs is not None and "n_jobs" in model.get_params(deep=False):
                    model.set_params(n_jobs=self.n_jobs)
                if isinstance(model, JointFrontier):
                    model.set_params(categorical_features=[*self.categories_.columns] or None)
                model.fit(self._named(training.X), training.y, self._named(validation.X), validation.y)
            else:
                model.fit(training.X, training.y)
            self.estimators_ += (model,)
            if isinstance(model, JointFrontier):
                yield from model.members_
            elif isinstance(model, StagedEstimator):
                for candidate in model.candidates_:
                    yield self._staged_member(candidate.policy, validation, model.stopping, model.n_folds)
            else:
                trees = read(model)
                yield self._member(
                    trees.with_classes(self.classes_) if isinstance(trees, BoostedTrees) else trees, validation
                )

    def _named(self, X: Array) -> Any:
        """Give columns their names, if those of training have names, by which an estimator's parameters may go."""
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else pd.DataFrame(X, columns=names)
