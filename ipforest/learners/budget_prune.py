"""BudgetPrune: scikit-learn's way to train a forest and prune it to a feature budget."""

from __future__ import annotations

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
from ipforest.path import prune_path
from ipforest.policy import TreesInOrder
from ipforest.rational import nonnegative_fraction

Array = npt.NDArray[Any]


class BudgetPrune(MetaEstimatorMixin, BudgetedEstimator):  # type: ignore[misc]  # scikit-learn is untyped
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
    max_cost : number, optional
        What no example may pay more than, whatever it would want next; see `BudgetedEstimator.session`.
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
    loss_ : str
    split_cost_ : Fraction
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
        max_cost: Any = None,
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
        self.max_cost = max_cost
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
        self.path_ = prune_path(self.instance_)
        if not self.path_.is_complete:
            raise KeyboardInterrupt
        self._choose()
        return self

    def _read_parameters(self) -> None:
        if self.budget is not None and self.lam is not None:
            raise ValueError(f"budget: expected a budget or lam, got budget={self.budget!r} and lam={self.lam!r}")
        optional_number(self.budget, "budget")
        optional_number(self.lam, "lam")
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
