"""Trees: comparisons, precision and names of the features, whatever leaves predict."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from fitted_forests import LABELS, N_FEATURES, examples, fitted, random_pruning
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ipforest import FeatureCosts, Forest
from ipforest.ensemble import Trees

NAMES = [f"sensor {number}" for number in range(N_FEATURES)]
X, LABELS_X, _ = examples(80, seed=3)
FRAME = pd.DataFrame(X, columns=NAMES)


def one_split(threshold: float, **how) -> Trees:
    """A root that tests feature 0."""
    return Trees(
        tree_offsets=[0, 3],
        left=[1, -1, -1],
        right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[threshold, 0, 0],
        missing_left=[True, False, False],
        n_features=1,
        **how,
    )


def test_at_the_threshold_the_comparison_decides() -> None:
    at = [[0.5], [np.nextafter(np.float32(0.5), np.float32(0))], [np.nextafter(np.float32(0.5), np.float32(1))]]
    assert one_split(0.5).apply(at).ravel().tolist() == [1, 1, 2]
    assert one_split(0.5, comparison="<").apply(at).ravel().tolist() == [2, 1, 2]


def test_a_strict_comparison_is_exact_in_both_precisions() -> None:
    values = np.random.default_rng(0).normal(size=200).round(2)
    values[:3] = 0.0, -0.0, np.finfo(np.float64).tiny
    for dtype in (np.float32, np.float64):
        for threshold in (*values[:20].tolist(), float(np.float32(values[5]))):
            rounded = values.astype(dtype).astype(np.float64)
            leaves = one_split(threshold, comparison="<", dtype=dtype).apply(values[:, None]).ravel()
            np.testing.assert_array_equal(leaves == 1, rounded < threshold)


def test_examples_are_rounded_to_the_precision_of_the_trees() -> None:
    above = [[0.1 + 1e-12]]
    assert one_split(0.1, dtype=np.float64).apply(above) == 2
    assert one_split(float(np.float32(0.1)), dtype=np.float32).apply(above) == 1
    assert one_split(1e300, dtype=np.float64).apply([[1e200]]) == 1
    with pytest.raises(ValueError, match=r"expected finite float32 values or NaN, got .* too large one in column 0"):
        one_split(1e300).apply([[1e200]])


@pytest.mark.parametrize("comparison", ["<=", "<"])
def test_missing_values_go_where_they_are_sent(comparison: str) -> None:
    assert one_split(0.5, comparison=comparison).apply([[np.nan]]) == 1


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ({"comparison": ">"}, ValueError, "comparison: expected '<=' or '<', got '>'"),
        ({"dtype": np.float16}, ValueError, "dtype: expected float32 or float64, got float16"),
        ({"feature_names": ["a", "b"]}, ValueError, "feature_names: expected 1 names, one per feature, got 2"),
        ({"feature_names": [3]}, TypeError, "feature_names: expected strings, got 3"),
    ],
)
def test_other_comparisons_and_names_are_refused(how, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        one_split(0.5, **how)


def test_leaves_are_marked() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    np.testing.assert_array_equal(np.flatnonzero(~forest.is_leaf), forest.internal_nodes)


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(3, random_state=0), DecisionTreeClassifier(), BaggingClassifier(n_estimators=2)],
)
def test_names_travel_from_scikit_learn_through_pruning_and_back(estimator) -> None:
    forest = Forest.from_sklearn(estimator.fit(FRAME, LABELS_X))
    assert forest.feature_names == tuple(NAMES)
    pruned = forest.prune(random_pruning(forest, seed=1))
    assert pruned.feature_names == tuple(NAMES)
    back = pruned.to_sklearn()
    np.testing.assert_array_equal(back.predict(FRAME), pruned.predict(FRAME))
    with pytest.raises(ValueError, match="feature names should match"):
        back.predict(FRAME[NAMES[::-1]])
    assert Forest.from_sklearn(back).feature_names == tuple(NAMES)


FOREST = dataclasses.replace(Forest.from_sklearn(fitted("classifier", "forest")), feature_names=NAMES)


def test_without_names_columns_count_by_position() -> None:
    plain = Forest.from_sklearn(fitted("classifier", "forest"))
    assert plain.feature_names is None
    np.testing.assert_array_equal(plain.predict(FRAME), plain.predict(X))
    np.testing.assert_array_equal(FOREST.predict(X), FOREST.predict(FRAME))
    assert not hasattr(plain.to_sklearn(), "feature_names_in_")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "feature_usage"])
def test_other_columns_are_refused(method: str) -> None:
    call = getattr(FOREST, method)
    with pytest.raises(
        ValueError, match=r"X: expected the columns in the order of training, got 'sensor 6' in place 0"
    ):
        call(FRAME[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"X: .* got unknown 'sensors 0' \(closest: 'sensor 0'\) and no 'sensor 0'$"):
        call(FRAME.rename(columns={"sensor 0": "sensors 0"}))
    with pytest.raises(ValueError, match=r"X: expected the columns of training, got no 'sensor 0', 'sensor 1'$"):
        call(FRAME[NAMES[2:]])


def test_the_advice_on_the_order_of_columns_works() -> None:
    turned = FRAME[NAMES[::-1]]
    np.testing.assert_array_equal(FOREST.apply(turned[list(FOREST.feature_names)]), FOREST.apply(X))


def test_trees_for_other_columns_do_not_follow() -> None:
    first = dataclasses.replace(Forest.from_sklearn(fitted("classifier", "tree")), feature_names=tuple("abcdefg"))
    others = dataclasses.replace(first, feature_names=first.feature_names[::-1])
    assert first.followed_by(first).n_trees == 2 * first.n_trees
    with pytest.raises(ValueError, match="others: expected the columns in the order of training"):
        first.followed_by(others)


def test_costs_are_matched_by_name() -> None:
    prices = dict(zip(NAMES, range(1, N_FEATURES + 1), strict=True))
    expected = FOREST.cost(X, FeatureCosts(list(prices.values())))
    np.testing.assert_array_equal(FOREST.cost(X, FeatureCosts(dict(reversed(prices.items())))), expected)
    with pytest.raises(ValueError, match=r"costs: .* got unknown 'sensor 7' .* and no 'sensor 3'$"):
        FOREST.cost(X, FeatureCosts({name.replace("3", "7"): price for name, price in prices.items()}))


def test_frames_with_nullable_columns_hold_missing_values() -> None:
    missing = fitted("classifier", "forest", missing=0.2)
    values = examples(50, seed=4, missing=0.2)[0]
    frame = pd.DataFrame(values).convert_dtypes()
    np.testing.assert_array_equal(Forest.from_sklearn(missing).predict(frame), missing.predict(values))
    assert set(LABELS) >= set(missing.predict(values))
