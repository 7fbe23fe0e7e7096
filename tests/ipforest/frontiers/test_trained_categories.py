"""A fitted model is given the categories that its numbers stand for, or the table is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from ipforest import BudgetedClassifier
from ipforest.ensemble.categories import Categories
from ipforest.stopping import EarlyExit

TRAIN = {
    "lightgbm": lambda X, y: (
        pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=4, min_child_samples=5, verbosity=-1).fit(X, y)
    ),
    "xgboost": lambda X, y: (
        pytest.importorskip("xgboost").XGBClassifier(n_estimators=4, enable_categorical=True).fit(X, y)
    ),
}
each_library = pytest.mark.parametrize("train", TRAIN.values(), ids=TRAIN)


def table() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    words, numbers = random.choice([*"abcdef"], 120), random.normal(size=120)
    frame = pd.DataFrame(
        {"x": numbers, "word": pd.Categorical(words), "other": pd.Categorical(random.choice([*"uv"], 120))}
    )
    return frame, (np.isin(words, [*"ace"]) ^ (numbers > 1)).astype(int)


def around(model) -> BudgetedClassifier:
    return BudgetedClassifier([FrozenEstimator(model)], random_state=0)


@each_library
def test_categories_of_training_are_taken(train) -> None:
    X, y = table()
    model = train(X, y)
    assert_array_equal(around(model).fit(X, y).predict(X), model.predict(X))


@pytest.mark.slow
@each_library
@pytest.mark.parametrize("given", ["fedcba", "bcdefa", "abcdefg", "abcdez"])
def test_other_categories_and_orders_are_refused(train, given) -> None:
    X, y = table()
    other = X.assign(word=X["word"].cat.set_categories([*given]))
    message = (
        r"^X: expected in column 'word' the categories of \w+ in their order, a, b, c, d, e, f, got .*set_categories"
    )
    with pytest.raises(ValueError, match=message):
        around(train(X, y)).fit(other, y)


@each_library
def test_a_model_of_codes_takes_no_words(train) -> None:
    X, y = table()
    codes = X.assign(word=X["word"].cat.codes, other=X["other"].cat.codes)
    with pytest.raises(ValueError, match=r"^X: expected in column '(other|word)' the numbers that \w+ was trained"):
        around(train(codes, y)).fit(X, y)


def test_numbers_that_stand_for_themselves_are_no_places() -> None:
    X, y = table()
    X["word"] = pd.Categorical((X["word"].cat.codes * 10).to_numpy())
    X = X[["x", "word"]]
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(X, y)
    with pytest.raises(ValueError, match=r"^X: expected in column 'word' the numbers .*, got 0, 10.*; use") as refused:
        around(model).fit(X, y)
    advice = str(refused.value).partition("; use ")[2].partition(" if")[0]
    as_advised = X.assign(word=eval(advice, {"X": X}))
    assert_array_equal(around(model).fit(as_advised, y).predict(X), model.predict(X))


@pytest.mark.parametrize("kind", ["rare", "unused", "numbers"])
def test_categories_are_numbered_as_a_model_has_learnt_them_inside(kind) -> None:
    """Of a frame scikit-learn learns the categories that are there, and numbers by themselves."""
    X, y = table()
    names = {"rare": [*"abcdefg"], "unused": [*"_abcdef"], "numbers": [0, 3, 10, 20, 30, 40]}[kind]
    if kind == "numbers":
        X["word"] = X["word"].cat.rename_categories(names)
    else:
        X["word"] = X["word"].cat.set_categories(names)
    held_out = X.copy()
    if kind == "rare":
        held_out.loc[:4, "word"] = "g"
    inner = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)
    model = EarlyExit(inner, feature_costs=[1, 1, 1], random_state=0).fit(X, y, held_out, y)
    alone = EarlyExit(FrozenEstimator(model.estimator_), feature_costs=[1, 1, 1], random_state=0).fit(X, y, held_out, y)
    assert_array_equal(model.predict_proba(held_out), alone.predict_proba(held_out))
    assert_array_equal(model.curve_, alone.curve_)


def test_fractions_are_missing_for_a_model_that_is_trained_inside_too() -> None:
    X, y = table()
    numbers = np.column_stack([X["x"], X["word"].cat.codes])
    inner = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, categorical_features=[1])
    model = EarlyExit(inner, feature_costs=[1, 1], random_state=0).fit(numbers, y, numbers, y)
    alone = EarlyExit(FrozenEstimator(model.estimator_), feature_costs=[1, 1]).fit(numbers, y)
    fractions = numbers + np.array([0, 0.5])
    assert_array_equal(model.predict_proba(fractions), alone.predict_proba(fractions))


def test_words_of_which_a_model_keeps_no_names_are_refused() -> None:
    places = np.array([[1.0], [0.0], [np.nan]])
    assert_array_equal(Categories((0,)).translated(places, Categories((0,), {0: (30, 10)})), [[10], [30], [np.nan]])
    with pytest.raises(ValueError, match=r"X: expected numbers as the categories of column 0, .* no names, got 'a'"):
        Categories((0,)).translated(places, Categories((0,), {0: ("a", "b")}))
