"""BoostedTrees against scikit-learn's gradient boosting: the same margins to the last bit, the same answers."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from fitted_forests import N_FEATURES, examples
from scipy.special import softmax
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from ipforest import FeatureCosts
from ipforest.ensemble import BoostedTrees, Forest, read
from ipforest.ensemble.margin_losses import MARGIN_LOSSES
from ipforest.ensemble.packing import pack, unpack

X, LABELS_X, TARGET_X = examples(120, seed=5)
X_NEW, _, TARGET_NEW = examples(200, seed=9)
TWO_CLASSES = np.where(LABELS_X == "ant", "ant", "other")

CLASSIFIERS = {
    "two classes": (GradientBoostingClassifier(n_estimators=9, random_state=0), TWO_CLASSES),
    "three classes": (GradientBoostingClassifier(n_estimators=9, subsample=0.7, random_state=0), LABELS_X),
    "exponential": (GradientBoostingClassifier(loss="exponential", n_estimators=9, random_state=0), TWO_CLASSES),
    "from zero": (GradientBoostingClassifier(init="zero", n_estimators=5, max_leaf_nodes=6, random_state=0), LABELS_X),
    "from a dummy": (GradientBoostingClassifier(init=DummyClassifier(strategy="uniform"), n_estimators=5), LABELS_X),
}
REGRESSORS = {
    "squared error": GradientBoostingRegressor(n_estimators=15, learning_rate=0.3, random_state=0),
    "absolute error": GradientBoostingRegressor(loss="absolute_error", n_estimators=9, random_state=0),
    "quantile": GradientBoostingRegressor(loss="quantile", alpha=0.8, n_estimators=9, random_state=0),
    "huber from zero": GradientBoostingRegressor(loss="huber", init="zero", n_estimators=9, random_state=0),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_predict_as_scikit_learn(name: str) -> None:
    estimator, labels = CLASSIFIERS[name]
    estimator.fit(X, labels)
    trees = read(estimator)
    assert isinstance(trees, BoostedTrees)
    margins = estimator.decision_function(X_NEW)
    np.testing.assert_array_equal(trees.margins(X_NEW), margins.reshape(len(X_NEW), -1))
    np.testing.assert_allclose(trees.predict_proba(X_NEW), estimator.predict_proba(X_NEW), rtol=1e-13)
    np.testing.assert_array_equal(trees.predict(X_NEW), estimator.predict(X_NEW))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_predict_as_scikit_learn(name: str) -> None:
    estimator = REGRESSORS[name].fit(X, TARGET_X)
    trees = read(estimator)
    assert not trees.is_classifier
    np.testing.assert_array_equal(trees.predict(X_NEW), estimator.predict(X_NEW))
    with pytest.raises(AttributeError, match="predict_proba: expected trees for classification"):
        trees.predict_proba(X_NEW)


def test_routing_names_and_costs_are_those_of_trees() -> None:
    names = [f"sensor {number}" for number in range(N_FEATURES)]
    frame = pd.DataFrame(X, columns=names)
    estimator = CLASSIFIERS["three classes"][0].fit(frame, LABELS_X)
    trees = read(FrozenEstimator(estimator))
    assert trees.feature_names == tuple(names)
    np.testing.assert_array_equal(trees.apply(X).reshape(estimator.apply(X).shape), estimator.apply(X))
    costs = FeatureCosts(dict.fromkeys(names[::-1], 2))
    np.testing.assert_array_equal(trees.cost(frame, costs), 2 * (trees.feature_usage(X) > 0).sum(axis=1))
    with pytest.raises(ValueError, match="X: expected the columns in the order of training"):
        trees.predict(frame[names[::-1]])


def test_trees_for_all_classes_add_to_every_margin() -> None:
    """Merge the three trees of a round of single leaves into one with three values."""
    fields = {
        "tree_offsets": [0, 3],
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "feature": [0, -1, -1],
        "threshold": [0.5, 0, 0],
        "missing_left": [False] * 3,
        "n_features": 1,
        "value": [[0, 0, 0], [1, 2, 3], [-1, 0, 5]],
        "first_output": [0],
        "base_score": [10, 20, 30],
        "classes": np.array(["a", "b", "c"]),
        "link": "multinomial logit",
    }
    trees = BoostedTrees(**fields)
    np.testing.assert_array_equal(trees.margins([[0.0], [1.0]]), [[11, 22, 33], [9, 20, 35]])
    with pytest.raises(ValueError, match=r"first_output: expected 0\.\.0 with 3 values per leaf and 3 margins, got 1"):
        BoostedTrees(**{**fields, "first_output": [1]})
    with pytest.raises(ValueError, match=r"link: expected 'identity', .*, got 'probit'"):
        BoostedTrees(**{**fields, "link": "probit"})
    with pytest.raises(ValueError, match=r"base_score: expected shape \(3,\), got \(2,\)"):
        BoostedTrees(**{**fields, "base_score": [10, 20]})
    with pytest.raises(ValueError, match="base_score: expected finite numbers, got nan"):
        BoostedTrees(**{**fields, "base_score": [np.nan, 0, 0]})


def test_boosted_trees_pickle_and_tell_their_size() -> None:
    trees = read(REGRESSORS["squared error"].fit(X, TARGET_X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trees)).predict(X_NEW), trees.predict(X_NEW))
    assert repr(trees).startswith("BoostedTrees(15 trees, ")
    assert repr(trees).endswith(" 7 features, regression, identity)")
    assert dataclasses.replace(trees, base_score=[1.0]).margins(X_NEW).shape == (200, 1)


def test_trees_that_were_saved_before_cover_was_kept_are_loaded() -> None:
    trees = read(REGRESSORS["squared error"].fit(X, TARGET_X))
    state = trees.__getstate__()
    nodes = unpack(state["nodes"])
    del nodes["cover"]
    loaded = BoostedTrees.__new__(BoostedTrees)
    loaded.__setstate__({**state, "nodes": pack(nodes)})
    assert trees.cover.min() > 0 == loaded.cover.max()
    np.testing.assert_array_equal(loaded.predict(X_NEW), trees.predict(X_NEW))


@pytest.mark.parametrize(
    ("estimator", "error", "text"),
    [
        (GradientBoostingRegressor(), NotFittedError, "GradientBoostingRegressor .* not fitted"),
        (
            GradientBoostingRegressor(init=LinearRegression(), n_estimators=1).fit(X, TARGET_X),
            ValueError,
            r"model: expected GradientBoostingRegressor that starts from a constant, got init=LinearRegression\(\)",
        ),
        (
            GradientBoostingClassifier(init=DummyClassifier(strategy="stratified"), n_estimators=1).fit(X, LABELS_X),
            ValueError,
            "expected GradientBoostingClassifier that starts from a constant",
        ),
    ],
)
def test_other_boosting_is_refused(estimator, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        read(estimator)
    assert "\n" not in str(caught.value)


def test_averaging_needs_averaging_trees() -> None:
    needed = "estimator: expected an ensemble that averages trees .*; boosted trees"
    with pytest.raises(TypeError, match=rf"{needed} and other .* EarlyExit"):
        Forest.from_sklearn(GradientBoostingClassifier())
    with pytest.raises(TypeError, match=rf"{needed} that are fitted go into BudgetPrune\(model\)$"):
        Forest.from_sklearn(REGRESSORS["squared error"])


@pytest.mark.parametrize("n_classes", [3, 32, 33, 70])
def test_softmax_derivatives_follow_the_margins_of_many_classes(n_classes):
    rng = np.random.default_rng(0)
    margins, targets = rng.normal(size=(9, n_classes)), np.eye(n_classes)[rng.integers(0, n_classes, 9)]
    loss = MARGIN_LOSSES["multinomial logit"]
    course = loss.course_from(margins.copy(), targets)
    for turn in range(40):
        of_class = slice(turn % n_classes, turn % n_classes + 1)
        amounts = rng.normal(size=(9, 1)) * (300 if turn == 20 else 1)  # once, exponentials are taken anew
        course.add(amounts, of_class)
        margins[:, of_class] += amounts
        outputs = slice(0, n_classes) if turn % 3 else slice(n_classes - 1, n_classes)
        share = softmax(margins, axis=1)
        gradient, hessian = course.derivatives(outputs)
        np.testing.assert_allclose(gradient, (share - targets)[:, outputs], rtol=0, atol=1e-13)
        np.testing.assert_allclose(hessian, (share * (1 - share))[:, outputs], rtol=0, atol=1e-13)
