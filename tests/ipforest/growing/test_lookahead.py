"""Lookahead finds features that tell nothing by themselves; its splits equal those of brute force."""

import numpy as np
import pytest

from ipforest import FeatureCosts
from ipforest.frontiers.work import TimeIsOver
from ipforest.growing import Gini, Grower, LookaheadGrower, forest_of
from ipforest.growing.acquisition import AcquisitionState
from ipforest.growing.codes import CodedExamples
from ipforest.growing.lookahead import moments, otsu_thresholds


def exclusive_or(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.2, (n, 8))
    bits = np.arange(n)[:, None] >> np.array([0, 1]) & 1
    X[:, 3] += bits[:, 0]
    X[:, 6] += bits[:, 1]
    return X.astype(np.float32), bits[:, 0] ^ bits[:, 1]


def test_exclusive_or_is_found_among_noise() -> None:
    X, y = exclusive_or()
    tree = LookaheadGrower().grow(X, y, 2, np.ones(y.size))
    assert {int(tree.feature[0]), int(tree.feature[tree.left[0]]), int(tree.feature[tree.right[0]])} == {3, 6}
    forest = forest_of([tree], 8, np.array([0, 1]), "gini")
    assert np.mean(forest.predict(X) == y) > 0.97
    free = AcquisitionState.per_tree(FeatureCosts([0] * 8))
    myopic = Grower(Gini(), max_depth=2).grow_classifiers(CodedExamples.from_examples(X), y, 2, free)
    assert np.mean(forest_of([myopic], 8, np.array([0, 1]), "gini").predict(X) == y) < 0.8


@pytest.mark.parametrize("seed", range(5))
def test_splits_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(60, 4)), rng.integers(0, 3, 60), rng.integers(1, 3, 60).astype(np.float64)
    counts = np.eye(3)[y] * weight[:, None]
    cuts = otsu_thresholds(X)

    def gini(rows: np.ndarray) -> float:
        sums = counts[rows].sum(axis=0)
        return float(sums.sum() - (sums**2).sum() / sums.sum())

    def reduction(rows: np.ndarray, feature: int) -> float:
        left, right = rows & (X[:, feature] <= cuts[feature]), rows & (X[:, feature] > cuts[feature])
        return -np.inf if min(left.sum(), right.sum()) < 5 else gini(rows) - gini(left) - gini(right)

    everything = np.ones(60, dtype=bool)
    merit = [
        reduction(everything, f)
        + max(0.0, *(reduction(X[:, f] <= cuts[f], g) for g in range(4)))
        + max(0.0, *(reduction(X[:, f] > cuts[f], g) for g in range(4)))
        for f in range(4)
    ]
    for tried in (np.arange(4), np.array([3, 1])):
        best = int(tried[np.argmax(np.array(merit)[tried])])
        assert LookaheadGrower().best_split(X, moments(np.eye(3)[y], weight), tried) == (best, cuts[best])


def test_of_many_features_some_are_drawn_at_each_node() -> None:
    X, y = exclusive_or()
    wide = np.repeat(X, 40, axis=1)
    tested = [int(LookaheadGrower().grow(wide, y, 2, np.ones(y.size), seed).feature[0]) for seed in (0, 0, 1, 2, 3)]
    assert tested[0] == tested[1]
    assert len(set(tested)) > 1
    assert {feature // 40 for feature in tested} <= {3, 6}


def test_cuts_part_what_is_unlike() -> None:
    X = np.array([[0, 0, 5, np.nan], [0.1, 0, 5, np.nan], [1, 0, 5, np.nan], [1.1, 0, np.nan, np.nan], [0.05, 9, 1, 2]])
    np.testing.assert_allclose(otsu_thresholds(X), [0.55, 4.5, 3.0, np.nan])
    assert np.isnan(otsu_thresholds(X[:1])).all()


def test_examples_without_weight_are_left_out() -> None:
    X, y = exclusive_or()
    weights = (np.arange(y.size) < 200).astype(np.float64)
    tree = LookaheadGrower().grow(X, y, 2, weights)
    alone = LookaheadGrower().grow(X[:200], y[:200], 2, np.ones(200))
    np.testing.assert_array_equal(tree.feature, alone.feature)
    np.testing.assert_array_equal(tree.threshold, alone.threshold)
    assert tree.n_samples[0] == tree.weight[0] == 200


def test_neighbours_in_float32_are_told_apart() -> None:
    low = np.float32(1 + 2**-23)
    right = np.arange(200) % 3 == 0
    X = np.where(right, np.nextafter(low, np.float32(2)), low)[:, None]
    tree = LookaheadGrower().grow(X, right.astype(np.int64), 2, np.ones(200))
    assert tree.n_samples.tolist() == [200, 133, 67]
    np.testing.assert_array_equal(tree.value[1:], np.eye(2))


def test_growing_ends_where_the_check_says_so() -> None:
    X, y = exclusive_or()
    calls: list[int] = []
    tree = LookaheadGrower().grow(X, y, 2, np.ones(len(y)), check=lambda: calls.append(1))
    assert len(calls) == tree.n_nodes

    def over() -> None:
        raise TimeIsOver

    with pytest.raises(TimeIsOver):
        LookaheadGrower().grow(X, y, 2, np.ones(len(y)), check=over)
