"""The pruning baselines: scikit-learn's checks, their definitions, and that the optimal path is below them all."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from estimator_checks import random_parts
from fitted_forests import CLASSIFIERS, examples
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import BudgetPrune, FeatureCosts, Forest, Pruning, PruningInstance, datasets, prune_path
from ipforest.learners import BudgetRF, CostComplexity, EarlyStopping, GreedyPrune, IndividualPruning
from ipforest.learners.pruning_baselines import without_sharing
from ipforest.learners.staged import first_trees, staged_costs

X, LABELS, TARGET = examples(240, seed=71)
X_COST, _, _ = examples(80, seed=72)
BASELINES = [CostComplexity, EarlyStopping, GreedyPrune, IndividualPruning]
PRICES, GROUPS, FEES = [1, "0.5", 2, 0, "1/3", 4, 1], [-1, 0, 0, -1, 1, 1, -1], [2, "1.5"]


@pytest.mark.slow
@parametrize_with_checks(
    [kind(RandomForestClassifier(3, random_state=0), n_prunings=4) for kind in BASELINES],
    expected_failed_checks=random_parts,
)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


def lower_hull(errors, costs, cost):
    """The least error of any mixture of a path's prunings that costs no more."""
    best = None
    points = list(zip(costs, errors, strict=True))
    for (dear, low), (cheap, high) in pairwise(points):
        if cheap <= cost <= dear:
            share = (cost - cheap) / (dear - cheap) if dear > cheap else Fraction(1)
            best = share * low + (1 - share) * high
    return errors[0] if cost >= costs[0] else best


def assert_none_below_the_path(forest, X_cost, costs, kinds=BASELINES):
    path = BudgetPrune(forest, feature_costs=costs).fit(X_cost).path_
    for kind in kinds:
        sequence = kind(forest, feature_costs=costs, n_prunings=25).fit(X_cost).sequence_
        assert len(sequence.prunings) > 2
        for error, cost in zip(sequence.errors, sequence.costs, strict=True):
            assert error >= lower_hull(path.errors, path.costs, cost)


@pytest.mark.parametrize("seed", range(10))
def test_no_baseline_is_below_the_optimal_path_of_random_forests(seed):
    rng = np.random.default_rng(seed)
    costs = FeatureCosts(rng.integers(0, 6, size=7).tolist()) if seed % 2 else FeatureCosts(PRICES, GROUPS, FEES)
    forest = RandomForestClassifier(6, max_features=int(rng.integers(1, 8)), random_state=seed).fit(X, LABELS)
    assert_none_below_the_path(forest, X_COST, costs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sonar", "heart_statlog"])
def test_no_baseline_is_below_the_optimal_path_of_real_forests(name):
    try:
        data = datasets.load(name)
    except FileNotFoundError:
        pytest.skip("no data folder")
    train, validation = np.arange(0, len(data.y), 2), np.arange(1, len(data.y), 2)
    forest = BudgetRF(20, validation_fraction=None, random_state=0).fit(data.X[train], data.y[train])
    assert_none_below_the_path(forest, data.X[validation], FeatureCosts.uniform(data.X.shape[1]))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_cost_complexity_is_that_of_scikit_learn(criterion):
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, LABELS)
    model = CostComplexity(tree, loss=criterion, validation_fraction=None, n_prunings=1000).fit(X)
    alphas = tree.cost_complexity_pruning_path(X, LABELS).ccp_alphas
    for low, high in pairwise(alphas):
        if high - low < 1e-5:  # entropy is rounded
            continue
        middle = (low + high) / 2
        expected = clone(tree).set_params(ccp_alpha=middle).fit(X, LABELS).tree_.node_count
        place = max(place for place, level in enumerate(model.sequence_.parameters) if level <= middle)
        assert 2 * model.sequence_.prunings[place].n_kept + 1 == expected


def test_cost_complexity_prunes_all_trees_at_the_same_price_per_leaf():
    forest = RandomForestClassifier(3, min_samples_leaf=5, random_state=0)
    model = CostComplexity(forest.fit(X, LABELS), loss="gini", n_prunings=1000).fit(X)
    trees = model.forest_.tree_of_node[model.forest_.internal_nodes]
    for alpha in (0.002, 0.0095, 0.03):
        place = max(place for place, level in enumerate(model.sequence_.parameters) if level <= alpha)
        kept = np.bincount(trees, model.sequence_.prunings[place].kept, 3)
        pruned = clone(forest).set_params(ccp_alpha=alpha).fit(X, LABELS)
        assert kept.tolist() == [tree.tree_.node_count // 2 for tree in pruned.estimators_]


def test_early_stopping_keeps_what_is_impure_all_the_way_down():
    forest = Forest.from_sklearn(clone(CLASSIFIERS["forest"]).fit(X, LABELS))
    model = EarlyStopping(clone(CLASSIFIERS["forest"]).fit(X, LABELS)).fit(X_COST)
    for threshold, pruning in zip(model.sequence_.parameters, model.sequence_.prunings, strict=True):
        kept = dict(zip(forest.internal_nodes.tolist(), pruning.kept.tolist(), strict=True))
        for node, stays in kept.items():
            above = forest.parent[node]
            assert stays == (forest.impurity[node] > threshold and (above < 0 or kept[int(above)]))


def test_individual_pruning_is_the_path_of_each_tree_alone():
    fitted = RandomForestClassifier(4, max_depth=5, random_state=0).fit(X, LABELS)
    costs = FeatureCosts(PRICES, GROUPS, FEES)
    model = IndividualPruning(fitted, feature_costs=costs, n_prunings=10**4).fit(X_COST)
    levels = np.concatenate(
        [
            prune_path(PruningInstance.from_forest(Forest.from_sklearn(tree), X_COST, costs)).node_lambda / 4
            for tree in fitted.estimators_
        ]
    ).astype(float)
    for level, pruning in zip(model.sequence_.parameters, model.sequence_.prunings, strict=True):
        np.testing.assert_array_equal(pruning.kept, levels > level)


def test_without_sharing_each_tree_pays():
    fitted = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, LABELS)
    instance = PruningInstance.from_forest(Forest.from_sklearn(fitted), X_COST, FeatureCosts.uniform(7))
    alone = [
        PruningInstance.from_forest(Forest.from_sklearn(tree), X_COST, FeatureCosts.uniform(7))
        for tree in fitted.estimators_
    ]
    split = without_sharing(instance)
    assert split.evaluate(split.unpruned)[1] == sum(one.evaluate(one.unpruned)[1] for one in alone)


def test_greedy_prune_gives_up_the_unit_of_least_error_per_cost():
    fitted = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, LABELS)
    costs = FeatureCosts(PRICES, GROUPS, FEES)
    model = GreedyPrune(fitted, feature_costs=costs).fit(X_COST)
    sequence, forest = model.sequence_, model.forest_
    given_up = set()
    for unit, pruning in zip(sequence.parameters, sequence.prunings, strict=True):
        given_up |= {unit} - {-1}
        used = forest.prune(pruning).feature_usage(X_COST).any(axis=0)
        for feature in np.flatnonzero(used):
            units = costs.unit_indices[costs.unit_indptr[feature] : costs.unit_indptr[feature + 1]]
            assert not given_up & set(units.tolist())
    for place, unit in enumerate(sequence.parameters[1:]):
        error, cost = sequence.errors[place], sequence.costs[place]
        rates = {}
        for other in set(range(costs.n_units)) - set(sequence.parameters[: place + 1]):
            needy = [node for node in forest.internal_nodes if other in costs.units_of(forest.feature[node])]
            kept = np.zeros(forest.n_nodes, dtype=bool)
            kept[forest.internal_nodes] = sequence.prunings[place].kept
            for node in forest.internal_nodes:  # parents come before children
                kept[node] &= node not in needy and (forest.parent[node] < 0 or kept[forest.parent[node]])
            left = model.instance_.evaluate(Pruning(kept[forest.internal_nodes]))
            saved = cost - left[1]
            rates[other] = ((left[0] - error) / saved if saved > 0 else np.inf, left[0])
        assert rates[unit] == min(rates.values())
    assert sequence.costs[-1] == 0
    assert list(sequence.costs) == sorted(sequence.costs, reverse=True)


def test_the_first_trees_cost_what_their_features_do():
    forest, costs = Forest.from_sklearn(CLASSIFIERS["forest"].fit(X, LABELS)), FeatureCosts(PRICES, GROUPS, FEES)
    staged = staged_costs(forest, forest.leaves(X_COST.astype(np.float32)), costs)
    first = [first_trees(forest, n_trees).cost(X_COST, costs).mean() for n_trees in range(forest.n_trees + 1)]
    np.testing.assert_allclose(staged, first)
    assert first_trees(forest, 0).n_nodes == 1
    assert first[0] == 0 < first[1] < first[-1]


@pytest.mark.parametrize("kind", BASELINES)
def test_budgets(kind):
    forest = RandomForestClassifier(5, random_state=0).fit(X, LABELS)
    model = kind(forest, budget=3).fit(X_COST)
    assert model.cost(X_COST).mean() <= 3
    np.testing.assert_array_equal(model.at_budget(99).predict(X), forest.predict(X))
    assert kind(forest).fit(X_COST).pruning_ == model.instance_.unpruned
    assert model.at_budget(0).cost(X_COST).max() == 0
    regression = kind(RandomForestRegressor(4, random_state=0), budget=2, random_state=0).fit(X, TARGET)
    assert regression.cost(X).mean() < 3


@pytest.mark.parametrize("kind", BASELINES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget: expected .* >= 0"),
        ({"n_prunings": 1}, "n_prunings: expected an integer >= 2, got 1"),
        ({"n_prunings": 2.5}, "n_prunings: expected an integer >= 2, got 2.5"),
        ({"loss": "hinge"}, "loss: expected"),
        ({"feature_costs": [1, 1]}, "expected 7 prices"),
    ],
)
def test_bad_parameters_are_refused_before_training(kind, options, message):
    class Untrainable(RandomForestClassifier):
        def fit(self, *_, **__):
            pytest.fail("trained")

    with pytest.raises(ValueError, match=message):
        kind(Untrainable(), **options).fit(X, LABELS)
