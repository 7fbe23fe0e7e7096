"""read and write: which models are taken, and what is said of others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fitted_forests import KINDS, examples, fitted
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from ipforest import BudgetPrune, EarlyExit
from ipforest.ensemble import Forest, libraries, read, write

X = examples(50, seed=9)[0]


@pytest.mark.parametrize(("task", "name"), KINDS)
def test_averaging_models_are_read_as_forests_and_written_back(task: str, name: str) -> None:
    forest = read(fitted(task, name))
    assert isinstance(forest, Forest)
    np.testing.assert_array_equal(forest.predict(X), Forest.from_sklearn(fitted(task, name)).predict(X))
    np.testing.assert_array_equal(read(write(forest, "sklearn")).apply(X), forest.apply(X))


def test_a_subclass_from_elsewhere_is_read_as_its_base() -> None:
    class OwnForest(RandomForestClassifier):
        pass

    model = OwnForest(3, random_state=0).fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(read(FrozenEstimator(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (3, "model: expected a fitted model of sklearn, lightgbm, xgboost, catboost, got builtins.int"),
        (np.ones(3), "model: expected a fitted model of sklearn, .*, got numpy.ndarray"),
        (
            LinearRegression(),
            r"model: expected scikit-learn's RandomForest\*, .* or HistGradientBoosting\*, got Linear",
        ),
    ],
)
def test_other_models_are_refused(model, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        read(model)


def test_other_targets_are_refused() -> None:
    forest = read(fitted("classifier", "tree"))
    X, y = load_breast_cancer(return_X_y=True)
    stopped = EarlyExit(RandomForestClassifier(4, max_depth=2, random_state=0), budget=2, random_state=0).fit(X, y)
    for model in (forest, stopped):
        with pytest.raises(
            ValueError, match="target: expected one of sklearn, lightgbm, xgboost, onnx, c, json, got 'cobol'"
        ):
            write(model, "cobol")
    with pytest.raises(TypeError, match="trees: expected a Forest or BoostedTrees, got int"):
        write(3, "sklearn")
    with pytest.raises(TypeError, match="trees: expected BoostedTrees, which LightGBM adds up, got Forest"):
        write(forest, "lightgbm")
    with pytest.raises(ValueError, match="forest: expected tests x <= threshold of float32 numbers"):
        write(replace(forest, comparison="<"), "sklearn")


class OfMine:
    """A fitted model of a package of one's own."""


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ("no_such_package:read", ImportError, "READERS: expected MODULE:FUNCTION or a function, got .no_such"),
        ("json:no_such_function", ImportError, "READERS: expected MODULE:FUNCTION or a function, got 'json:no_such_f"),
        ("json:dumps", TypeError, "is not JSON serializable"),
        ("builtins:repr", TypeError, "READERS: expected 'builtins:repr' to return a Forest or BoostedTrees, got str"),
    ],
)
def test_a_reader_of_ones_own_that_is_none_is_named(monkeypatch, entry, error, message):
    monkeypatch.setitem(libraries.READERS, OfMine.__module__.partition(".")[0], entry)
    with pytest.raises(error, match=message):
        read(OfMine())


def test_a_reader_of_ones_own_may_be_the_function_itself(monkeypatch):
    X = np.arange(20.0)[:, None]
    trees = read(DecisionTreeClassifier().fit(X, X[:, 0] > 9))
    monkeypatch.setitem(libraries.READERS, OfMine.__module__.partition(".")[0], lambda model: trees)
    assert read(OfMine()) is trees
    counts = replace(trees, value=trees.value * trees.weight[:, None])
    monkeypatch.setitem(libraries.READERS, OfMine.__module__.partition(".")[0], lambda model: counts)
    with pytest.raises(
        ValueError, match=r"class shares >= 0 whose sum is 1, got value \[10.0, 10.0\] at node 0; divide"
    ):
        read(OfMine())


class Fitted(ClassifierMixin, BaseEstimator):
    """A fitted classifier of another package."""

    def __init__(self, trees: Any = None) -> None:
        self.trees = trees

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> Any:
        return self.trees.classes


def test_a_model_of_ones_own_reader_goes_into_estimators(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    trees = read(GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y))
    monkeypatch.setitem(libraries.READERS, Fitted.__module__.partition(".")[0], lambda model: model.trees)
    for kind in (BudgetPrune, EarlyExit):
        with pytest.raises(TypeError, match=r"estimator: expected one with n_features_in_, got Fitted without it"):
            kind(Fitted(trees), budget=3, random_state=0).fit(X, y)
    monkeypatch.setattr(Fitted, "n_features_in_", X.shape[1], raising=False)
    for kind in (BudgetPrune, EarlyExit):
        assert kind(Fitted(trees), budget=3, random_state=0).fit(X, y).cost(X).mean() < 4


def test_a_model_that_is_no_estimator_of_scikit_learns_kind_is_named():
    X, y = load_breast_cancer(return_X_y=True)
    for other, kind in ((OfMine(), "OfMine"), (3, "int"), (DecisionTreeClassifier, "the class DecisionTreeClassifier")):
        with pytest.raises(TypeError, match=f"estimator: expected an object of a class .*BaseEstimator, got {kind}"):
            EarlyExit(other, budget=3).fit(X, y)
