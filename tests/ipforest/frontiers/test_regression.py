"""Regression on the frontier: trees of means, stopping by expected squared error, and the front end."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimator_checks import random_parts
from lightgbm import LGBMRegressor
from sklearn.base import clone, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BudgetBoost,
    BudgetBoostRegressor,
    BudgetedPipeline,
    BudgetedRegressor,
    BudgetForestRegressor,
    BudgetLinearRegressor,
    FeatureCosts,
    Forest,
    ForestGrowth,
    ForestSearch,
    NestedCascade,
    RunSettings,
)
from ipforest.frontiers import AveragedTreesRegressor
from ipforest.frontiers.forests_on_features import answers_out_of_bag
from ipforest.frontiers.tasks import Classification, Regression, task_of
from ipforest.policy import Progress, TreesInOrder
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.early_exit_policy import sureness

BOOST = BudgetBoostRegressor(
    20,
    growth=BoostGrowth(learning_rate=0.2, max_leaf_nodes=6),
    search=BoostSearch(n_lambdas=2, n_prunings=1),
    random_state=0,
)
FOREST = BudgetForestRegressor(
    5,
    search=ForestSearch(n_lambdas=2, n_prunings=1, nested=False, n_lookahead=0),
    growth=ForestGrowth(min_samples_leaf=5),
    random_state=0,
)


def contexts(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw examples whose first feature tells which of two others makes up the target."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 5))
    return X, np.where(X[:, 0] < 0.5, 10 * X[:, 1], 10 + 10 * X[:, 2]) + rng.normal(0, 0.1, n)


@pytest.fixture(scope="module", params=[BOOST, FOREST], ids=["boost", "forest"])
def fitted(request: pytest.FixtureRequest) -> Any:
    X, y = contexts()
    return clone(request.param).fit(X[:250], y[:250], X[250:], y[250:])


def test_the_loss_of_the_frontier_is_a_share_of_the_variance(fitted: Any) -> None:
    X, y = contexts()
    assert is_regressor(fitted)
    assert fitted.classes_ is None
    for member in fitted.members_:
        trees = member.policy.trees
        predicted = trees.predict(X[250:].astype(np.float32))
        assert member.loss == pytest.approx(1 - r2_score(y[250:], predicted), abs=1e-6)
        assert member.cost == pytest.approx(trees.cost(X[250:].astype(np.float32), fitted.costs_).mean())


def test_nothing_is_bought_for_nothing_and_more_for_more(fitted: Any) -> None:
    X, y = contexts(300, seed=1)
    nothing = fitted.at_budget(0)
    assert nothing.cost(X).max() == 0
    assert np.ptp(nothing.predict(X)) == 0
    scores = [fitted.at_budget(budget).score(X, y) for budget in (1, 2)]
    assert scores[0] > 0.6
    assert scores[1] > 0.9
    assert fitted.at_budget(2).cost(X).mean() < 2.2


def test_sessions_pay_and_predict_alike(fitted: Any) -> None:
    X = contexts(6, seed=2)[0]
    model = fitted.at_budget(2)
    predicted, paid = model.predict(X, return_cost=True)
    assert predicted.tolist() == model.predict(X).tolist()
    for row, target, cost in zip(X, predicted, paid, strict=True):
        session = model.session()
        while session.next_unit is not None:
            assert "asks" in session.reason or "compares" in session.reason
            session.tell([row[feature] for feature in session.next_unit.features])
        assert session.answer == pytest.approx(target)
        assert session.paid == cost


def test_what_is_measured(fitted: Any) -> None:
    X, y = contexts(100, seed=3)
    measured = fitted.measured(X, y)
    assert measured.n_wrong is None
    assert measured.squared_error == pytest.approx(mean_squared_error(y, fitted.predict(X)))
    assert measured.r2 == pytest.approx(fitted.score(X, y))
    value, low, high = measured.error_interval()
    assert low <= value == measured.squared_error <= high
    assert f"R^2 {measured.r2:.3g}" in fitted.summary(X, y)
    assert fitted.measured(X[:1], y[:1]).r2 is not None
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(fitted, name)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [BOOST, FOREST], ids=["boost", "forest"])
def test_a_target_may_be_in_any_unit(estimator: Any) -> None:
    X, y = contexts(200)
    first = clone(estimator).fit(X, y)
    second = clone(estimator).fit(X, 1024 * y)
    for member, scaled in zip(first.members_, second.members_, strict=True):
        assert (scaled.cost, scaled.loss) == pytest.approx((member.cost, member.loss), rel=1e-6)
    for budget in (0, 1, 2, 5):
        same = first.at_budget(budget), second.at_budget(budget)
        losses = [model.frontier_.criterion[model.choice_] for model in same]
        assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    np.testing.assert_allclose(second.predict(X), 1024 * first.predict(X), rtol=1e-6)


@pytest.mark.parametrize(("target", "price"), [(2.0**20, 1.0), (2.0**10, 2.0**-20), (2.0**-300, 2.0**28)])
def test_forests_grown_anew_test_what_is_bought_in_any_units(target: float, price: float) -> None:
    X, y = contexts(200)
    first, second = (
        clone(FOREST).set_params(feature_costs=FeatureCosts([unit] * 5)).fit(X, scale * y)
        for unit, scale in ((1, 1.0), (Fraction(price), target))
    )
    assert [each.loss for each in second.members_] == [each.loss for each in first.members_]
    assert [each.cost for each in second.members_] == [price * each.cost for each in first.members_]


def test_a_target_that_never_changes_buys_nothing() -> None:
    X = contexts(80)[0]
    for estimator in (BOOST, FOREST):
        model = clone(estimator).fit(X, np.full(80, 7.0))
        assert model.predict(X).tolist() == [7.0] * 80
        assert model.cost(X).max() == 0


def test_one_example_to_train_on_is_out_of_no_bag() -> None:
    X, y = contexts(3)
    search = ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=2)
    model = BudgetForestRegressor(2, search=search, random_state=0).fit(X[:1], y[:1], X, y)
    assert model.predict(X).tolist() == [y[0]] * 3


def test_no_costlier_model_is_called_better_where_it_loses_as_much() -> None:
    X = contexts(80)[0]
    assert not BudgetLinearRegressor(budget=2, random_state=0).fit(X, np.full(80, 3.0)).cost(X).any()  # no warning


def test_sureness_is_how_far_apart_the_ends_of_all_trees_still_lie() -> None:
    X, y = contexts(120)
    X = X.astype(np.float32)
    model = clone(BOOST).fit(X, y)
    for trees in (model.members_[-1].policy.trees, clone(FOREST).fit(X, y).members_[1].policy.trees):
        policy, rows = TreesInOrder(trees), np.arange(120)
        progress = Progress.start(policy, 120, 5)
        for known in ([], [0], [0, 1, 2], range(5)):
            progress.values[:, list(known)], progress.known[:, list(known)] = X[:, list(known)], True
            sure = sureness(policy, progress, rows, policy.answer(progress, rows))
            low, high = policy.bounds(progress, rows)
            np.testing.assert_allclose(sure, low - high)
            end = trees.predict(X)
            assert np.all((low <= end + 1e-9) & (end <= high + 1e-9))
        np.testing.assert_allclose(sure, 0, atol=1e-12)


def test_an_answer_of_no_tree_out_of_bag_is_the_mean_of_the_roots() -> None:
    X, y = contexts(60)
    peer = RandomForestRegressor(3, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="OOB"):
        peer.fit(X, y)
    unseen = np.array([~np.isin(np.arange(60), drawn) for drawn in peer.estimators_samples_]).T
    answers = answers_out_of_bag(Forest.from_sklearn(peer), unseen.astype(float), X.astype(np.float32))[:, 0]
    seen = ~unseen.any(axis=1)
    assert seen.any()
    np.testing.assert_allclose(answers[~seen], peer.oob_prediction_[~seen])
    np.testing.assert_allclose(answers[seen], np.mean([tree.tree_.value[0, 0, 0] for tree in peer.estimators_]))
    task = task_of(peer, y)
    assert isinstance(task, Regression)
    assert task.out_of_bag(peer, y)[seen, 0].tolist() == [y.mean()] * int(seen.sum())


def test_gains_of_a_grower_add_up_to_the_spread() -> None:
    rng = np.random.default_rng(0)
    y, weight = rng.integers(0, 3, 50), rng.integers(1, 4, 50).astype(float)
    shares = np.bincount(y, weight) / weight.sum()
    assert Classification(np.arange(3)).spread(y, weight) == pytest.approx(1 - np.square(shares).sum())
    target = rng.normal(5, 2, 50)
    variance = np.average(np.square(target - np.average(target, weights=weight)), weights=weight)
    assert Regression().spread(target, weight) == pytest.approx(variance / 2)


@pytest.mark.slow
def test_the_front_end_takes_cascades_and_trees_of_others() -> None:
    X, y = contexts(300)
    costs = FeatureCosts([2, 1, 1, 0, 3], [-1, 0, 0, -1, -1], [1])
    cascade = NestedCascade(RandomForestRegressor(4, max_depth=5, random_state=0))
    peer = LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1, random_state=0)
    model = BudgetedRegressor([BOOST, cascade, peer], feature_costs=costs, max_cost=6, random_state=0).fit(X, y)
    assert {member.source for member in model.members_} <= {"BudgetBoostRegressor", "NestedCascade", "LGBMRegressor"}
    assert model.cost(X).max() <= 6
    assert model.score(X, y) > 0.98
    compacted = model.compact(4)
    assert compacted.predict(X).tolist() == model.at_budget(4).predict(X).tolist()
    assert compacted.cost(X).mean() <= 4.4


@pytest.mark.slow
def test_weights_groups_and_gaps() -> None:
    X, y = contexts(300)
    X[::7, 3] = np.nan
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["a"] = pd.Categorical(np.where(X[:, 0] < 0.5, "left", "right"))
    groups = np.arange(300) // 3
    model = BudgetedRegressor([BOOST], cv=GroupKFold(3), random_state=0)
    weight = np.where(np.arange(300) % 2, 1.0, 0.5)
    model.fit(frame, y, sample_weight=weight, groups=groups)
    assert model.score(frame, y) > 0.98
    assert "left" not in str(model.predict(frame[:2]))
    nested = BudgetForestRegressor(
        4, search=ForestSearch(n_lambdas=1, n_prunings=0, n_lookahead=0, regrow=False), random_state=0
    )
    assert nested.fit(frame, y).score(frame, y) > 0.9


def test_the_time_limit_leaves_out() -> None:
    X, y = contexts(100)
    with pytest.warns(UserWarning, match="left out"):
        model = BudgetedRegressor([BOOST, FOREST], run=RunSettings(time_limit=0), random_state=0).fit(X, y)
    assert len(model.estimators_) == 1


def test_behind_a_pipeline() -> None:
    X, y = contexts(200)
    frame = pd.DataFrame({"side": np.where(X[:, 0] < 0.5, "left", "right"), "b": X[:, 1], "c": X[:, 2]})
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["side"]), remainder="passthrough")
    model = BudgetedPipeline(encoder, clone(BOOST), feature_costs={"side": 1, "b": 1, "c": 1}).fit(frame, y)
    assert model.score(frame, y) > 0.95
    assert model.cost(frame).max() <= 3


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BudgetedRegressor([BudgetBoost(3)]), "^estimators: expected regressors, got BudgetBoost$"),
        (
            BudgetedRegressor([RandomForestClassifier()]),
            "^estimators: expected regressors, got RandomForestClassifier$",
        ),
        (BudgetedRegressor([AveragedTreesRegressor(2)]), "^.*AveragedTreesRegressor"),
        (BudgetBoostRegressor(5, search=BoostSearch(stopping=CertifiedStopping())), "^loss: expected integers"),
        (BudgetForestRegressor(0), "^n_estimators: expected an integer >= 1, got 0$"),
        (BudgetForestRegressor(2, budget=-1), "^budget"),
    ],
)
def test_what_cannot_be_is_refused(estimator: Any, message: str) -> None:
    X, y = contexts(80)
    with pytest.raises((TypeError, ValueError), match=message):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (["a", "b"] * 30, "^y: expected numbers, .* got 'a'; for labels take a classifier$"),
        ([1.0, None] * 30, "^y: expected a target for each example, got None in place 1; leave out"),
        (np.array([2.5, "b"] * 30, dtype=object), "^y: expected numbers, .* got 'b'; for labels take a classifier$"),
        ([np.nan, 1.0] * 30, "^y: expected a target for each example, got nan in place 0; leave out"),
        ([np.inf, 1.0] * 30, "infinity"),
    ],
)
def test_targets_that_are_no_finite_numbers_are_refused(y: Any, said: str) -> None:
    X = contexts(60)[0]
    for estimator in (BOOST, FOREST):
        with pytest.raises(ValueError, match=said):
            clone(estimator).fit(X, y)


def test_trees_that_decide_alone_are_exported_and_others_refused() -> None:
    X, y = contexts(200)
    plain = clone(BOOST).set_params(search__stopping=()).fit(X, y)
    assert plain.to_trees().predict(X[:5].astype(np.float32)) == pytest.approx(plain.predict(X[:5]))
    model = clone(BOOST).set_params(budget=1.2).fit(X, y)
    if model.decides_by:
        with pytest.raises(ValueError, match="expected a model whose trees alone decide"):
            model.to_trees()
    with pytest.raises(NotFittedError):
        clone(BOOST).predict(X)


@pytest.mark.slow
def test_a_forest_with_everything() -> None:
    X, y = contexts(500)
    model = BudgetForestRegressor(8, search=ForestSearch(n_lambdas=2, n_prunings=1), random_state=0).fit(X, y)
    X_new, y_new = contexts(300, seed=4)
    assert any("cascade" in member.name for member in model.members_)
    assert model.at_budget(2).score(X_new, y_new) > 0.97


@pytest.mark.slow
@parametrize_with_checks(
    [
        BudgetBoostRegressor(
            4,
            growth=BoostGrowth(learning_rate=0.5, max_leaf_nodes=4),
            search=BoostSearch(n_lambdas=1, n_prunings=1),
            random_state=0,
        ),
        BudgetForestRegressor(
            2, search=ForestSearch(n_lambdas=1, n_prunings=1, nested=False, n_lookahead=0), random_state=0
        ),
        BudgetedRegressor(
            [
                BudgetBoostRegressor(
                    4,
                    growth=BoostGrowth(learning_rate=0.5, max_leaf_nodes=4),
                    search=BoostSearch(n_lambdas=1, n_prunings=0),
                )
            ],
            random_state=0,
        ),
        AveragedTreesRegressor(3, random_state=0),
    ],
    expected_failed_checks=random_parts,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)
