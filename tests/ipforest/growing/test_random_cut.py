"""One random cut per feature: extremely randomised trees."""

from typing import Any

import numpy as np

from ipforest.costs import FeatureCosts
from ipforest.growing import AcquisitionState, CodedExamples, Gini, Grower
from ipforest.growing.splitting import ROUNDED_PARTS

GROWER = Grower(Gini(), one_random_cut=True, max_depth=1, price_weight=0.0)


def stump(X: Any, labels: Any, seed: int, grower: Grower = GROWER) -> Any:
    coded = CodedExamples.from_examples(np.asarray(X, dtype=np.float32))
    free = AcquisitionState.per_tree(FeatureCosts([0] * coded.n_features))
    return grower.grow_classifiers(coded, np.asarray(labels), 2, free, seeds=[seed])


def test_cuts_are_uniform_between_the_ends() -> None:
    """Of 0, 2, 3 and 10 the cut lies between the first two in a fifth of the cases, in 0.7 beyond the third."""
    X, labels = [[0], [2], [3], [10]], [0, 1, 0, 1]
    thresholds = np.array([stump(X, labels, seed).threshold[0] for seed in range(300)])
    assert thresholds.min() >= 0
    assert thresholds.max() < 10
    shares = np.histogram(thresholds, [0, 2, 3, 10])[0] / 300
    np.testing.assert_allclose(shares, [0.2, 0.1, 0.7], atol=0.07)
    assert abs(thresholds.mean() - 5) < 0.5


def test_thresholds_take_few_binary_places_and_part_the_same_examples() -> None:
    values = np.random.default_rng(0).normal(size=60).astype(np.float32)
    labels = np.arange(60) % 2
    for seed in range(30):
        tree = stump(values[:, None], labels, seed)
        threshold, known = tree.threshold[0], np.sort(values)
        gap = np.diff(known)[np.searchsorted(known, threshold, side="right") - 1]
        parts = 2 * ROUNDED_PARTS * threshold / 2.0 ** np.floor(np.log2(gap))
        assert parts == np.round(parts) or threshold in known
        assert tree.n_samples[1] == (values <= threshold).sum()


def test_missing_values_go_where_they_reduce_the_impurity_more() -> None:
    X = [[0], [1], [np.nan], [np.nan]]
    for labels, left in (([0, 1, 0, 0], True), ([0, 1, 1, 1], False)):
        tree = stump(X, labels, 0)
        assert tree.missing_left[0] == left
        assert tree.impurity[[1, 2]].tolist() == [0, 0]


def test_missing_values_are_parted_from_one_known_value() -> None:
    tree = stump([[4], [4], [np.nan]], [0, 0, 1], 0)
    assert tree.threshold[0] == np.inf
    assert tree.n_samples.tolist() == [3, 2, 1]
    assert stump([[4], [4], [4]], [0, 0, 1], 0).n_nodes == 1


def test_both_sides_are_as_large_as_asked_for() -> None:
    rng = np.random.default_rng(0)
    grower = Grower(Gini(), one_random_cut=True, min_samples_leaf=7, max_features=2, price_weight=0.0)
    tree = stump(rng.normal(size=(150, 4)), rng.integers(0, 2, 150), 0, grower)
    assert tree.n_nodes > 5
    assert tree.n_samples[tree.left < 0].min() >= 7


def test_whole_trees_tell_their_examples_apart() -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    tree = stump(X, labels, 1, Grower(Gini(), one_random_cut=True, price_weight=0.0))
    assert tree.impurity[tree.left < 0].max() == 0
