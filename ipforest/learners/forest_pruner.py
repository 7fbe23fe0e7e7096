"""What estimators that prune a forest share: the forest trained or taken, the instance, the pruned trees."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ipforest.base import BudgetedEstimator, check_share, optional_number, split_rows
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.scikit_learn import averaging_trees
from ipforest.instance import PruningInstance
from ipforest.losses import loss_for
from ipforest.policy import TreesInOrder
from ipforest.rational import nonnegative_fraction
from ipforest.results import Pruning

Array = npt.NDArray[Any]


class ForestPruner(MetaEstimatorMixin, BudgetedEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the estimators that train a forest, or take a fitted one, and prune it.

    A subclass takes at least the parameters below, finds its prunings in `_find_prunings`, and sets ``pruning_`` in
    `_choose_pruning`.

    Parameters
    ----------
    estimator, feature_costs, groups, group_fees, budget, max_cost, loss, split_cost, validation_fraction, random_state
        See `BudgetPrune`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ensemble, unpruned.
    forest_ : Forest
        The same as arrays.
    costs_ : FeatureCosts
    loss_ : str
    split_cost_ : Fraction
    instance_ : PruningInstance
        Errors of the nodes on in-bag examples, and acquisitions of the cost examples.
    pruning_ : Pruning
        The one that was taken.
    pruned_ : Forest
        The forest that predicts.
    """

    estimator: Any
    loss: str | None
    split_cost: Any
    validation_fraction: float | None

    instance_: PruningInstance
    pruning_: Pruning

    @abstractmethod
    def _find_prunings(self) -> None:
        """Find what `_choose_pruning` chooses from."""

    @abstractmethod
    def _choose_pruning(self) -> Pruning:
        """Give the pruning for ``self.budget``."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, X_cost: npt.ArrayLike | None = None) -> Self:
        """Train the ensemble unless it is fitted, find the prunings and take one.

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
            An ensemble that does not average trees, or bad parameters, prices or examples.
        """
        self._read_parameters()
        ensemble = averaging_trees(self.estimator)
        if _is_fitted(ensemble):
            examples = self._use_fitted(ensemble, X if X_cost is None else X_cost)
        else:
            examples = self._train(X, y, X_cost)
        self.forest_ = Forest.from_sklearn(self.estimator_)
        self.instance_ = PruningInstance.from_forest(
            self.forest_, examples, self.costs_, self.loss_, split_cost=self.split_cost_
        )
        self._find_prunings()
        self._choose()
        return self

    def _read_parameters(self) -> None:
        optional_number(self.budget, "budget")
        optional_number(self.max_cost, "max_cost")
        check_share(self.validation_fraction, "validation_fraction")
        averaging_trees(self.estimator)
        self.loss_ = loss_for(self.loss, is_classifier(self))
        self.split_cost_ = nonnegative_fraction(self.split_cost, "split_cost")

    def _use_fitted(self, ensemble: Any, X_cost: npt.ArrayLike) -> Array:
        """Take the ensemble as it is; return the examples for costs."""
        self.estimator_ = ensemble
        self.n_features_in_ = ensemble.n_features_in_
        if hasattr(ensemble, "feature_names_in_"):
            self.feature_names_in_ = ensemble.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.costs_ = self._read_costs()
        return self._checked(X_cost)

    def _train(self, X: npt.ArrayLike, y: npt.ArrayLike | None, X_cost: npt.ArrayLike | None) -> Array:
        """Fit a clone of the ensemble on all examples but those held out for costs; return these."""
        classify = is_classifier(self)
        examples, targets = validate_data(self, X, y, ensure_all_finite=self._finite(), y_numeric=not classify)
        if classify:
            check_classification_targets(targets)
        self.costs_ = self._read_costs()
        if X_cost is not None:
            paying = self._checked_cost_examples(X_cost, examples)
            self.estimator_ = clone(self.estimator).fit(examples, targets)
            return paying
        training, validation = split_rows(
            targets, self.validation_fraction, self.random_state, one_of_each_class=classify
        )
        self.estimator_ = clone(self.estimator).fit(examples[training], targets[training])
        return np.asarray(examples[validation])

    def _choose(self) -> None:
        self.pruning_ = self._choose_pruning()
        self.pruned_ = self.forest_.prune(self.pruning_)

    @property
    def classes_(self) -> Array:
        """Class labels, shape (n_classes,); classifiers only."""
        return np.asarray(self.estimator_.classes_)

    def _policy(self) -> TreesInOrder:
        return TreesInOrder(self.pruned_)

    def to_sklearn(self) -> Any:
        """Give the pruned forest as a fitted RandomForestClassifier or RandomForestRegressor."""
        check_is_fitted(self)
        forest = self.pruned_.to_sklearn()
        if hasattr(self, "feature_names_in_"):
            forest.feature_names_in_ = self.feature_names_in_
        return forest

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
