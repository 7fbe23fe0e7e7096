"""What a tree pays for a feature: per path, per tree, per node; against a plain second implementation, tree by tree."""

import numpy as np
import pytest
from reference.plain_boosting import PlainBooster, adapt_gbrt, greedy_miser

from ipforest.adaptive.adapt_gbrt import STILL_ACCURACY, STILL_SHARES, regrown_pairs
from ipforest.adaptive.approximation import Training
from ipforest.costs import FeatureCosts
from ipforest.growing import AcquisitionState, CodedExamples, Gini, Gradient, Grower
from ipforest.learners import GreedyMiser, GreedyMiserRegressor, PricedGrowth
from ipforest.learners.priced_booster import PricedBooster

CHARGES = ("path", "tree", "node")
COSTS = FeatureCosts([1, 2, 1, 3, 1], [-1, 0, 0, -1, -1], [2])
NEEDS = [{0}, {1, 5}, {2, 5}, {3}, {4}]
PRICES = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0]


def examples(seed: int, n: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)


def crossed(charge: str, weight: float) -> list[int]:
    """Grow on a target that feature 0 parts and feature 1 parts again on both sides."""
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 4, dtype=np.float32)
    target = 10.0 * X[:, 0] + X[:, 1]
    state = AcquisitionState.per_ensemble(FeatureCosts([0, 1]), charge=charge)
    grower = Grower(Gradient(), max_depth=2, price_weight=weight)
    tree = grower.grow_regressors(CodedExamples.from_examples(X), -target[None], np.ones(16)[None], state)
    return tree.feature.tolist()


def test_units_are_paid_for_per_path_per_tree_or_per_node() -> None:
    gain_on_one_side = 8 * 0.25 / 2
    for charge in CHARGES:
        assert crossed(charge, 0.99 * gain_on_one_side) == [0, 1, 1, -1, -1, -1, -1]
        assert crossed(charge, 1.01 * gain_on_one_side) == [0, -1, -1]


def staircase(charge: str, weight: float) -> int:
    """Count tests of one feature whose first gains 1.125 per example and whose second gains 0.125 below."""
    X = np.arange(4, dtype=np.float32).repeat(4)[:, None]
    target = np.array([0.0, 1.0, 3.0, 4.0]).repeat(4)
    state = AcquisitionState.per_ensemble(FeatureCosts([1]), charge=charge)
    grower = Grower(Gradient(), max_depth=2, price_weight=weight)
    tree = grower.grow_regressors(CodedExamples.from_examples(X), -target[None], np.ones(16)[None], state)
    return int((tree.left >= 0).sum())


def test_below_the_test_that_buys_a_unit_only_nodes_are_charged_again() -> None:
    assert {charge: staircase(charge, 5) for charge in CHARGES} == {"path": 3, "tree": 3, "node": 1}


def test_on_another_path_the_tree_charges_once() -> None:
    """Right of the root feature 1 gains 16 and left of it 4, for a price of 5: only a tree has it there for nothing."""
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 8, dtype=np.float32)
    target = 100.0 * X[:, 0] + X[:, 1] * np.where(X[:, 0] > 0, np.sqrt(8), np.sqrt(2))
    found = {}
    for charge in CHARGES:
        state = AcquisitionState.per_ensemble(FeatureCosts([0, 1]), charge=charge)
        grower = Grower(Gradient(), max_depth=2, price_weight=5)
        tree = grower.grow_regressors(CodedExamples.from_examples(1 - X), -target[None], np.ones(32)[None], state)
        found[charge] = tree.feature[:3].tolist()
    assert found == {"path": [0, 1, -1], "tree": [0, 1, 1], "node": [0, 1, -1]}


def test_a_tree_that_pays_once_has_no_limit_of_leaves() -> None:
    state = AcquisitionState.per_ensemble(FeatureCosts([1, 1]), charge="tree")
    X = np.arange(8, dtype=np.float32).reshape(4, 2)
    grower = Grower(Gini(), max_leaf_nodes=3)
    with pytest.raises(ValueError, match=r"^max_leaf_nodes: expected None where a tree pays once .*, got 3$"):
        grower.grow_classifiers(CodedExamples.from_examples(X), np.array([0, 0, 1, 1]), 2, state)


@pytest.mark.parametrize("model", [GreedyMiser(2), GreedyMiserRegressor(2)])
@pytest.mark.parametrize("charge", ["round", None])
def test_another_charge_is_refused(model, charge) -> None:
    with pytest.raises(
        ValueError, match=r"^growth\.charge: expected one of 'path', 'tree', 'node', got ('round'|None)$"
    ):
        model.set_params(growth__charge=charge).fit(examples(0), np.arange(60) % 2)


@pytest.mark.parametrize("charge", CHARGES)
def test_whatever_is_charged_examples_pay_what_they_buy(charge) -> None:
    X = examples(3, 200)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = GreedyMiser(6, lam=1e-2, growth=PricedGrowth(charge=charge), feature_costs=COSTS).fit(X, y)
    used = np.zeros((200, 6), dtype=bool)
    for start, _ in model.trees_:
        for row in range(200):
            node = start
            while model.trees_.left[node] >= 0:
                feature = model.trees_.feature[node]
                used[row, list(NEEDS[feature])] = True
                goes_left = X[row, feature] <= model.trees_.threshold[node]
                node = model.trees_.left[node] if goes_left else model.trees_.right[node]
    np.testing.assert_allclose(model.cost(X), used @ np.array(PRICES))


SEEDS = {2: (1, 4), 3: (0, 4)}
REGROWN = {2: ((0, 0.4, 2e-3), (4, 0.2, 0.5)), 3: ((1, 0.4, 2e-3), (2, 0.2, 0.5))}
"""Of examples on which each node has one best test, by a clear lead; equally good ones chance decides."""


def assert_same_trees(forest, trees) -> None:
    assert forest.n_trees == len(trees)
    assert min(tree.least_lead for tree in trees) > 1e-9
    for (start, stop), plain in zip(forest, trees, strict=True):
        is_test = forest.left[start:stop] >= 0
        assert np.where(is_test, forest.feature[start:stop], -1).tolist() == plain.features()
        values = [node.value for node in plain.nodes if node.feature < 0]
        np.testing.assert_allclose(forest.value[start:stop, 0][~is_test], values, rtol=1e-7, atol=1e-10)
        thresholds = [node.threshold for node in plain.nodes if node.feature >= 0]
        np.testing.assert_allclose(forest.threshold[start:stop][is_test], thresholds, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("charge", CHARGES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_greedy_miser_is_the_plain_one_tree_by_tree(charge, loss, n_classes) -> None:
    plain_trees, lam = [], 1e-2
    for seed in SEEDS[n_classes]:
        X = examples(seed)
        noise = np.random.default_rng(seed + 50).normal(size=60)
        score = X[:, 0] + X[:, 1] * X[:, 4] + 0.5 * X[:, 3] + 0.3 * noise
        labels = np.digitize(score, [0] if n_classes == 2 else [-0.5, 0.5])
        model = GreedyMiser(
            n_estimators=3,
            loss=loss,
            lam=lam,
            growth=PricedGrowth(learning_rate=0.5, max_depth=3, min_samples_leaf=8, charge=charge, max_bins=None),
            feature_costs=COSTS,
            validation_fraction=None,
        ).fit(X, labels)
        targets = np.eye(n_classes)[labels][:, 1 if n_classes == 2 else 0 :]
        booster = PlainBooster(X, NEEDS, PRICES, lam, charge, max_depth=3, min_leaf=8)
        trees, _ = greedy_miser(booster, targets, 3, 0.5, loss)
        assert_same_trees(model.trees_, trees)
        plain_trees += trees
    assert sum(len(tree.nodes) > 1 for tree in plain_trees) > len(plain_trees) / 2


@pytest.mark.slow
@pytest.mark.parametrize("charge", CHARGES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_regrown_pairs_are_the_plain_ones_round_by_round(charge, n_classes) -> None:
    n_regrowths = []
    for seed, p_full, lam in REGROWN[n_classes]:
        X = examples(seed, 50)
        labels = np.digitize(X[:, 0] + X[:, 1] * X[:, 4], [0] if n_classes == 2 else [-0.5, 0.5])
        targets = np.eye(n_classes)[labels][:, 1 if n_classes == 2 else 0 :]
        full_loss = np.random.default_rng(seed).exponential(0.3, 50)
        growth = PricedGrowth(charge=charge, max_depth=2, min_samples_leaf=5, max_bins=None)
        booster = PricedBooster(X, COSTS, lam=lam, growth=growth)
        pairs = list(regrown_pairs(Training(X, targets, full_loss), p_full, booster, 3, 4, 0.5))
        start, *rounds = adapt_gbrt(
            lambda X=X, lam=lam: PlainBooster(X, NEEDS, PRICES, lam, charge, max_depth=2, min_leaf=5),
            targets,
            full_loss,
            p_full,
            n_rounds=3,
            max_rounds=4,
            rate=0.5,
            still_accuracy=STILL_ACCURACY,
            still_shares=STILL_SHARES,
        )
        assert min(tree.least_lead for tree in start.cheap_trees) > 1e-9
        assert len(pairs) == len(rounds)
        for pair, plain in zip(pairs, rounds, strict=True):
            np.testing.assert_allclose(1 / (1 + np.exp(-pair.log_odds)), plain.q, rtol=1e-6, atol=1e-9)
            assert_same_trees(pair.cheap, plain.cheap_trees)
            assert_same_trees(pair.gate, plain.gate_trees)
            np.testing.assert_allclose(scores_of(pair.gate, X), plain.gate, rtol=1e-6, atol=1e-9)
        n_regrowths.append(len(pairs))
    assert min(n_regrowths) < 4
    assert max(n_regrowths) > 2


def scores_of(forest, X) -> np.ndarray:
    return forest.value[forest.leaves(X), 0].sum(axis=0)
