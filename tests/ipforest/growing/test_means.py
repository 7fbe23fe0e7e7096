"""Trees of means: values, variances and splits are those of the targets."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from ipforest import FeatureCosts, Forest
from ipforest.growing import AcquisitionState, CodedExamples, Gini, Grower, LookaheadGrower, Variance, forest_of

FREE = AcquisitionState.per_tree(FeatureCosts([0] * 3))


def data(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((120, 3)).astype(np.float32)
    return X, 1000 + 5 * X[:, 0] * X[:, 1] + rng.normal(0, 0.1, 120), rng.integers(0, 3, 120).astype(np.float64)


@pytest.mark.parametrize("seed", range(3))
def test_nodes_are_those_of_scikit_learn(seed: int) -> None:
    X, y, weight = data(seed)
    grower = Grower(Variance(), max_depth=4, min_samples_leaf=3, price_weight=0.0)
    tree = grower.grow_many_means(CodedExamples.from_examples(X, None), y, FREE, weights=weight[None], seeds=[seed])
    seen = weight > 0
    peer = DecisionTreeRegressor(max_depth=4, min_samples_leaf=3).fit(X[seen], y[seen], weight[seen])
    forest, other = forest_of([tree], 3, None, "squared_error"), Forest.from_sklearn(peer)
    np.testing.assert_allclose(forest.predict(X), other.predict(X), rtol=1e-9)
    for part in ("weight", "impurity", "n_samples"):
        np.testing.assert_allclose(np.sort(getattr(forest, part)), np.sort(getattr(other, part)), atol=1e-6)


def test_a_tree_of_one_random_cut_and_one_with_lookahead_know_their_variances() -> None:
    X, y, weight = data(0)
    random = Grower(Variance(), one_random_cut=True, max_depth=3, price_weight=0.0)
    grown = random.grow_many_means(CodedExamples.from_examples(X, 64), y, FREE, weights=weight[None])
    for tree in (grown, LookaheadGrower().grow_means(X, y, weight)):
        forest = forest_of([tree], 3, None, "squared_error")
        leaves = forest.leaves(X)[0]
        assert tree.n_nodes > 5
        for leaf in np.unique(leaves[weight > 0]):
            here = leaves == leaf
            mean = np.average(y[here], weights=weight[here])
            assert tree.value[leaf, 0] == pytest.approx(mean)
            variance = np.average((y[here] - mean) ** 2, weights=weight[here])
            assert tree.impurity[leaf] == pytest.approx(variance, abs=1e-6)


def test_prices_are_paid_from_what_a_split_gains() -> None:
    """A split of n targets that takes their variance v off gains n v / 2, and costs n prices."""
    X = np.repeat([[0.0], [1.0]], 20, axis=0).astype(np.float32)
    y = np.repeat([0.0, 2.0], 20)  # variance 1
    coded, costs = CodedExamples.from_examples(X, None), FeatureCosts([1])
    for weight, n_nodes in ((0.499, 3), (0.501, 1)):
        grower = Grower(Variance(), price_weight=weight)
        assert grower.grow_many_means(coded, y, AcquisitionState.per_example(costs, 40)).n_nodes == n_nodes


def test_lookahead_finds_what_tells_nothing_alone() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 5))
    y = np.sign(X[:, 3] * X[:, 1])
    tree = LookaheadGrower().grow_means(X, y, np.ones(600))
    assert tree.feature[0] in (1, 3)


def test_impurities_for_means_are_checked() -> None:
    X, y, _ = data(0)
    with pytest.raises(ValueError, match=r"^impurity: expected Variance, got gini$"):
        Grower(Gini()).grow_many_means(CodedExamples.from_examples(X, 8), y, FREE)
    with pytest.raises(ValueError, match=r"^l2: expected 0, as a leaf predicts the mean, got 1$"):
        Variance(1)
