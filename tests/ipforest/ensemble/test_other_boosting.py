"""XGBoost, CatBoost and HistGradientBoosting: the same predictions, missing values and categories too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from ipforest import datasets
from ipforest.ensemble import read


def with_gaps(X: Any, share: float) -> Any:
    gaps = X.astype(np.float64).copy()
    gaps[np.random.default_rng(0).random(X.shape) < share] = np.nan
    return gaps


def xgboost(kind: str, **settings: Any) -> Any:
    library = pytest.importorskip("xgboost")
    return getattr(library, f"XGB{kind}")(n_estimators=8, n_jobs=1, **{"max_depth": 3, **settings})


def catboost(kind: str, **settings: Any) -> Any:
    library = pytest.importorskip("catboost")
    quiet = {"verbose": False, "thread_count": 1, "allow_writing_files": False}
    return getattr(library, f"CatBoost{kind}")(iterations=8, depth=3, **quiet, **settings)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "xgboost": lambda: xgboost("Classifier"),
    "dart": lambda: xgboost("Classifier", booster="dart", rate_drop=0.5),
    "catboost": lambda: catboost("Classifier"),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=8),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "xgboost": lambda: xgboost("Regressor"),
    "xgboost poisson": lambda: xgboost("Regressor", objective="count:poisson"),
    "catboost": lambda: catboost("Regressor"),
    "catboost poisson": lambda: catboost("Regressor", loss_function="Poisson"),
    "histogram": lambda: HistGradientBoostingRegressor(max_iter=8),
    "histogram gamma": lambda: HistGradientBoostingRegressor(loss="gamma", max_iter=8),
}


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_predict_the_same(name: str, load: Any, share: float) -> None:
    X, y = load(return_X_y=True)
    model = CLASSIFIERS[name]().fit(with_gaps(X, share), y)
    trees = read(model)
    for examples in (with_gaps(X, share), with_gaps(X, 0.5)):
        np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(examples), rtol=2e-6, atol=2e-7)
        np.testing.assert_array_equal(trees.predict(examples), model.predict(examples).ravel())


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_predict_the_same(name: str, share: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = REGRESSORS[name]().fit(with_gaps(X, share), y)
    for examples in (with_gaps(X, share), with_gaps(X, 0.5)):
        np.testing.assert_allclose(read(model).predict(examples), model.predict(examples), rtol=3e-6)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_gaps_of_a_real_set(name: str) -> None:
    try:
        data = datasets.load("hepatitis")
    except FileNotFoundError:
        pytest.skip("needs the data folder")
    model = CLASSIFIERS[name]().fit(data.X, data.y)
    trees = read(model)
    np.testing.assert_allclose(trees.predict_proba(data.X), model.predict_proba(data.X), rtol=2e-6, atol=2e-7)
    assert trees.cost(data.X, data.costs).max() <= float(data.costs.cost_of(np.ones((1, data.X.shape[1])))[0])


def test_early_stopping_counts_to_the_best_round() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = xgboost("Classifier", early_stopping_rounds=1, learning_rate=2.0)
    model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    np.testing.assert_allclose(read(model).predict_proba(X), model.predict_proba(X), rtol=2e-6, atol=2e-7)


def categorical_examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(400), rng.integers(2, 9, 400), rng.random(400)])
    y = (np.isin(X[:, 1], [3, 5]) * 2 + (X[:, 0] > 0.5)).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_categories_of_scikit_learn() -> None:
    X, y = categorical_examples()
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=[1]).fit(X, y)
    trees = read(model)
    assert trees.tests_categories.any()
    strange = np.column_stack([np.full(30, 0.7), np.arange(-5, 25), np.full(30, 0.2)])
    for examples in (X, strange):
        np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(examples), rtol=1e-12)
    model.fit(np.column_stack([X[:, 0], X[:, 1] + 0.5, X[:, 2]]), y)
    with pytest.raises(TypeError, match="model: expected categories that are integers >= 0, got"):
        read(model)


def test_categories_of_xgboost() -> None:
    pd = pytest.importorskip("pandas")
    X, y = categorical_examples()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["b"] = pd.Categorical(frame["b"].fillna(2).astype(int) - 2, categories=range(7))
    model = xgboost("Classifier", enable_categorical=True).fit(frame, y)
    trees = read(model)
    assert trees.tests_categories.any()
    examples = frame.astype(float).to_numpy()
    np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(frame), rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: xgboost("Regressor", booster="gblinear", max_depth=None),
            "model: expected a booster of trees, got gblinear",
        ),
        (lambda: xgboost("Regressor", objective="reg:logistic"), None),
        (lambda: xgboost("Regressor", objective="binary:hinge"), "model: expected an objective of binary:logistic"),
        (lambda: catboost("Regressor", loss_function="Lq:q=3"), "model: expected a loss of Logloss, .*, got Lq"),
        (lambda: catboost("Regressor", grow_policy="Lossguide"), "model: expected symmetric trees, got others"),
    ],
)
def test_what_is_not_read(make: Callable[[], Any], text: str | None) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = make().fit(X, (y > 150).astype(float))
    if text is None:
        assert read(model).classes is not None
        return
    with pytest.raises(TypeError, match=text):
        read(model)
