from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from estimator_checks import random_parts
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import proofs
from ipforest import BranchingCascade, BranchingStages, FeatureCosts, NestedCascade, datasets
from ipforest.ensemble.forest import Forest
from ipforest.session import Seller
from ipforest.stopping.branching import Planner, reaching
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.stages import END
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.stopping.unit_order import local_importance

CUBE = datasets.cube(2400)
X, Y = CUBE.X[CUBE.y < 6, :9], CUBE.y[CUBE.y < 6]
TRAINED, HELD_OUT, TEST = slice(0, 600), slice(600, 1000), slice(1000, None)
SMALL = RandomForestClassifier(8, min_samples_leaf=3, random_state=0)


def fit(**settings: Any) -> BranchingCascade:
    return BranchingCascade(SMALL).set_params(**settings).fit(X[TRAINED], Y[TRAINED], X[HELD_OUT], Y[HELD_OUT])


@pytest.fixture(scope="module")
def cascade() -> BranchingCascade:
    return fit()


@pytest.mark.slow
def test_what_to_buy_next_depends_on_what_was_seen(cascade: BranchingCascade) -> None:
    chain = NestedCascade(SMALL).fit(X[TRAINED], Y[TRAINED], X[HELD_OUT], Y[HELD_OUT])
    for budget in (2, 3):
        branching, nested = cascade.at_budget(budget), chain.at_budget(budget)
        assert branching.score(X[TEST], Y[TEST]) > nested.score(X[TEST], Y[TEST]) + 0.02
        assert len(np.unique(branching.acquired(X[TEST]), axis=0)) > 8


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"stages__max_branches": 1}, {"stages__min_support": 400}])
def test_without_branches_it_is_a_nested_cascade(settings: dict[str, Any]) -> None:
    single = fit(**settings)
    nested = NestedCascade(SMALL).fit(X[TRAINED], Y[TRAINED], X[HELD_OUT], Y[HELD_OUT])
    assert len(single.candidates_) == 1
    for budget in (2, 3, 6):
        one, other = single.at_budget(budget), nested.at_budget(budget)
        np.testing.assert_array_equal(one.predict_proba(X[TEST]), other.predict_proba(X[TEST]))
        np.testing.assert_array_equal(one.acquired(X[TEST]), other.acquired(X[TEST]))


@pytest.mark.slow
def test_stages_are_sets_of_units_and_each_leads_to_larger_ones(cascade: BranchingCascade) -> None:
    stages = cascade.candidates_[1].policy.stages
    assert len({frozenset(stage.features.tolist()) for stage in stages}) == len(stages)
    for stage in stages:
        for goal in stage.following[stage.following != END]:
            assert set(stage.features) < set(stages[goal].features)
    assert [stage.features.size for stage in stages if stage.following.max() == END] == [9]


def test_parts_have_support(cascade: BranchingCascade) -> None:
    routers = [stage.router for stage in cascade.candidates_[1].policy.stages if stage.router is not None]
    assert routers
    for router in routers:
        leaves = router.tree_.children_left == -1
        assert router.tree_.n_node_samples[leaves].min() >= 50
        assert leaves.sum() <= 8


def test_local_importance_is_importance_on_average() -> None:
    for kind in (RandomForestClassifier, RandomForestRegressor):
        forest = kind(1, max_features=0.5, bootstrap=False, random_state=0).fit(X[TRAINED], Y[TRAINED])
        mean = local_importance(Forest.from_sklearn(forest), X[TRAINED].astype(np.float32)).mean(axis=0)
        np.testing.assert_allclose(mean / mean.sum(), forest.feature_importances_)


@pytest.mark.parametrize(
    ("prices", "settings", "expected"),
    [
        ([1, 1, 1, 1], (8, 5), [(0,), (0, 1), (0, 2), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)]),
        ([1, 6, 1, 1], (8, 5), [(0,), (0, 3), (0, 2), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)]),
        ([1, 1, 1, 1], (1, 5), [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]),
        ([1, 1, 1, 1], (8, 21), [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]),
    ],
)
def test_each_part_buys_what_tells_it_most_per_price(
    prices: list[int], settings: tuple[int, int], expected: list[tuple[int, ...]]
) -> None:
    seller = Seller(FeatureCosts(prices), 0.0, None, tuple("abcd"), allow_missing=False)
    X = np.repeat(np.eye(4)[[1, 0]], 20, axis=0)  # only the first feature tells the halves apart
    worth = np.array([[9.0, 5, 0, 1]] * 20 + [[9.0, 0, 4, 1]] * 20)
    worth[0, 3] = 15  # the largest of all, but not on average
    plans = Planner(X, np.ones(40), worth, seller, (1, 2, 3, 4), *settings).plans
    assert [tuple(unit.index for unit in plan.units) for plan in plans] == [(), *expected]
    for plan, rows in zip(plans, reaching(plans, X, seller), strict=True):
        assert sorted(np.concatenate(plan.parts)) == rows.tolist()
        assert (plan.router is None) == (np.unique(plan.following).size == 1)
    assert plans[-1].following.tolist() == [END]


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])
def test_units_of_targets_and_prices_are_of_no_account(unit: float) -> None:
    random = np.random.default_rng(0)
    X = random.random((60, 5))
    worth = random.random((60, 5)) * X

    def routers(price: Fraction, told: float) -> list[Any]:
        seller = Seller(FeatureCosts([price] * 5), 0.0, None, tuple("abcde"), allow_missing=False)
        plans = Planner(X, np.ones(60), told * worth, seller, (1, 2, 3, 4, 5), 4, 1).plans
        return [(plan.units, plan.router and plan.router.tree_.threshold.tolist()) for plan in plans]

    expected = routers(Fraction(1), 1.0)
    assert any(router for _, router in expected)
    assert routers(Fraction(1), unit) == routers(Fraction(2.0**30), 1.0) == expected


def test_a_weight_is_as_many_copies_of_an_example() -> None:
    random = np.random.default_rng(0)
    seller = Seller(FeatureCosts([1, 3, 2, 1, 2]), 0.0, None, tuple("abcde"), allow_missing=False)
    X, weight = random.random((60, 5)), random.integers(1, 9, 60)
    worth = random.random((60, 5)) * np.where(X < 0.5, X, weight[:, None] / 9)

    def plans(rows: Any, weight: Any) -> Any:
        return Planner(X[rows], weight, worth[rows], seller, (1, 2, 3, 4, 5), 4, 1).plans

    def answers(planned: Any) -> list[Any]:
        return [(plan.units, rows.tolist()) for plan, rows in zip(planned, reaching(planned, X, seller), strict=True)]

    rows = np.arange(60)
    copied = answers(plans(np.repeat(rows, weight), np.ones(weight.sum())))
    assert answers(plans(rows, weight)) == copied
    assert answers(plans(rows, np.ones(60))) != copied


def test_examples_of_most_weight_say_what_is_bought_next() -> None:
    X = np.random.default_rng(5).integers(0, 2, (1200, 6)).astype(float)
    few = np.arange(1200) % 4 == 0
    X[:, 5] = few
    y = np.where(X[:, 0] == 1, np.where(few, X[:, 3], X[:, 1]), np.where(few, X[:, 4], X[:, 2])).astype(int)
    for weight, bought in ((None, [{1}, {2}]), (np.where(few, 6.0, 1.0), [{3}, {4}])):
        model = BranchingCascade(SMALL, feature_costs=[0, 1, 1, 1, 1, 100], random_state=0)
        first = model.fit(X, y, sample_weight=weight).candidates_[1].policy.stages[1:]
        goals = first[0].following[first[0].router.apply(np.array([[1.0], [0.0]]))]
        assert [set(first[goal - 1].features.tolist()) - {0} for goal in goals] == bought


@pytest.mark.slow
@pytest.mark.parametrize("rule", [ThresholdStopping(), OptimalStopping(4, 20), CertifiedStopping(2, 20)])
def test_the_curve_of_the_examples_it_was_learnt_on_is_what_they_pay(rule: Any) -> None:
    model = fit(stopping=rule, n_folds=1)
    for budget in (2, 4):
        at = model.at_budget(budget)
        place = at.curve_.within(budget)
        assert at.cost(X[HELD_OUT]).mean() == pytest.approx(at.curve_.cost[place])
        assert 1 - at.score(X[HELD_OUT], Y[HELD_OUT]) == pytest.approx(at.curve_.error[place])
    if isinstance(rule, CertifiedStopping):
        learnt = model.candidates_[1].learnt[0].rule
        assert proofs.verify_path(learnt.path.instance, learnt.path)


def test_groups_are_bought_whole_and_what_is_free_parts_examples_first() -> None:
    costs = FeatureCosts([1, 1, 0, 1, 1, 1, 0, 0, 0], [-1] * 6 + [0] * 3, [6])
    model = fit(feature_costs=costs, stages__max_branches=4)
    stages = model.candidates_[1].policy.stages
    assert [stage.features.tolist() for stage in stages[:2]] == [[], [2]]
    assert stages[1].router is not None
    for stage in stages:
        assert np.isin([6, 7, 8], stage.features).sum() in (0, 3)
    np.testing.assert_allclose(model.paths_.cost[:, -1], 5 + 6)


@pytest.mark.slow
def test_a_price_is_what_telling_is_weighed_against() -> None:
    dear = BranchingCascade(SMALL, feature_costs=[1, 1, 1, 1, 100, 1, 1, 1, 1], max_cost=50, random_state=0)
    assert not dear.fit(X[TRAINED], Y[TRAINED]).acquired(X[TEST])[:, 4].any()


@pytest.mark.slow
@parametrize_with_checks(
    [
        BranchingCascade(
            RandomForestClassifier(3, random_state=0), stages=BranchingStages(min_support=5), random_state=0
        ),
        BranchingCascade(
            RandomForestRegressor(3, random_state=0), stages=BranchingStages(min_support=5), random_state=0
        ),
        NestedCascade(RandomForestClassifier(3, random_state=0), random_state=0),
    ],
    expected_failed_checks=random_parts,
)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stages__max_branches": 0}, r"^stages\.max_branches: expected an integer >= 1, got 0"),
        ({"stages__min_support": 0.5}, r"^stages\.min_support: expected an integer >= 1, got 0.5"),
        ({"max_cost": -1}, r"^max_cost: expected a number >= 0"),
    ],
)
def test_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BranchingCascade(SMALL).set_params(**settings).fit(X[TRAINED], Y[TRAINED])
