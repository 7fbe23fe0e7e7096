"""Labels of validation examples are checked by whatever estimator takes them."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest import BoostSearch, BudgetBoost, BudgetedClassifier, BudgetForest, EarlyExit, NestedCascade
from ipforest.adaptive import L1Baseline
from ipforest.learners import BudgetRF, GreedyMiser, GreedyMiserRegressor

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :5]
PARTS = X[:200], Y[:200], X[200:300]
TREE = DecisionTreeClassifier(max_depth=2)
CLASSIFIERS = [BudgetRF(2), GreedyMiser(2), BudgetBoost(2), BudgetedClassifier([TREE]), EarlyExit(TREE)]
CLASSIFIERS += [NestedCascade(TREE), L1Baseline(TREE)]
REGRESSORS = [GreedyMiserRegressor(2), NestedCascade(DecisionTreeRegressor(max_depth=2, random_state=0))]


def named(estimator: Any) -> str:
    return type(estimator).__name__


@pytest.mark.parametrize("model", CLASSIFIERS, ids=named)
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Y[200:300] + 1, r"^y_val: expected labels among the classes of training, got 2"),
        (np.where(Y[200:300] > 0, 1, np.nan), r"^y_val: expected labels among the classes of training, got nan"),
        (Y[200:300].astype(str), r"^y_val: expected labels among the classes of training, got '"),
        (Y[200:290], r"^y_val: expected 100 values, one per example, got 90"),
        (np.eye(2)[Y[200:300]], r"y should be a 1d array"),
    ],
)
def test_labels_that_training_does_not_know(model: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(*PARTS, labels)


@pytest.mark.parametrize("model", REGRESSORS, ids=named)
def test_targets_that_are_no_column_of_numbers(model: Any) -> None:
    targets = X[200:300, 0].copy()
    with pytest.warns(DataConversionWarning):
        column = model.fit(PARTS[0], PARTS[0][:, 0], PARTS[2], targets[:, None]).predict(X)
    np.testing.assert_array_equal(column, model.fit(PARTS[0], PARTS[0][:, 0], PARTS[2], targets).predict(X))
    targets[3] = np.inf
    with pytest.raises(ValueError, match=r"^y_val: expected finite numbers, got inf"):
        model.fit(PARTS[0], PARTS[0][:, 0], PARTS[2], targets)


@pytest.mark.slow
@pytest.mark.parametrize("model", [BudgetBoost(2), BudgetForest(2), *CLASSIFIERS[3:6]], ids=named)
def test_models_chosen_among_many_need_examples_that_they_were_not_trained_on(model: Any) -> None:
    model = clone(model).set_params(validation_fraction=None)
    with pytest.raises(ValueError, match=r"^validation_fraction: expected a number between 0 and 1, got None without"):
        model.fit(*PARTS[:2])
    assert model.fit(*PARTS, Y[200:300]).score(X, Y) > 0.5


def test_a_frontier_that_has_nothing_within_its_budget_warns() -> None:
    model = BudgetBoost(
        4, search=BoostSearch(n_lambdas=1, n_prunings=0, stopping=()), feature_costs=[10] * 5, random_state=0
    )
    with pytest.warns(UserWarning, match=r"^budget: nothing is bought within 3; the cheapest model that is better"):
        model.set_params(budget=3).fit(*PARTS, Y[200:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.at_budget(0).cost(X).max() == 0
        assert model.at_budget(100).cost(X).mean() > 0
    with pytest.warns(
        UserWarning, match="within 9; the cheapest feature that is not free costs 10, and max_cost is 3$"
    ):
        clone(model).set_params(budget=9, max_cost=3).fit(*PARTS, Y[200:300])
