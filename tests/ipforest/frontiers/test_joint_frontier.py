"""BudgetBoost and BudgetForest: one frontier of ensembles and stopping rules; what it promises holds on its data."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from estimator_checks import random_parts
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BudgetBoost,
    BudgetBoostRegressor,
    BudgetForest,
    BudgetForestRegressor,
    BudgetPrune,
    FeatureCosts,
    ForestGrowth,
    ForestSearch,
    PruningInstance,
    datasets,
    prune_path,
)
from ipforest.ensemble import BoostedTrees, Forest
from ipforest.frontiers import AveragedTrees, budget_boost, joint_frontier
from ipforest.frontiers.alternation import alternate, penalised_loss
from ipforest.frontiers.budget_forest import GrownForests
from ipforest.frontiers.forests_on_features import answers_out_of_bag
from ipforest.frontiers.joint_frontier import MemberFrontier, Reached, of_mistakes, of_numbers, spread_prunings
from ipforest.growing import CodedExamples, Gradient, Grower
from ipforest.growing.boosting import Boosting
from ipforest.policy import TreesInOrder
from ipforest.session import Sessions
from ipforest.stopping.rules import Curve, LearntStopping
from ipforest.stopping.stages import StagesInOrder
from ipforest.stopping.stopped import Member
from ipforest.stopping.threshold_stopping import ThresholdStopping

QUICK_BOOST = BudgetBoost(
    12, growth=BoostGrowth(max_leaf_nodes=4), search=BoostSearch(n_lambdas=3, n_prunings=2), random_state=0
)
QUICK_FOREST = BudgetForest(5, search=ForestSearch(n_lambdas=2, n_prunings=2), random_state=0)
MANY: Any = np.inf
"""So many validation examples that nothing is forgiven."""


@pytest.fixture(scope="module", params=["boost", "forest"])
def fitted(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    model = clone(QUICK_BOOST if request.param == "boost" else QUICK_FOREST)
    return model.fit(X[:300], y[:300], X[300:450], y[300:450]), X[300:450], y[300:450]


@pytest.mark.slow
def test_each_budget_gets_the_best_that_validation_knows_of(fitted: tuple[Any, Any, Any]) -> None:
    model, X, _ = fitted
    frontier = model.frontier_
    assert np.all(np.diff(frontier.cost) > 0)
    assert np.all(np.diff(frontier.criterion) < 0)
    assert frontier.cost[0] == 0.0
    allowance = 3 * np.log2(np.maximum(frontier.cost, 1))
    np.testing.assert_allclose(frontier.criterion, frontier.loss - allowance / 150)
    for budget in (0, 1, 2, 5, 30):
        chosen = model.at_budget(budget)
        assert chosen.frontier_.cost[chosen.choice_] <= budget
        if chosen.frontier_.rule[chosen.choice_] < 0:
            assert chosen.cost(X).mean() == pytest.approx(chosen.frontier_.cost[chosen.choice_])
    assert len(set(frontier.member.tolist())) > 1


@pytest.mark.slow
def test_members_are_what_they_are_measured_to_be(fitted: tuple[Any, Any, Any]) -> None:
    model, X, y = fitted
    grown = [member for member in model.members_ if isinstance(member.policy, TreesInOrder)]
    assert len(grown) > 5
    for member in grown:
        trees = member.policy.trees
        assert isinstance(trees, BoostedTrees | Forest)
        assert trees.cost(X, model.costs_).mean() == pytest.approx(member.cost)
        outputs = trees.predict_proba(X)
        brier = np.square(outputs - np.eye(2)[y]).sum(axis=1).mean() / 2
        assert member.loss == pytest.approx((np.mean(trees.predict(X) != y) + brier) / 2, abs=0.01)


def test_nobody_is_stopped_without_rules() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for quick in (QUICK_BOOST, QUICK_FOREST):
        model = clone(quick).set_params(search__stopping=()).fit(X[:300], y[:300])
        assert np.all(model.frontier_.rule == -1)
        trees = model.trees_.trees
        np.testing.assert_array_equal(model.cost(X), trees.cost(X, model.costs_))
        assert model.at_budget(0).cost(X).max() == 0


def test_nested_forests_replace_one_another_in_the_order_of_what_is_bought() -> None:
    """Only the third feature tells anything: it is the first of all three cascades, and one purchase is worth it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 2] > 0).astype(int)
    model = clone(QUICK_FOREST).set_params(search__stopping=ThresholdStopping()).fit(X, y, X, y)
    nested = [member for member in model.members_ if isinstance(member.policy, StagesInOrder)]
    assert len(nested) == 3
    for member in nested:
        assert member.cost == 5
        (learnt,) = member.learnt
        assert learnt.curve.error[learnt.curve.within(1.01)] < 0.1
        policy = member.stopped(learnt.rule, -0.5, np.zeros(5, dtype=bool))
        sessions = Sessions(policy, model._seller(), 300)
        assert set(sessions.wanted) == {2}
        sessions.see(X)
        assert sessions.paid.mean() < 2
        assert np.mean(sessions.labels(sessions.outputs) == y) > 0.95
    without = clone(model).set_params(search__nested=False).fit(X, y, X, y)
    assert len(without.members_) == len(model.members_) - 3


def test_nested_forests_have_fewer_trees_of_each_of_two_kinds() -> None:
    X, y = make_classification(80, 3, n_informative=3, n_redundant=0, random_state=0)
    search = ForestSearch(n_lambdas=1, n_prunings=0, regrow=False, n_lookahead=0)
    model = BudgetForest(4, search=search, random_state=0).fit(X[:50], y[:50], X[50:], y[50:])
    nested = [member.policy for member in model.members_ if isinstance(member.policy, StagesInOrder)]
    assert len(nested) == 2
    for policy in nested:
        assert [stage.features.size for stage in policy.stages] == [0, 1, 2, 3]
        assert {each.n_trees for stage in policy.stages[1:] for each in stage.model.ensembles_} == {3}


@pytest.mark.slow
def test_nested_forests_see_class_shares_in_place_of_categories() -> None:
    """Every second of twenty categories is positive; numbering them otherwise changes nothing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 20, 300), rng.normal(size=(300, 2))])
    y = X[:, 0] % 2
    model = clone(QUICK_FOREST).set_params(categorical_features=[0]).fit(X, y, X, y)
    nested = [member for member in model.members_ if isinstance(member.policy, StagesInOrder)]
    assert len(nested) == 2
    for member in nested:
        curve = member.learnt[0].curve
        assert curve.error[curve.within(1)] < 0.01
    renumbered = np.column_stack([rng.permutation(20)[X[:, 0].astype(int)], X[:, 1:]])
    other = clone(model).fit(renumbered, y, renumbered, y)
    assert [member.loss for member in other.members_ if isinstance(member.policy, StagesInOrder)] == [
        member.loss for member in nested
    ]


def test_losses_along_a_rule_fall_with_cost_so_a_lucky_level_is_not_chosen() -> None:
    """A level at 2 that errs least by chance, beside ones at 1 and 3 that err more, is worth their mean."""
    curve = Curve(np.array([4.0, 3.0, 2.0, 1.0]), np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.3, 0.1, 0.3]))
    member = Member(
        StagesInOrder((), FeatureCosts.uniform(1)), 4.0, 0.15, (LearntStopping(ThresholdStopping(), curve),)
    )
    frontier = MemberFrontier.of([member], cheapest=1, n_validation=MANY)
    np.testing.assert_allclose(frontier.cost, [0, 1, 2, 4])
    np.testing.assert_allclose(frontier.loss, [0.5, 0.3, 0.2, 0.15])
    assert frontier.level.tolist() == [4, 3, 2, -np.inf]


@pytest.mark.slow
@pytest.mark.parametrize("quick", [QUICK_BOOST, QUICK_FOREST])
def test_weights_missing_values_and_three_classes(quick: Any) -> None:
    X, y = load_iris(return_X_y=True)
    gaps = X.copy()
    gaps[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    weight = np.where(y == 2, 0.0, 1.0)
    blind = clone(quick).fit(gaps, names, gaps, names, sample_weight=weight)
    assert "virginica" not in blind.predict(gaps)
    seeing = clone(quick).fit(gaps, names)
    assert seeing.score(gaps, names) > 0.85
    assert seeing.predict_proba(gaps).shape == (150, 3)


def most_leaves(trees: Any) -> int:
    """Count the leaves of the tree that has most of them."""
    return int(np.diff(np.searchsorted(np.flatnonzero(trees.left < 0), trees.tree_offsets)).max())


def test_prices_fall_while_trees_grow_and_larger_trees_follow_from_half_of_the_prices_on() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = BoostSearch(n_lambdas=4, n_prunings=0, single_price=False)
    small = clone(QUICK_BOOST).set_params(search=search).fit(X, y)
    both = clone(small).set_params(growth__max_leaf_nodes=(6, 4)).fit(X, y)
    n_priced = [member.policy.trees.n_trees for member in small.members_[:-1]]
    assert n_priced == sorted(n_priced)
    trees = [member.policy.trees for member in both.members_]
    costs = [member.cost for member in both.members_[: len(n_priced)]]
    assert costs[0] == 0.0
    assert costs == sorted(costs)
    for less, more in itertools.pairwise(trees[: len(n_priced)]):
        np.testing.assert_array_equal(more.first(less.n_trees).value, less.value)
    larger = trees[len(n_priced)]
    stood = max(n for n in n_priced if n < larger.n_trees)
    assert most_leaves(larger) > most_leaves(larger.first(stood)) <= 4


def test_not_each_price_makes_a_member() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    parts = X[:300], y[:300], X[300:450], y[300:450]
    every = clone(QUICK_BOOST).set_params(search__single_price=False, search__n_prunings=0).fit(*parts)
    some = clone(every).set_params(search__prices_per_member=2).fit(*parts)
    shapes = [each.policy.trees.value.size for each in every.members_]
    fewer = [each.policy.trees.value.size for each in some.members_]
    assert len(fewer) < len(shapes)
    assert fewer == [size for size in shapes if size in fewer]


def test_one_more_ensemble_of_the_smallest_trees_is_grown_at_a_single_low_price() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    falling = clone(QUICK_BOOST).set_params(growth__max_leaf_nodes=(6, 4), search__single_price=False)
    falling.set_params(search__n_lambdas=1, search__n_prunings=0)
    falling.fit(X, y, X, y)
    model = clone(falling).set_params(search__single_price=True).fit(X, y, X, y)
    *others, single = model.members_[:4]
    assert [member.cost for member in others] == [member.cost for member in falling.members_[:3]]
    assert single.cost > max(member.cost for member in others)
    assert single.loss < min(member.loss for member in others)
    trees = single.policy.trees
    assert (trees.n_nodes - trees.n_internal) / trees.n_trees <= 4


@pytest.mark.slow
def test_an_ensemble_grows_at_no_price_while_the_loss_that_is_chosen_by_falls() -> None:
    X, y = make_classification(600, 12, n_informative=8, random_state=0)
    parts = X[:400], y[:400], X[400:], y[400:]
    model = clone(QUICK_BOOST).set_params(n_estimators=60, search__n_prunings=0)
    *priced, unpriced = model.fit(*parts).members_
    assert unpriced.loss < min(member.loss for member in priced)
    again = clone(model).set_params(feature_costs=range(12, 0, -1)).fit(*parts).members_[-1]
    np.testing.assert_array_equal(unpriced.policy.trees.value, again.policy.trees.value)
    useless = clone(model).fit(X[:400], y[:400], X[400:], 1 - y[400:])
    assert len(useless.members_) == 1


@pytest.mark.slow
def test_no_ensemble_at_no_price_is_kept_that_cannot_come_near_the_others() -> None:
    X, y = make_classification(3000, 12, n_informative=10, n_classes=4, random_state=0)
    growth, search = BoostGrowth(max_leaf_nodes=(2, 32)), BoostSearch(n_prunings=0, single_price=False)
    model = BudgetBoost(100, growth=growth, search=search, feature_costs=[0.001] * 12, random_state=0)
    members = model.fit(X[:2000], y[:2000], X[2000:], y[2000:]).members_
    assert most_leaves(members[-1].policy.trees) > 2
    assert len({member.policy.trees.n_trees for member in members if most_leaves(member.policy.trees) == 2}) > 1


def test_more_trees_look_ahead_only_where_the_first_pay() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20))
    search = ForestSearch(n_lambdas=2, n_prunings=0, regrow=False, nested=False, n_lookahead=5, stopping=())
    model = BudgetForest(6, search=search, random_state=0)
    for y, n_more in (((X[:, 0] > 0) ^ (X[:, 1] > 0), 1), (X[:, 0] + X[:, 1] > 0, 0)):
        parts = X[:400], y[:400], X[400:], y[400:]
        without = clone(model).set_params(search__n_lookahead=0).fit(*parts).members_
        members = clone(model).fit(*parts).members_
        assert len(members) == len(without) + n_more
        assert [member.policy.trees.n_trees for member in members[len(without) :]] == [5] * n_more


def test_an_ensemble_is_hopeless_where_for_far_less_clearly_less_is_lost() -> None:
    reached = Reached(n_validation=100)
    assert not reached.has_far_cheaper(10.0, 0.5)
    curve = Curve(np.array([0.0]), np.array([6.0]), np.array([0.2]))
    reached.add(Member(None, 9.0, 0.1, (LearntStopping(None, curve),)))  # type: ignore[arg-type]  # no policy is asked
    assert reached.has_far_cheaper(10.0, 0.211)
    assert not reached.has_far_cheaper(10.0, 0.209)
    assert not reached.has_far_cheaper(9.9, 0.5)
    assert reached.has_far_cheaper(15.0, 0.12)


def test_hopeless_ensembles_are_members_that_nothing_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_classification(300, 10, n_informative=4, random_state=0)
    parts = X[:150], y[:150], X[150:], y[150:]
    model = clone(QUICK_FOREST).set_params(search__nested=False, search__n_lookahead=0)
    every = clone(model).fit(*parts).members_
    monkeypatch.setattr(joint_frontier, "FAR_CHEAPER", np.inf)
    members = model.fit(*parts).members_
    assert [(member.cost, member.loss) for member in members] == [(member.cost, member.loss) for member in every]
    assert all(member.learnt for member in every)
    assert not all(member.learnt for member in members)
    least = min(members, key=lambda member: member.loss)
    assert least.learnt


def test_hopeless_boosted_trees_are_not_pruned_and_a_single_price_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_classification(300, 10, n_informative=4, random_state=0)
    parts = X[:150], y[:150], X[150:], y[150:]
    search = BoostSearch(n_lambdas=4, n_prunings=2, stopping=ThresholdStopping())
    model = BudgetBoost(40, growth=BoostGrowth(max_leaf_nodes=4), search=search, random_state=0)

    def members(*, is_hopeless: bool) -> list[tuple[int, int]]:
        """Give the trees of each ensemble, and those of them that test something."""
        monkeypatch.setattr(Reached, "has_far_cheaper", lambda *_: is_hopeless)
        ensembles = [member.policy.trees for member in clone(model).fit(*parts).members_]
        return [(trees.n_trees, int(np.sum(np.diff(trees.tree_offsets) > 1))) for trees in ensembles]

    falling, single, unpriced = [(11, 10), (21, 20), (31, 30)], [(11, 10), (21, 20), (31, 30)], (31, 30)
    every, hopeless = members(is_hopeless=False), members(is_hopeless=True)
    assert hopeless == [(1, 0), *falling, *single[:2], unpriced]
    pruned = [sizes for sizes in every if sizes[0] == sizes[1]]
    assert len(pruned) >= 2
    assert [sizes for sizes in every if sizes not in pruned][:7] == [(1, 0), *falling, *single]


def test_trees_are_grown_anew_on_what_the_forests_of_the_frontier_buy() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    parts = X[:400], y[:400], X[400:], y[400:]
    quick = clone(QUICK_FOREST).set_params(search__nested=False, search__n_lookahead=0, search__stopping=())
    before = clone(quick).set_params(search__regrow=False).fit(*parts).members_
    members = clone(quick).fit(*parts).members_
    assert [member.cost for member in members[: len(before)]] == [member.cost for member in before]
    candidates = before[2:]
    assert all(member.policy.trees.n_trees for member in candidates)
    ranked = sorted((member.cost, member.loss) for member in candidates)
    least = np.minimum.accumulate([np.inf, *(loss for _, loss in ranked)])
    on_frontier = sum(cost > 0 and loss < less for (cost, loss), less in zip(ranked, least[:-1], strict=True))
    assert len(members) - len(before) == on_frontier > 0


def test_groups_are_paid_once() -> None:
    X, y = load_iris(return_X_y=True)
    costs = FeatureCosts([0, 0, 0, 0], groups=[0, 0, 1, 1], group_fees=[1, 10])
    for quick in (QUICK_BOOST, QUICK_FOREST):
        model = clone(quick).set_params(feature_costs=costs).fit(X, y)
        assert set(np.unique(model.cost(X))) <= {0.0, 1.0, 10.0, 11.0}
        assert model.at_budget(0).cost(X).max() == 0


@pytest.mark.parametrize("lam", ["0.001", "0.02", "0.3"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_alternating_never_raises_the_objective(load: Any, lam: str) -> None:
    X, y = load(return_X_y=True)
    X = X.astype(np.float32)
    weight = np.random.default_rng(0).random(len(y))
    coded = CodedExamples.from_examples(X, 32)
    data = Boosting(X, coded, y, weight, np.unique(y), FeatureCosts.uniform(X.shape[1]), 0.3)
    grower = Grower(Gradient(1.0), max_leaf_nodes=5, price_weight=float(lam) / 4)
    grown = data.go_on(data.start(), 6, grower)
    found = alternate(data, grown, lam, grower, n_rounds=3, n_steps=3)
    assert found.objectives[0] == pytest.approx(penalised_loss(data, grown, float(lam)))
    assert np.all(np.diff(found.objectives) <= 0)
    assert found.objectives[-1] < found.objectives[0]
    assert found.objectives[-1] == pytest.approx(penalised_loss(data, found.trees, float(lam)))


@pytest.mark.slow
def test_context_tells_which_features_matter() -> None:
    """On CUBE forests that are pruned, not grown, within the budget find which three of twenty features to buy."""
    data = datasets.cube(1000)
    model = BudgetForest(
        10,
        search=ForestSearch(n_lambdas=1, n_prunings=5),
        growth=ForestGrowth(min_samples_leaf=2),
        budget=6,
        random_state=0,
    )
    model.fit(data.X[:700], data.y[:700], data.X[700:], data.y[700:])
    assert model.score(data.X[700:], data.y[700:]) > 0.6


@pytest.mark.parametrize("pays", [False, True])
def test_lookahead_is_judged_on_few_examples_before_it_is_on_all(pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((2000, 8))
    y = ((X[:, 0] > 0.5) != (X[:, 1] > 0.5)) if pays else X[:, 0] > rng.random(2000)
    judged, judge = list[int](), GrownForests._ahead_pays

    def noted(self: Any, ahead: Any, out_of_bag: Any, *others: Any) -> bool:
        judged.append(len(out_of_bag))
        return judge(self, ahead, out_of_bag, *others)

    monkeypatch.setattr(GrownForests, "_ahead_pays", noted)
    search = ForestSearch(n_lambdas=1, n_prunings=0, regrow=False, nested=False, n_lookahead=4, stopping=())
    model = BudgetForest(4, search=search, random_state=0)
    n_members = {}
    for most in (2000, 500):
        monkeypatch.setattr("ipforest.frontiers.budget_forest.JUDGING_EXAMPLES", most)
        n_members[most] = len(clone(model).fit(X[:1500], y[:1500], X[1500:], y[1500:]).members_)
    assert judged == ([1500, 500, 1500] if pays else [1500, 500])
    assert n_members[2000] == n_members[500]


@pytest.mark.slow
def test_lookahead_finds_a_context() -> None:
    """On CUBE-NM five features tell which ten of the other fifty matter, and nothing else."""
    data = datasets.cube_nm(1600)
    parts = data.X[:800], data.y[:800], data.X[800:], data.y[800:]
    search = ForestSearch(n_lambdas=1, n_prunings=3, regrow=False, nested=False, n_lookahead=0)
    plain = BudgetForest(4, search=search, budget=12, random_state=0).fit(*parts)
    ahead = clone(plain).set_params(search__n_lookahead=4).fit(*parts)
    assert [member.cost for member in ahead.members_[: len(plain.members_)]] == [m.cost for m in plain.members_]
    assert ahead.cost(data.X[800:]).mean() < 12.5
    assert ahead.score(data.X[800:], data.y[800:]) > plain.score(data.X[800:], data.y[800:]) + 0.2


def test_frontier_keeps_what_is_not_undercut() -> None:
    trees: Any = None
    members = [Member(trees, cost, error, ()) for cost, error in [(2, 0.3), (1, 0.4), (2, 0.2), (3, 0.2), (0, 0.5)]]
    frontier = MemberFrontier.of(members, cheapest=1, n_validation=MANY)
    assert frontier.member.tolist() == [4, 1, 2]
    assert [frontier.within(budget) for budget in (0, 1.5, 2, None)] == [0, 1, 2, 2]
    with pytest.raises(ValueError, match="budget: expected at least 2, the cost of the cheapest model, got 1"):
        MemberFrontier.of(members[:1], cheapest=1, n_validation=MANY).within(1)


def test_who_spends_twice_as_much_may_lose_a_little_more() -> None:
    """From 2 to 8 cost doubles twice, so 0.02 more is forgiven; from 8 to 12 it does not; 0.25 is as much as 0.5."""
    trees: Any = None
    points = [(0.25, 0.4), (0.5, 0.4), (2, 0.200), (8, 0.219), (12, 0.226), (32, 0.250)]
    members = [Member(trees, cost, loss, ()) for cost, loss in points]
    frontier = MemberFrontier.of(members, cheapest=0.5, n_validation=300)
    assert frontier.member.tolist() == [0, 2, 3]
    np.testing.assert_allclose(frontier.loss, [0.4, 0.2, 0.219])
    np.testing.assert_allclose(frontier.criterion, [0.4, 0.18, 0.179])


def test_what_stands_for_a_mistake_among_losses_of_numbers_is_five_times_the_least() -> None:
    """From 2 to 8 cost doubles twice: of mistakes 0.02 more is forgiven, of numbers 0.004 at a least loss of 0.04."""
    trees: Any = None
    for least, more, unit, taken in [
        (0.04, 0.006, of_mistakes, 1),
        (0.04, 0.006, of_numbers, 0),
        (0.04, 0.003, of_numbers, 1),
        (0.40, 0.019, of_numbers, 1),
        (0.0, 0.001, of_numbers, 0),
    ]:
        members = [Member(trees, cost, loss, ()) for cost, loss in [(2, least), (8, least + more)]]
        frontier = MemberFrontier.of(members, 0.5, 300, unit)
        assert frontier.member[frontier.within(8)] == taken


def test_the_best_of_many_must_be_ahead_of_a_single_one_by_three_examples() -> None:
    trees: Any = None
    many = [Member(trees, 1, loss, (), "many") for loss in (0.3, 0.191, 0.4)]
    single = Member(trees, 1, 0.2, (), "single")
    for members, least in [
        ([*many, single], 0.2),
        ([*many, single._replace(loss=0.202)], 0.191),
        ([*many, single, single._replace(loss=0.5)], 0.191),
        ([many[0], single._replace(loss=0.301)], 0.3),
        ([single, single._replace(loss=0.5, source="other")], 0.2),
    ]:
        frontier = MemberFrontier.of(members, cheapest=1, n_validation=300)
        assert frontier.loss[frontier.within(1)] == least


def test_leaves_of_a_forest_are_as_large_as_its_error_out_of_bag_favours() -> None:
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).permutation(y)
    for labels, settings, fewest in [(y, {}, 1), (noise, {}, 10), (y, {"growth": ForestGrowth(min_samples_leaf=7)}, 7)]:
        model = BudgetForest(
            20, search=ForestSearch(n_lambdas=1, n_prunings=0, n_lookahead=0, nested=False), random_state=1, **settings
        )
        unpriced = model.fit(X, labels, X, labels).members_[1].policy.trees
        assert fewest <= unpriced.n_samples[unpriced.feature < 0].min() < fewest + 3


def test_shares_out_of_bag_are_those_of_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    peer = RandomForestClassifier(30, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    unseen = np.array([~np.isin(np.arange(len(y)), drawn) for drawn in peer.estimators_samples_]).T.astype(float)
    shares = answers_out_of_bag(Forest.from_sklearn(peer), unseen, X)
    np.testing.assert_allclose(shares, peer.oob_decision_function_, atol=1e-12)
    assert not answers_out_of_bag(Forest.from_sklearn(peer), 0 * unseen, X).any()


def test_prunings_are_spread_over_costs(fitted: tuple[Any, Any, Any]) -> None:
    _, X, y = fitted
    forest = Forest.from_sklearn(RandomForestClassifier(5, random_state=0).fit(X, y))
    path = prune_path(PruningInstance.from_forest(forest, X, FeatureCosts.uniform(30)))
    chosen = spread_prunings(path, 4)
    assert 1 <= len(chosen) <= 4
    for lam, pruning in chosen:
        assert path.pruning(lam) == pruning
    assert spread_prunings(path, 0) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"n_estimators": 0}, "n_estimators: expected an integer >= 1, got 0"),
        ({"search__n_lambdas": 0}, "^search.n_lambdas: expected an integer >= 1, got 0"),
        ({"search__n_prunings": -1}, "^search.n_prunings: expected an integer >= 0, got -1"),
        ({"growth__max_bins": 1}, "^growth.max_bins: expected None or"),
        ({"budget": -1}, "budget: expected a number >= 0"),
        ({"validation_fraction": 2}, "validation_fraction: expected None or a number between 0 and 1"),
    ],
)
@pytest.mark.parametrize("quick", [QUICK_BOOST, QUICK_FOREST])
def test_parameters_are_checked(quick: Any, change: dict[str, Any], text: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=text):
        clone(quick).set_params(**change).fit(X, y)


def test_trees_of_a_forest_are_grown_on_at_most_max_samples() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = ForestSearch(n_lambdas=2, n_prunings=1)
    model = BudgetForest(5, growth=ForestGrowth(max_samples=60), search=search, random_state=0).fit(X, y)
    forests = []
    for member in model.members_:
        if isinstance(member.policy, StagesInOrder):
            forests += [each for stage in member.policy.stages for each in getattr(stage.model, "ensembles_", ())]
        else:
            forests.append(member.policy.trees)
    drawn = np.concatenate([forest.weight[forest.tree_offsets[:-1]] for forest in forests])
    assert drawn.size > 20
    assert abs(np.median(drawn) - 60) < 2


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: BudgetBoost(search=BoostSearch(refit="ridge")),
            "^search.refit: expected one of 'newton', 'alternate', None, got 'ridge'",
        ),
        (
            lambda: BudgetForest(search=ForestSearch(n_lookahead=-1)),
            "^search.n_lookahead: expected an integer >= 0, got -1",
        ),
        (lambda: BudgetBoost(growth=BoostGrowth(l2=0)), "^growth.l2: expected a finite number > 0, got 0"),
        (
            lambda: BudgetBoost(growth=BoostGrowth(learning_rate=np.inf)),
            "^growth.learning_rate: expected a finite number > 0, got inf",
        ),
        (
            lambda: BudgetBoost(growth=BoostGrowth(max_leaf_nodes=1)),
            "^growth.max_leaf_nodes: expected an integer >= 2, got 1",
        ),
        (
            lambda: BudgetForest(search=ForestSearch(loss="log")),
            "^search.loss: expected one of 'gini', 'entropy', 'misclassification', None, got 'log'",
        ),
        (
            lambda: BudgetForestRegressor(search=ForestSearch(loss="gini")),
            "^search.loss: expected None for regression, got 'gini'",
        ),
        (
            lambda: BudgetBoost(growth=ForestGrowth(max_bins=8)),
            r"^growth: expected BoostGrowth or None for BudgetBoost, got ForestGrowth\(max_bins=8\)$",
        ),
        (
            lambda: BudgetForest(growth=ForestGrowth(max_features=0)),
            "^growth.max_features: expected an integer >= 1 or None, got 0",
        ),
        (
            lambda: BudgetForest(growth=ForestGrowth(max_samples=0.5)),
            "^growth.max_samples: expected an integer >= 1 or None, got 0.5",
        ),
    ],
)
def test_growing_parameters_are_checked(make: Callable[[], Any], text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=text):
        make().fit([[0.0], [1.0]], [0, 1])


@pytest.mark.slow
@parametrize_with_checks(
    [
        BudgetBoost(
            5, growth=BoostGrowth(max_leaf_nodes=4), search=BoostSearch(n_lambdas=1, n_prunings=1), random_state=0
        ),
        BudgetForest(3, search=ForestSearch(n_lambdas=1, n_prunings=1), random_state=0),
    ],
    expected_failed_checks=random_parts,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("quick", [QUICK_BOOST, QUICK_FOREST, BudgetPrune(RandomForestClassifier(3)), AveragedTrees(3)])
def test_negative_weights_are_refused(quick: Any) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        clone(quick).fit(X, y, sample_weight=np.where(np.arange(y.size) % 5, 1.0, -1.0))


@pytest.mark.parametrize("largest", [4, 16])
def test_at_no_price_the_largest_trees_follow_where_they_lose_less(
    monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    monkeypatch.setattr(budget_boost, "is_clearly_better", lambda *_: False)
    X, y = make_classification(900, 10, n_informative=10, n_redundant=0, n_clusters_per_class=8, random_state=0)
    search = BoostSearch(n_lambdas=10, n_prunings=0, single_price=False, stopping=())
    model = BudgetBoost(40, growth=BoostGrowth(max_leaf_nodes=(4, largest)), search=search, random_state=0)
    model.fit(X[:600], y[:600], X[600:], y[600:])
    trees = model.members_[-1].policy.trees
    n_leaves = (np.diff(trees.tree_offsets) + 1) // 2
    assert n_leaves[:13].tolist() == [1] + 12 * [4]
    assert n_leaves.size > 17
    assert set(n_leaves[13:].tolist()) == {largest}


def test_at_no_price_the_smallest_trees_go_on_where_they_lose_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_boost, "is_clearly_better", lambda *_: False)
    random = np.random.RandomState(0)
    X = random.randn(300, 10)
    y = np.sin(2 * X).sum(axis=1) + random.randn(300)
    growth = BoostGrowth(max_leaf_nodes=(2, 32), learning_rate=0.3)
    search = BoostSearch(n_prunings=0, single_price=False, stopping=())
    model = BudgetBoostRegressor(400, growth=growth, search=search, random_state=0)
    trees = model.fit(X[:200], y[:200], X[200:], y[200:]).members_[-1].policy.trees
    assert trees.n_trees == 401
    assert set(np.diff(trees.tree_offsets)[1:].tolist()) == {3}


def test_what_no_budget_may_choose_is_left_out() -> None:
    levels = np.array([np.inf, 2.0, 1.0, -np.inf])
    curve = Curve(levels, np.arange(4.0), np.arange(4.0, 0, -1))
    learnt = (LearntStopping(ThresholdStopping(), curve), LearntStopping(ThresholdStopping(), curve))
    members = [Member(name, 3.0, 1.0, learnt) for name in ("first", "unused", "last")]
    columns = {"member": [0, 0, 0, 2], "rule": [0, 1, 1, -1], "level": [2.0, 1.0, -np.inf, -np.inf]}
    frontier = MemberFrontier(np.arange(4.0), np.arange(4.0, 0, -1), *(np.array(column) for column in columns.values()))
    kept = frontier.choosable(members)
    assert [member.policy for member in kept] == ["first", "last"]
    assert [[left.level.tolist() for _, left in member.learnt] for member in kept] == [
        [[2.0], [1.0, -np.inf]],
        [[], []],
    ]
    assert kept[0].learnt[0].curve.cost.tolist() == [1.0]
    assert frontier.renumbered().member.tolist() == [0, 0, 0, 1]
