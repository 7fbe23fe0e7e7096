"""Forests on many sets of features: settings are chosen on a few of them."""

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from ipforest.frontiers.forests_on_features import (
    AT_ONCE,
    ForestsOnFeatures,
    TreeSettings,
    answers_out_of_bag,
    bagged,
    n_drawn,
)
from ipforest.frontiers.tasks import Classification
from ipforest.growing import CodedExamples, Gini

SETS = [np.arange(n) for n in (1, 2, 3, 5, 8, 12)]


def forests(X: Any, y: Any, n_trees: int = 4, leaf_sizes: Sequence[int] = (1, 20)) -> ForestsOnFeatures:
    X = X.astype(np.float32)
    codes = [CodedExamples.from_examples(X, bins) for bins in (16, 64)]
    return ForestsOnFeatures(X, *codes, y, np.ones(len(y)), Classification(np.unique(y)), n_trees, leaf_sizes)


@pytest.fixture(scope="module")
def trained() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    trained = [forests(X[:200], y[:200]).trained(SETS, range(6), n_jobs=n_jobs) for n_jobs in (None, 2)]
    return [[each.model for each in models] for models in trained], X[200:], y[200:]


def test_the_number_of_threads_changes_nothing(trained: tuple[Any, Any, Any]) -> None:
    (one, two), X, _ = trained
    for columns, before, after in zip(SETS, one, two, strict=True):
        np.testing.assert_array_equal(before.predict_proba(X[:, columns]), after.predict_proba(X[:, columns]))


def test_trees_at_rest_answer_the_same_and_are_unpacked_only_while_they_are_in_use(
    trained: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (models, _), X, _ = trained
    before = [model.predict_proba(X[:, columns]) for model, columns in zip(models, SETS, strict=True)]
    monkeypatch.setattr("ipforest.ensemble.packed_forests.MIN_RESTING_BYTES", 1)
    for model, columns, answers in zip(copy.deepcopy(models), SETS, before, strict=True):
        model.ensembles_ = tuple(model.ensembles_)
        assert not any(unpacked(model.rest()))
        np.testing.assert_array_equal(model.predict_proba(X[:, columns]), answers)
        assert all(unpacked(model))
        again = pickle.loads(pickle.dumps(model))
        assert not any(unpacked(again))
        np.testing.assert_array_equal(again.predict_proba(X[:, columns]), answers)
        assert [each.n_trees for each in again.ensembles_] == [4] * len(again.ensembles_)
        assert again.ensembles_[-1].n_trees == 4
        assert not any(unpacked(model.rest()))


def unpacked(model: Any) -> list[bool]:
    return [each.unpacked is not None for each in model.ensembles_.members]


def test_models_are_those_of_their_sets(trained: tuple[Any, Any, Any]) -> None:
    (models, _), X, y = trained
    assert [model.n_features_in_ for model in models] == [1, 2, 3, 5, 8, 12]
    assert all(model.score(X[:, columns], y) > 0.75 for columns, model in zip(SETS, models, strict=True))


def test_settings_are_kept_from_the_nearest_set_on_which_they_were_chosen(trained: tuple[Any, Any, Any]) -> None:
    """Of sizes 1, 2, 3, 5, 8, 12 the first, third and last choose; 8 is nearer to 12 than to 3."""
    (models, _), _, _ = trained
    settings = [(model.min_samples_leaf_, model.max_features_, len(model.ensembles_)) for model in models]
    middle, largest = settings[2], settings[5]
    assert settings[1] == middle
    assert settings[3] == middle
    assert settings[4] == largest


def test_larger_leaves_are_chosen_where_labels_are_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)), rng.integers(0, 2, 200)
    (trained,) = forests(X, y, 20).trained([np.array([0])], [0])
    assert set(trained.model.min_samples_leaf_) == {20}


def test_splits_choose_from_so_many_features() -> None:
    assert [TreeSettings(False, 1).grower(n, Gini()).max_features for n in (1, 3, 9)] == [1, 1, 3]
    assert [TreeSettings(True, 1, 0.5).grower(n, Gini()).max_features for n in (1, 3, 9)] == [1, 1, 4]


def test_shares_out_of_bag_are_those_of_trees_that_have_not_seen_the_example() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    grown = forests(X[:100], y[:100], 3)
    forest, out_of_bag = grown._bagged(TreeSettings(False, 1), np.arange(4), 0)
    shares = answers_out_of_bag(forest, out_of_bag, grown.X[:, :4])
    leaves = forest.leaves(grown.X[:, :4])
    assert 0.2 < (out_of_bag > 0).mean() < 0.5
    for row in range(100):
        unseen = [forest.value[leaves[tree, row]] for tree in range(3) if out_of_bag[row, tree]]
        np.testing.assert_allclose(shares[row], np.mean(unseen, axis=0) if unseen else [0, 0])


def test_weightless_examples_are_never_drawn() -> None:
    drawn: list[Any] = []

    def grow(weights: Any, seeds: Any) -> list[Any]:
        assert len(weights) == len(seeds)
        drawn.extend(weights)
        return []

    _, out_of_bag = bagged(grow, 5, np.array([0.0, 2.0, 1.0]), np.random.RandomState(0))
    assert len(drawn) == 5
    assert all(weight[0] == 0 and weight.any() for weight in drawn)
    np.testing.assert_array_equal(out_of_bag, np.where(np.array(drawn) == 0, [0.0, 2.0, 1.0], 0.0).T)


def test_no_more_than_max_samples_are_drawn() -> None:
    drawn: list[Any] = []
    weight = np.full(100, 2.0)
    bagged(lambda weights, seeds: drawn.extend(weights) or [], 20, weight, np.random.RandomState(0), 10)
    assert [row.sum() / 2 for row in drawn] == [10] * 20
    assert [n_drawn(100, most) for most in (None, 101, 100, 1)] == [100, 100, 100, 1]


def test_many_examples_are_taken_a_few_trees_at_a_time() -> None:
    sizes: list[int] = []
    bagged(lambda weights, seeds: sizes.append(len(weights)) or [], 5, np.ones(AT_ONCE // 2), np.random.RandomState(0))
    assert sizes == [2, 2, 1]
