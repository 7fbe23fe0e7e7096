"""Columns of indicators share their sums, and trees are those that columns by themselves would give."""

import numpy as np
import pytest

from ipforest import FeatureCosts
from ipforest.growing import AcquisitionState, CodedExamples, Entropy, Gradient, Grower, bundles


def table_of_indicators(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    kinds, other = rng.integers(0, 7, 400), rng.integers(0, 6, 400)
    X = np.column_stack([np.eye(7)[kinds], 1 - np.eye(6)[other], rng.integers(0, 9, (400, 2))]).astype(np.float32)
    X[::9, 13] = np.nan
    return X, (kinds + other + (X[:, 14] > 3) + rng.integers(0, 2, 400)) % 3


def test_no_example_has_the_rarer_code_of_two_members() -> None:
    X, _ = table_of_indicators(0)
    coded = CodedExamples.from_examples(X)
    found = coded.bundles
    assert np.diff(found.first).tolist() == [7, 6]
    assert found.is_bundled.tolist() == [True] * 13 + [False] * 2
    for bundle in range(2):
        members = range(found.first[bundle], found.first[bundle + 1])
        for number, place in enumerate(members, 1):
            has_it = coded.codes[found.feature[place]] == found.rarer[place]
            assert np.array_equal(found.member[bundle] == number, has_it)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["classes", "gradients"])
def test_trees_do_not_depend_on_bundles(seed: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table_of_indicators(seed)
    rng = np.random.default_rng(seed)
    gradients = rng.integers(-8, 9, (1, 400)) / 8.0  # whose sums are exact, as those of counts are

    def grown() -> list[np.ndarray]:
        coded = CodedExamples.from_examples(X)
        costs = FeatureCosts.uniform(X.shape[1])
        if kind == "classes":
            grower = Grower(Entropy(), max_leaf_nodes=12, price_weight=0.01)
            state = AcquisitionState.per_example(costs, 400)
            trees = grower.grow_classifiers(coded, y, 3, state, seeds=[seed])
        else:
            grower = Grower(Gradient(1.0), max_leaf_nodes=12, price_weight=0.01)
            state = AcquisitionState.per_example(costs, 400)
            trees = grower.grow_regressors(coded, gradients, np.ones((1, 400)), state, np.ones((1, 400)), [seed])
        return [trees.feature, trees.threshold, trees.value, trees.ends]

    together = grown()
    monkeypatch.setattr(bundles, "FEWEST_MEMBERS", 256)
    assert not CodedExamples.from_examples(X).bundles.is_bundled.any()
    alone = grown()
    assert together[0].size > 7
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(6))
def test_what_all_examples_of_a_node_have_bought_is_free_whatever_they_weigh(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.3) ^ (rng.random(3000) < 0.1)).astype(int)
    weights, coded = rng.integers(1, 10, 3000), CodedExamples.from_examples(X)

    def grown(unit: float) -> np.ndarray:
        state = AcquisitionState.per_example(FeatureCosts.uniform(4), 3000)
        state.bought[:, [0, 3]] = True
        state.bought[(X[:, 0] > 0) & (X[:, 2] > -1), 1] = True
        state.bought[X[:, 3] > -0.5, 2] = True
        grower = Grower(Entropy(), price_weight=1e15, min_samples_leaf=60)
        return grower.grow_classifiers(coded, y, 2, state, weights=(weights / unit)[None], seeds=[seed]).feature

    np.testing.assert_array_equal(grown(10), grown(1))
