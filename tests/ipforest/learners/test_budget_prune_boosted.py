"""BudgetPrune takes fitted boosted trees of any library: pruned, refitted and stopped in one call."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.frozen import FrozenEstimator

import proofs
from ipforest import BudgetPrune, EarlyExit, FeatureCosts, PruningInstance, PruningSettings
from ipforest.ensemble import BoostedTrees, read
from ipforest.ensemble.refitting import mean_loss
from ipforest.stopping.threshold_stopping import ThresholdStopping


def lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, verbose=-1, random_state=0, n_jobs=1)


def xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, random_state=0, n_jobs=1)


def catboost(kind: str) -> Any:
    library = pytest.importorskip("catboost")
    return getattr(library, f"CatBoost{kind}")(5, verbose=False, allow_writing_files=False, thread_count=1)


MODELS: dict[str, tuple[Any, Any]] = {
    "scikit-learn": (lambda: GradientBoostingClassifier(n_estimators=5, random_state=0), load_breast_cancer),
    "three classes": (lambda: HistGradientBoostingClassifier(max_iter=3, random_state=0), load_iris),
    "numbers": (lambda: GradientBoostingRegressor(n_estimators=5, random_state=0), load_diabetes),
    "LightGBM": (lightgbm, load_breast_cancer),
    "XGBoost": (xgboost, load_breast_cancer),
    "CatBoost": (lambda: catboost("Classifier"), load_breast_cancer),
    "numbers by CatBoost": (lambda: catboost("Regressor"), load_diabetes),
}
SLOW = ("three classes", "scikit-learn", "LightGBM", "XGBoost", "CatBoost")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in MODELS])
def test_boosted_trees_are_pruned_within_the_budget_with_a_proof(name: str) -> None:
    make, load = MODELS[name]
    X, y = load(return_X_y=True)
    model = make().fit(X[::2], y[::2])
    pruned = BudgetPrune(model, budget=2).fit(X[::2], y[::2])
    assert isinstance(pruned.pruned_, BoostedTrees)
    assert 0 < pruned.cost(X[::2]).mean() <= 2
    assert proofs.verify_path(pruned.instance_, pruned.path_)
    if is_classifier(model):
        np.testing.assert_array_equal(pruned.predict(X), pruned.pruned_.predict(X))
    else:
        np.testing.assert_allclose(pruned.predict(X), pruned.pruned_.predict(X), rtol=1e-12)
    whole = BudgetPrune(model, lam=0).fit(X[::2], y[::2])
    assert mean_loss(whole.pruned_, X[::2], y[::2]) <= mean_loss(pruned.pruned_, X[::2], y[::2])
    refitted = BudgetPrune(model, budget=2, pruning=PruningSettings(refit=True)).fit(X[::2], y[::2])
    assert mean_loss(refitted.pruned_, X[::2], y[::2]) < mean_loss(pruned.pruned_, X[::2], y[::2])


@pytest.mark.slow
def test_pruning_refit_and_stopping_in_one_call() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = FrozenEstimator(MODELS["scikit-learn"][0]().fit(X[::2], y[::2]))
    stops = EarlyExit(
        BudgetPrune(model, pruning=PruningSettings(refit=True)), stopping=ThresholdStopping(), budget=1, random_state=0
    )
    stops.fit(X[::2], y[::2])
    assert 0 < stops.cost(X[1::2]).mean() < 1.5
    assert stops.score(X[1::2], y[1::2]) > 0.85


@pytest.mark.parametrize(
    ("settings", "y_given", "message"),
    [
        ({}, False, "y: expected the targets of X"),
        ({"loss": "gini"}, True, "loss: expected none for boosted trees, .* got loss='gini'"),
        ({"pruning__objective": "forest"}, True, "objective: expected none for boosted trees"),
        ({"class_costs": [[0, 1], [2, 0]]}, True, "class_costs: expected none for boosted trees"),
        ({"pruning__errors": "training"}, True, "errors: expected none for boosted trees"),
    ],
)
def test_what_boosted_trees_do_not_take_is_named(settings: dict[str, Any], y_given: bool, message: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        BudgetPrune(model).set_params(**settings).fit(X, y if y_given else None)


def test_boosted_trees_that_are_not_fitted_are_refused() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(TypeError, match=r"boosted trees that are fitted also into BudgetPrune\(model\)"):
        BudgetPrune(GradientBoostingClassifier()).fit(X, y)
    with pytest.raises(TypeError, match=r"GradientBoostingRegressor; boosted trees that are fitted go into BudgetPrun"):
        BudgetPrune(GradientBoostingRegressor()).fit(X, y)


def test_boosted_trees_that_are_not_read_are_refused_with_the_reason() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = lightgbm().set_params(linear_tree=True).fit(X, y)
    with pytest.raises(TypeError, match=r"^model: expected leaves with one value, got linear trees$"):
        BudgetPrune(model).fit(X, y)


def test_trees_of_another_loss_than_that_of_their_link_are_refused_with_what_takes_them() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = HistGradientBoostingRegressor(loss="absolute_error", max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match=r"^estimator: expected boosted trees .* of the loss 'absolute_error'; train "):
        BudgetPrune(model, budget=2).fit(X, y)
    trees = replace(read(model), loss=None)
    assert PruningInstance.from_boosted(trees, X, FeatureCosts(np.ones(10)), (X, y)).n_trees == 2
