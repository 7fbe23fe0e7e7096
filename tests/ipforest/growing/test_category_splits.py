"""The set of categories that a split sends left is the best of all sets, for gradients and for two classes."""

from itertools import chain, combinations

import numpy as np
import pytest

from ipforest import FeatureCosts
from ipforest.growing import (
    AcquisitionState,
    CodedExamples,
    Entropy,
    Gini,
    Gradient,
    Grower,
    GrownTree,
    Variance,
    forest_of,
)

N_CATEGORIES, N = 6, 180


def examples(seed: int, missing: float) -> tuple[np.ndarray, CodedExamples]:
    rng = np.random.default_rng(seed)
    X = rng.choice([0, 2, 3, 7, 8, 11], size=(N, 1)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X, CodedExamples.from_examples(X, None, np.array([True]))


def all_sides(X: np.ndarray) -> list[np.ndarray]:
    """List what can go left: every set of categories, with and without missing values."""
    values = np.unique(X[~np.isnan(X)])
    sets = chain.from_iterable(combinations(values, size) for size in range(values.size + 1))
    missing = np.isnan(X[:, 0])
    sides = [np.isin(X[:, 0], chosen) | extra for chosen in sets for extra in (np.zeros_like(missing), missing)]
    return [side for side in sides if side.any() and not side.all()]


def sides_of_the_root(X: np.ndarray, tree: GrownTree) -> np.ndarray:
    classes = None if tree.value.shape[1] == 1 else np.arange(2)
    forest = forest_of([tree], 1, classes, "gini")
    return forest.leaves(X)[0] == forest.left[0]


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("seed", range(8))
def test_for_gradients_it_is_the_best_of_all_sets(seed: int, missing: float) -> None:
    """With Hessians of 1 and no penalty it is the best split for squared errors."""
    X, coded = examples(seed, missing)
    rng = np.random.default_rng(seed + 100)
    hessian, l2 = (np.ones(N), 0.0) if seed % 2 else (rng.random(N) + 0.2, 0.7)
    gradient = rng.normal(size=N) + rng.normal(size=12)[np.nan_to_num(X[:, 0]).astype(int)]

    def gain(side: np.ndarray) -> float:
        return sum(gradient[part].sum() ** 2 / (hessian[part].sum() + l2) for part in (side, ~side))

    grower = Grower(Gradient(l2), max_leaf_nodes=2, price_weight=0.0)
    tree = grower.grow_regressors(
        coded, gradient[None], hessian[None], AcquisitionState.per_tree(FeatureCosts.uniform(1))
    )
    assert gain(sides_of_the_root(X, tree)) == pytest.approx(max(map(gain, all_sides(X))))


@pytest.mark.parametrize("impurity", [Gini(), Entropy()], ids=["gini", "entropy"])
@pytest.mark.parametrize("seed", range(4))
def test_for_two_classes_it_is_the_best_of_all_sets(seed: int, impurity: Gini | Entropy) -> None:
    X, coded = examples(seed, 0.15)
    rng = np.random.default_rng(seed + 200)
    labels = (rng.random(N) < rng.random(12)[np.nan_to_num(X[:, 0]).astype(int)]).astype(int)
    weights = rng.integers(1, 4, size=N).astype(float)

    def left_over(side: np.ndarray) -> float:
        counts = [np.bincount(labels[part], weights[part], 2) for part in (side, ~side)]
        return sum(impurity.of(count) * count.sum() for count in counts)

    tree = Grower(impurity, max_leaf_nodes=2, price_weight=0.0).grow_classifiers(
        coded, labels, 2, AcquisitionState.per_tree(FeatureCosts.uniform(1)), weights=weights[None]
    )
    assert left_over(sides_of_the_root(X, tree)) == pytest.approx(min(map(left_over, all_sides(X))))


def test_with_three_classes_one_of_them_can_be_told_from_the_others() -> None:
    X = np.repeat(np.arange(N_CATEGORIES, dtype=np.float32), 10)[:, None]
    labels = np.repeat([0, 2, 1, 0, 2, 1], 10)
    coded = CodedExamples.from_examples(X, None, np.array([True]))
    tree = Grower(Gini(), price_weight=0.0).grow_classifiers(
        coded, labels, 3, AcquisitionState.per_tree(FeatureCosts.uniform(1))
    )
    assert tree.n_nodes == 5
    assert tree.impurity[tree.left < 0].max() == 0


def test_categories_of_no_example_go_where_missing_ones_go() -> None:
    """At the second split of a tree, those that went the other way at the first are unknown."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(200, 1)).astype(np.float32)
    coded = CodedExamples.from_examples(X, None, np.array([True]))
    tree = Grower(Gradient(1.0), max_leaf_nodes=5, price_weight=0.0).grow_regressors(
        coded, rng.normal(size=200)[None], np.ones(200)[None], AcquisitionState.per_tree(FeatureCosts.uniform(1))
    )
    forest = forest_of([tree], 1, None, "squared_error")
    leaves = forest.leaves(np.array([[np.nan], [99], [-3]], dtype=np.float32))[0]
    assert len(set(leaves.tolist())) == 1
    assert not forest.missing_left.any()
    assert not forest.left_categories.others.any()
    np.testing.assert_array_equal(forest.reach_counts(forest.leaves(X)), tree.n_samples)


@pytest.mark.parametrize("kind", ["gradients", "weighted numbers", "classes", "weighted classes"])
@pytest.mark.parametrize("n_categories", [5, 20, 60])
def test_of_two_features_that_tell_nothing_categories_are_not_preferred(n_categories: int, kind: str) -> None:
    """The best of all sets gains more by chance than a cut of a number does; each is asked for about as often.

    Numbers are far apart on two sides, which the first test tells apart, so that the mean of a node is not 0.
    """
    rng = np.random.default_rng(n_categories)
    prices, n_asked, n_tables, n = FeatureCosts.uniform(3), 0, 200, 600
    is_category = np.array([True, False, False])
    for _ in range(n_tables):
        side = rng.integers(2, size=n)
        X = np.column_stack([rng.integers(n_categories, size=n), rng.integers(10, size=n), side]).astype(np.float32)
        if kind != "weighted numbers":
            X[:, 2] = 0
        coded, bought = CodedExamples.from_examples(X, None, is_category), AcquisitionState.per_tree(prices)
        weights = rng.multinomial(n, np.full(n, 1 / n))[None].astype(float) if "weighted" in kind else np.ones((1, n))
        if kind == "gradients":
            grower = Grower(Gradient(0.0), max_leaf_nodes=2, price_weight=0.0)
            hessians = rng.uniform(1, 2, size=(1, n))
            tree = grower.grow_regressors(coded, rng.normal(3, 2, size=(1, n)), hessians, bought)
        elif kind == "weighted numbers":
            grower = Grower(Variance(), max_leaf_nodes=3, price_weight=0.0)
            tree = grower.grow_many_means(coded, 99.0 * side + rng.normal(size=n), bought, weights)
        else:
            grower = Grower(Gini(), max_leaf_nodes=2, price_weight=0.0)
            tree = grower.grow_classifiers(coded, (rng.random(n) < 0.2).astype(int), 2, bought, weights)
        n_asked += int((tree.feature == 0).any())
    assert 0.15 < n_asked / n_tables < 0.7


def test_each_category_is_told_apart_however_rare() -> None:
    X = np.repeat(np.arange(4, dtype=np.float32), [2, 2, 3, 2])[:, None]
    labels = (X[:, 0] % 2).astype(int)
    tree = Grower(Gini(), price_weight=0.0).grow_classifiers(
        CodedExamples.from_examples(X, None, np.array([True])),
        labels,
        2,
        AcquisitionState.per_tree(FeatureCosts.uniform(1)),
    )
    assert tree.n_nodes == 3
    assert tree.impurity[tree.left < 0].max() == 0
