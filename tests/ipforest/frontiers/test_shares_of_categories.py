"""Tests of numbers that stand for categories are tests of the categories."""

from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator

from ipforest._internal.examples import Labelled
from ipforest.ensemble.forest import Forest
from ipforest.frontiers.shares_of_categories import SharesOfCategories
from ipforest.frontiers.staged_forests import EncodedExamples, StagedForests
from ipforest.frontiers.tasks import Classification, Regression, Task
from ipforest.frontiers.work import Work

CLASSES = np.arange(3)


def examples(n: int, seed: int, most: int) -> Any:
    """Draw two columns of categories, with gaps in one, and two of numbers between and after them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, most, n), rng.integers(0, 4, n), rng.normal(size=n)])
    X[rng.random(n) < 0.1, 1] = np.nan
    return X.astype(np.float32)


@pytest.mark.parametrize("task", [Classification(CLASSES[:2]), Classification(CLASSES), Regression()])
def test_a_forest_that_tests_categories_answers_as_one_behind_an_encoder(task: Task) -> None:
    X = examples(300, 0, 20)
    signal = np.nan_to_num(X[:, 1]) % 7 + X[:, 0]
    y = signal if task.classes is None else np.digitize(signal, [1.5, 4][: task.classes.size - 1])
    shares = SharesOfCategories.of(X, y, (1, 2), task)
    encoder = FrozenEstimator(task.encoder().fit(X[:, [1, 2]], y))
    encoded = make_column_transformer((encoder, [1, 2]), ("passthrough", [3, 0])).fit(X, y)
    table = encoded.transform(X).astype(np.float32)
    n_shares = shares.numbers.shape[1]
    np.testing.assert_array_equal(shares.columns(X), table[:, :n_shares])
    kind = RandomForestRegressor if task.classes is None else RandomForestClassifier
    forest = Forest.from_sklearn(kind(5, random_state=0).fit(table, y))
    columns = np.arange(n_shares + 2)
    places = np.array([0] * (n_shares // 2) + [2] * (n_shares // 2) + [1, 3])
    tests = shares.as_tests_of_categories(forest, columns, places)
    others = examples(400, 1, 25)  # with categories that training does not have
    np.testing.assert_array_equal(
        tests.mean_value(others[:, [1, 3, 2, 0]]), forest.mean_value(encoded.transform(others).astype(np.float32))
    )
    tested = tests.feature[tests.internal_nodes]
    assert set(tested.tolist()) == {0, 1, 2, 3}
    np.testing.assert_array_equal(tests.category_set[tests.internal_nodes] >= 0, np.isin(tested, [0, 2]))
    assert len(tests.left_categories) < (tests.category_set >= 0).sum()


class Plans:
    """Wants models on no feature, on a number and a category, and on the category of other examples alone."""

    share_of_trees = 0.3

    def __init__(self, n: int) -> None:
        first, others = np.arange(n // 2), np.arange(n // 2, n)
        self.parts = [(np.empty(0, dtype=np.int64), first), (np.array([3, 1]), first), (np.array([1]), others)]

    def wanted(self) -> Any:
        return self.parts


@pytest.mark.parametrize("task", [Classification(CLASSES[:2]), Regression()])
def test_each_model_learns_from_its_own_examples_on_its_own_features(task: Task) -> None:
    """In one half the number tells the target, in the other whether the category is even."""
    X = examples(800, 2, 6)
    X[:, 1] = np.nan_to_num(X[:, 1])
    even = X[:, 1] % 2 == 0
    y = np.where(np.arange(800) < 400, X[:, 3] > 0.5, even).astype(np.int64)
    examples_of_all = EncodedExamples.of(Labelled(X, y, np.ones(800)), (1, 2), 64, task)
    settings = 5, (1,), None, np.random.RandomState(0), Work()
    nothing, number, category = StagedForests(examples_of_all, *settings).trained(Plans(800))
    prior = nothing.model.predict(X[:1]) if task.classes is None else nothing.model.predict_proba(X[:1])[:, 1]
    assert prior == pytest.approx(y[:400].mean())
    told = number.model.mean_answers(X[:, [3, 1]])[:, -1]
    assert ((told > 0.5) == (X[:, 3] > 0.5)).mean() > 0.98
    np.testing.assert_allclose(category.model.mean_answers(X[:, [1]])[:, -1], even, atol=1e-9)
    assert [forest.n_trees for forest in number.model.ensembles_] == [2, 2]
    assert all((forest.category_set >= 0).any() for forest in category.model.ensembles_)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_shares_are_arrays_whatever_scikit_learn_is_to_give(output: str) -> None:
    X, task = examples(100, 0, 5), Classification(CLASSES)
    y = np.arange(100) % 3
    expected = SharesOfCategories.of(X, y, (1, 2), task).columns(X)
    with config_context(transform_output=output):
        np.testing.assert_array_equal(SharesOfCategories.of(X, y, (1, 2), task).columns(X), expected)
