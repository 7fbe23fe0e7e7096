"""AveragedTrees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest.frontiers import AveragedTrees
from ipforest.frontiers.averaged_trees import LEAF_SIZES, last_before_rise
from ipforest.frontiers.scores import brier_score, soft_error
from ipforest.tabular.model_files import load_model, save_model

pytestmark = pytest.mark.slow

SEED = int(np.random.RandomState(0).randint(2**31))


def bootstrapped(estimator: Any) -> dict[str, str]:
    return {"check_sample_weight_equivalence_on_dense_data": "bootstrap samples draw twins apart"}


@parametrize_with_checks([AveragedTrees(5, random_state=0)], expected_failed_checks=bootstrapped)
def test_scikit_learn_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


def peers(size: int, X: Any, y: Any, weight: Any = None, max_features: Any = "sqrt") -> list[Any]:
    settings = {"min_samples_leaf": size, "max_features": max_features, "oob_score": True, "random_state": SEED}
    kinds = (RandomForestClassifier, ExtraTreesClassifier)
    return [kind(100, bootstrap=True, **settings).fit(X, y, weight) for kind in kinds]


def error(averaged: list[Any], y: Any, weight: Any) -> float:
    labels = np.searchsorted(averaged[0].classes_, y)
    return brier_score(np.mean([each.oob_decision_function_ for each in averaged], axis=0), labels, weight)


def wrong(peer: Any, y: Any, weight: Any) -> float:
    return float(np.average(soft_error(peer.oob_decision_function_, y, peer.classes_, len(y)), weights=weight))


def thresholds(rng: np.random.Generator) -> tuple[Any, Any]:
    """Make labels that a narrow interval of one feature tells: random thresholds miss it."""
    X = rng.normal(size=(600, 8))
    return X, (np.abs(X[:, 0] - 1) < 0.1).astype(int)


def missing_values(rng: np.random.Generator) -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return np.where(rng.random(X.shape) < 0.2, np.nan, X), np.array(["malignant", "benign"])[y]


def three_classes(rng: np.random.Generator) -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X[:, :2], y


@pytest.mark.parametrize(("draw", "kinds"), [(thresholds, [0]), (missing_values, [0, 1]), (three_classes, [0, 1])])
def test_kinds_are_averaged_unless_one_by_itself_is_clearly_better(draw: Any, kinds: list[int]) -> None:
    X, y = draw(np.random.default_rng(0))
    X, weight = X.astype(np.float32), 0.5 + np.random.default_rng(1).random(len(y))
    model = AveragedTrees(min_samples_leaf=[2], random_state=0).fit(X, y, weight)
    pairs = zip(*(peers(2, X, y, weight, share) for share in ("sqrt", 0.5)), strict=True)
    both = [min(pair, key=lambda peer: wrong(peer, y, weight)) for pair in pairs]
    alone = min(both, key=lambda peer: error([peer], y, weight))
    assert (error([alone], y, weight) < 0.95 * error(both, y, weight)) == (len(kinds) == 1)
    assert model.max_features_ == tuple(both[kind].max_features for kind in kinds)
    mean = np.mean([both[kind].predict_proba(X) for kind in kinds], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(mean, axis=1)])


@pytest.mark.parametrize("noise", [0, 0.1, 0.4])
def test_leaves_grow_until_the_brier_score_out_of_bag_rises(noise: float) -> None:
    X, y = make_classification(300, 6, flip_y=noise, random_state=0)
    model = AveragedTrees(random_state=0).fit(X, y)
    assert len(model.min_samples_leaf_) == 2
    scores = [[error([peer], y, np.ones(300)) for peer in peers(n, X, y)] for n in LEAF_SIZES]
    for chosen, curve in zip(model.min_samples_leaf_, np.transpose(scores), strict=True):
        rises = [*np.flatnonzero(np.diff(curve) > 0), len(curve) - 1]
        assert chosen == LEAF_SIZES[rises[0]]


def test_of_equal_scores_the_later_is_taken_and_nothing_is_tried_after_a_rise() -> None:
    tried = iter([(0.3, "a"), (0.2, "b"), (0.2, "c"), (0.25, "d"), (0.1, "e")])
    assert last_before_rise(tried) == (0.2, "c")
    assert list(tried) == [(0.1, "e")]


def test_noisy_labels_ask_for_large_leaves() -> None:
    X, y = load_iris(return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(y)
    assert AveragedTrees(random_state=0).fit(X, shuffled).min_samples_leaf_ == (10, 10)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 6))
    assert AveragedTrees(random_state=0).fit(X, X[:, :4].sum(axis=1) % 2).min_samples_leaf_[0] == 1


def test_splits_choose_from_many_features_where_few_of_them_tell_anything() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 36))
    one, all_of_them = X[:, 0] > 0, X.sum(axis=1) > 0
    model = AveragedTrees(random_state=0)
    assert set(model.fit(X, one).max_features_) == {0.5}
    assert "sqrt" in model.fit(X, all_of_them).max_features_
    assert set(model.fit(X[:, :5], one).max_features_) == {"sqrt"}, "both are two of five"


def test_brier_score() -> None:
    """Distances 0, 2 and 1/2 with weights 1, 1 and 2."""
    probability = np.array([[1, 0], [1, 0], [0.5, 0.5]])
    assert brier_score(probability, np.array([0, 1, 1]), np.array([1.0, 1.0, 2.0])) == pytest.approx(0.75)


def test_trees_are_saved_as_arrays(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    sizes = []
    for n_trees in (10, 100):
        model = AveragedTrees(n_trees, min_samples_leaf=[20], random_state=0).fit(X, y)
        file = save_model(model, tmp_path / "model.skops")
        np.testing.assert_array_equal(load_model(file).predict_proba(X), model.predict_proba(X))
        sizes.append(file.stat().st_size)
    assert sizes[1] - sizes[0] < 200_000


@pytest.mark.parametrize(
    ("settings", "y", "text"),
    [
        ({"min_samples_leaf": []}, [0, 1], "min_samples_leaf: expected at least one size, got none"),
        ({"min_samples_leaf": [0]}, [0, 1], "min_samples_leaf: expected"),
        ({"n_estimators": 0}, [0, 1], "n_estimators: expected"),
        ({}, [1, 1], "y: expected at least 2 classes, got 1 class"),
    ],
)
def test_bad_input_is_refused(settings: Any, y: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        AveragedTrees(**settings).fit([[0.0], [1.0]], y)
