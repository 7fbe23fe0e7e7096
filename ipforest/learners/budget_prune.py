"""BudgetPrune: scikit-learn's way to train a forest and prune it to a feature budget."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from math import ceil
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.scikit_learn import averaging_trees
from ipforest.instance import PruningInstance
from ipforest.path import prune_path
from ipforest.rational import as_fraction

Array = npt.NDArray[Any]


class BudgetPrune(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Train a tree ensemble, and prune it optimally to what acquiring features may cost.

    It is a classifier or a regressor as the wrapped estimator is. `fit` trains the ensemble, finds the whole optimal
    path of prunings between error on the in-bag examples and cost on other examples, and takes the pruning for the
    budget (or for lambda). `at_budget` gives another one at once.

    Parameters
    ----------
    estimator : estimator
        RandomForest*, ExtraTrees*, Bagging* of trees, DecisionTree* or ExtraTree*. One that is fitted already is used
        as it is; wrap it in `sklearn.frozen.FrozenEstimator` to keep it so in clones (grid search, pipelines).
    feature_costs : FeatureCosts or sequence of numbers, shape (n_features,), optional
        What each feature costs; by default 1 each. A float means its shortest decimal.
    groups : sequence of int, shape (n_features,), optional
        Group of each feature, -1 for none; see `FeatureCosts`.
    group_fees : sequence of numbers, shape (n_groups,), optional
        Paid once an example with the first feature of the group.
    budget : number, optional
        What an example may cost on average: the pruning of least error within it among those of the path.
    lam : number, optional
        In place of a budget, the price of a unit of cost in errors. Without both, the cheapest pruning among those of
        least error is taken.
    loss : str, optional
        "misclassification" (default for classifiers), "gini", "entropy", or "squared_error" (default for regressors).
    split_cost : number, default=0
        What one test of a feature costs; counts towards the budget.
    validation_fraction : float or None, default=0.25
        Share of the examples that are not trained on but used for costs, if `fit` gets no `X_cost` and the estimator
        is not fitted. With None, costs come from the training examples.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part. The estimator has its own.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble, unpruned.
    forest_ : Forest
        The same as arrays.
    costs_ : FeatureCosts
    instance_ : PruningInstance
        What was optimised.
    path_ : object
        Every optimal pruning; see `ipforest.prune_path`.
    pruning_ : Pruning
        The one that was taken.
    pruned_ : Forest
        The forest that predicts.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Where X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest import BudgetPrune
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> model = BudgetPrune(forest, budget=8, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 9)
    True
    >>> bool(model.at_budget(4).cost(X).mean() < 5)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        feature_costs: Any = None,
        groups: Any = None,
        group_fees: Any = None,
        budget: Any = None,
        lam: Any = None,
        loss: str | None = None,
        split_cost: Any = 0,
        validation_fraction: float | None = 0.25,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.feature_costs = feature_costs
        self.groups = groups
        self.group_fees = group_fees
        self.budget = budget
        self.lam = lam
        self.loss = loss
        self.split_cost = split_cost
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, X_cost: npt.ArrayLike | None = None) -> Self:
        """Train the ensemble unless it is fitted, find the path and take a pruning.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Training examples, or, for a fitted estimator without `X_cost`, the examples for costs.
        y : array, shape (n_samples,)
            Targets; not needed by a fitted estimator.
        X_cost : array, shape (n_cost_samples, n_features), optional
            Examples whose average cost is optimised and meets the budget.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            An ensemble that does not average trees, both budget and lambda, bad prices or examples.
        """
        ensemble = averaging_trees(self.estimator)
        if self.budget is not None and self.lam is not None:
            raise ValueError(f"budget: expected a budget or lam, got budget={self.budget!r} and lam={self.lam!r}")
        if _is_fitted(ensemble):
            examples = self._use_fitted(ensemble, X)
        else:
            examples = self._train(X, y, self.validation_fraction if X_cost is None else None)
        if X_cost is not None:
            examples = self._checked(X_cost)
        self.forest_ = Forest.from_sklearn(self.estimator_)
        self.costs_ = self._price_list()
        self.instance_ = PruningInstance.from_forest(
            self.forest_, examples, self.costs_, self._loss(), split_cost=self.split_cost
        )
        self.path_ = prune_path(self.instance_)
        if not self.path_.is_complete:
            raise KeyboardInterrupt
        self._take_pruning()
        return self

    def _use_fitted(self, ensemble: Any, X: npt.ArrayLike) -> Array:
        """Take the ensemble as it is; return the examples for costs."""
        self.estimator_ = ensemble
        self.n_features_in_ = ensemble.n_features_in_
        if hasattr(ensemble, "feature_names_in_"):
            self.feature_names_in_ = ensemble.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self._checked(X)

    def _train(self, X: npt.ArrayLike, y: npt.ArrayLike | None, held_out: float | None) -> Array:
        """Fit a clone of the ensemble on all but the share held out; return the examples for costs."""
        examples, targets = validate_data(
            self, X, y, ensure_all_finite=self._finite(), y_numeric=not is_classifier(self)
        )
        if is_classifier(self):
            check_classification_targets(targets)
        training, validation = self._parts(targets, held_out)
        self.estimator_ = clone(self.estimator).fit(examples[training], targets[training])
        return np.asarray(examples[validation])

    def _parts(self, y: Array, held_out: float | None) -> tuple[Array, Array]:
        """Draw the rows to train on and the rows for costs; one example of each class is always trained on."""
        everything = np.arange(y.shape[0])
        if held_out is None:
            return everything, everything
        if not (isinstance(held_out, Real) and 0 < held_out < 1):
            raise ValueError(f"validation_fraction: expected None or a number between 0 and 1, got {held_out!r}")
        order = check_random_state(self.random_state).permutation(everything)
        _, first_of_class = np.unique(y[order], return_index=True) if is_classifier(self) else (None, [0])
        free = np.delete(order, first_of_class)
        if free.size == 0:
            raise ValueError(
                f"X: expected examples to spare for a validation part, got n_samples = {y.shape[0]}; "
                "give fit X_cost, or set validation_fraction to None"
            )
        validation = np.sort(free[: ceil(held_out * y.shape[0])])
        return np.setdiff1d(everything, validation), validation

    def _price_list(self) -> FeatureCosts:
        if isinstance(self.feature_costs, FeatureCosts):
            if self.groups is not None or self.group_fees is not None:
                raise ValueError("groups: expected none beside feature_costs that are FeatureCosts, got some")
            return self.feature_costs
        prices = [1] * self.n_features_in_ if self.feature_costs is None else self.feature_costs
        return FeatureCosts(prices, self.groups, self.group_fees)

    def _loss(self) -> str:
        if self.loss is not None:
            return self.loss
        return "misclassification" if self.forest_.is_classifier else "squared_error"

    def _take_pruning(self) -> None:
        if self.budget is None:
            self.pruning_ = self.path_.pruning(0 if self.lam is None else self.lam)
        else:
            self.pruning_ = self.path_.at_budget(self.budget).pruning
        self.pruned_ = self.forest_.prune(self.pruning_)

    def at_budget(self, budget: object) -> Self:
        """Give the same model at another budget, without training or solving again.

        Parameters
        ----------
        budget : number

        Returns
        -------
        BudgetPrune
            Fitted; shares the forest and the path with this one, which stays as it is.
        """
        return self._another(budget=budget, lam=None)

    def at_lambda(self, lam: object) -> Self:
        """Give the same model at another lambda, without training or solving again; see `at_budget`."""
        return self._another(budget=None, lam=lam)

    def _another(self, **choice: object) -> Self:
        check_is_fitted(self)
        other = copy(self)
        other.set_params(**choice)
        other._take_pruning()
        return other

    @property
    def classes_(self) -> Array:
        """Class labels, shape (n_classes,); classifiers only."""
        return np.asarray(self.estimator_.classes_)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Predict with the pruned forest.

        Returns
        -------
        ndarray, shape (n_samples,)
            Class labels, or floats for regression.
        """
        check_is_fitted(self)
        return self.pruned_.predict(self._checked(X))

    @available_if(is_classifier)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Average the leaf distributions of the pruned trees.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.pruned_.predict_proba(self._checked(X))

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Accuracy, or the coefficient of determination for regression.

        Returns
        -------
        float
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def cost(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Sum what each example pays for its features, and for its tests if there is a split cost.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
        """
        usage = self.feature_usage(X)
        test_price = float(as_fraction(self.split_cost, "split_cost"))
        paid: npt.NDArray[np.float64] = self.costs_.cost_of(usage) + test_price * usage.sum(axis=1)
        return paid

    def feature_usage(self, X: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """How often each example's paths through the pruned trees test each feature.

        Returns
        -------
        ndarray of int32, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self.pruned_.feature_usage(self._checked(X))

    def to_sklearn(self) -> Any:
        """Give the pruned forest as a fitted RandomForestClassifier or RandomForestRegressor."""
        check_is_fitted(self)
        forest = self.pruned_.to_sklearn()
        if hasattr(self, "feature_names_in_"):
            forest.feature_names_in_ = self.feature_names_in_
        return forest

    def _checked(self, X: npt.ArrayLike) -> Array:
        return np.asarray(validate_data(self, X, ensure_all_finite=self._finite(), reset=False))

    def _finite(self) -> bool | str:
        return "allow-nan" if get_tags(self).input_tags.allow_nan else True

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.regressor_tags = inner.estimator_type, inner.regressor_tags
        tags.classifier_tags = inner.classifier_tags and replace(inner.classifier_tags, multi_label=False)
        tags.target_tags.required = inner.target_tags.required
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True
