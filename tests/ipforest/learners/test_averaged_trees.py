"""AveragedTrees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest.learners import AveragedTrees
from ipforest.model_files import load_model, save_model

KINDS = [
    HistGradientBoostingClassifier(max_iter=10, random_state=0),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
]


def bootstrapped(estimator: Any) -> dict[str, str]:
    return {"check_sample_weight_equivalence_on_dense_data": "bootstrap samples draw twins apart"}


@parametrize_with_checks([AveragedTrees(KINDS)], expected_failed_checks=bootstrapped)
def test_scikit_learn_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("missing", [0, 0.2])
def test_probabilities_are_those_of_soft_voting(load: Any, missing: float) -> None:
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < missing, np.nan, X).astype(np.float32)
    names, weight = np.array(["a", "b", "c"])[y], rng.random(len(y))
    voting = VotingClassifier([(str(place), kind) for place, kind in enumerate(KINDS)], voting="soft")
    voting.fit(X[::2], names[::2], sample_weight=weight[::2])
    model = AveragedTrees(KINDS).fit(X[::2], names[::2], weight[::2])
    np.testing.assert_allclose(model.predict_proba(X), voting.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), voting.predict(X))


def test_three_kinds_by_default() -> None:
    X, y = load_iris(return_X_y=True)
    model = AveragedTrees().fit(X, y)
    assert [trees.n_trees for trees in model.ensembles_] == [300, 100, 100]


def test_trees_are_saved_as_arrays(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    sizes = []
    for n_trees in (10, 100):
        model = AveragedTrees([RandomForestClassifier(n_trees, max_depth=2, random_state=0)]).fit(X, y)
        file = save_model(model, tmp_path / "model.skops")
        np.testing.assert_array_equal(load_model(file).predict_proba(X), model.predict_proba(X))
        sizes.append(file.stat().st_size)
    assert sizes[1] - sizes[0] < 100_000


@pytest.mark.parametrize(
    ("estimators", "y", "error", "text"),
    [
        ([], [0, 1], ValueError, "estimators: expected at least one, got none"),
        ([LogisticRegression()], [0, 1], TypeError, "LogisticRegression"),
        (KINDS, [1, 1], ValueError, "y: expected at least 2 classes, got 1 class"),
    ],
)
def test_bad_input_is_refused(estimators: Any, y: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        AveragedTrees([clone(each) for each in estimators]).fit([[0.0], [1.0]], y)
