from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from ipforest.ensemble.libraries import read

lightgbm = pytest.importorskip("lightgbm")

SMALL = {"n_estimators": 12, "num_leaves": 7, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, "random_state": 0}


def with_gaps(X: Any, share: float = 0.2) -> Any:
    gaps = X.astype(np.float64).copy()
    gaps[np.random.default_rng(0).random(X.shape) < share] = np.nan
    return gaps


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
def test_classifiers_predict_the_same(load: Any, missing: bool) -> None:
    X, y = load(return_X_y=True)
    training = with_gaps(X) if missing else X.astype(np.float64)
    model = lightgbm.LGBMClassifier(**SMALL).fit(training, y)
    trees = read(model)
    np.testing.assert_allclose(trees.predict_proba(training), model.predict_proba(training), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(trees.predict(training), model.predict(training))
    np.testing.assert_allclose(
        trees.predict_proba(with_gaps(X, 0.5)), model.predict_proba(with_gaps(X, 0.5)), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("missing", [False, True])
def test_regressors_predict_the_same(missing: bool) -> None:
    X, y = load_diabetes(return_X_y=True)
    training = with_gaps(X) if missing else X
    model = lightgbm.LGBMRegressor(**SMALL).fit(training, y)
    np.testing.assert_allclose(read(model).predict(training), model.predict(training), rtol=1e-10)


def test_boosters_cost_penalties_and_names() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = lightgbm.LGBMClassifier(**SMALL, cegb_tradeoff=0.1, cegb_penalty_feature_lazy=[1.0] * 30).fit(X, y == 1)
    trees = read(model)
    assert trees.classes is not None
    assert trees.classes.tolist() == [False, True]
    np.testing.assert_array_equal(trees.predict(X), model.predict(X))
    np.testing.assert_allclose(read(model.booster_).predict_proba(X)[:, 1], model.booster_.predict(X), rtol=1e-10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "poisson"}, r"expected an objective of binary, multiclass, regression, got poisson"),
        (
            {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
            r"expected boosted trees, got averaged ones",
        ),
        ({"zero_as_missing": True}, r"expected missing values to be NaN, got zero_as_missing"),
        ({"linear_tree": True}, r"expected leaves with one value, got linear trees"),
    ],
)
def test_what_is_not_read(settings: dict[str, Any], message: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    sparse = np.where(X > 0, X, 0)
    model = lightgbm.LGBMRegressor(**{**SMALL, **settings}).fit(sparse, y)
    with pytest.raises(TypeError, match=message):
        read(model)


def test_categories_are_not_read() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 300), rng.random(300)])
    model = lightgbm.LGBMRegressor(**SMALL).fit(X, np.isin(X[:, 0], [1, 4]) * 5.0 + X[:, 1], categorical_feature=[0])
    with pytest.raises(TypeError, match=r"expected splits of numbers \(<=\), got a categorical one"):
        read(model)
