"""What chooses on a frontier: a scorer on validation examples, of every member stopped at every level."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    get_scorer,
    log_loss,
    median_absolute_error,
    r2_score,
    roc_auc_score,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BudgetBoost,
    BudgetBoostRegressor,
    BudgetedClassifier,
    BudgetForest,
    EarlyExit,
    ForestSearch,
    NestedCascade,
    NestedStages,
)
from ipforest.session import Sessions
from ipforest.stopping import ThresholdStopping

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:240], y[:240]
WEIGHT = 1.0 + 3 * y
SEARCH = BoostSearch(n_lambdas=2, n_prunings=1, single_price=False)
SMALL = {"n_estimators": 8, "growth": BoostGrowth(max_leaf_nodes=4), "search": SEARCH, "random_state": 0}


def boosted(**parameters):
    return BudgetBoost(**SMALL).set_params(**parameters)


@pytest.fixture(scope="module")
def scored():
    model = boosted(search__stopping=ThresholdStopping(), scoring="roc_auc")
    return model.fit(X, y, sample_weight=WEIGHT)


def candidates(model):
    """Let every member answer, stopped at every level, as a session of its policy does."""
    examples, labels = model._validation
    for member in model.members_:
        policies = [(member.policy, member.cost, member.loss)]
        for rule, curve in member.learnt:
            policies += [
                (member.stopped(rule, level, model._seller().free_features), cost, loss)
                for level, cost, loss in zip(curve.level.tolist(), curve.cost, curve.error, strict=True)
            ]
        for policy, cost, loss in policies:
            sessions = Sessions(policy, model._seller(), labels.size)
            sessions.see(examples)
            yield sessions, cost, loss, labels


def test_candidates_are_scored_with_weights_as_their_sessions_answer(scored):
    for sessions, cost, loss, labels in candidates(scored):
        area = roc_auc_score(labels, sessions.outputs[:, 1], sample_weight=1.0 + 3 * labels)
        assert -loss == pytest.approx(area, abs=1e-12)
        assert cost == pytest.approx(sessions.paid.mean())


def test_the_choice_is_the_best_score_within_the_budget_after_smoothing_and_allowances(scored):
    cost, loss = [], []
    for member in scored.members_:
        cost.append([member.cost]), loss.append([member.loss])
        for _, curve in member.learnt:
            cost.append(curve.cost), loss.append(isotonic_regression(curve.error, increasing=False))
    cost, loss = np.concatenate(cost), np.concatenate(loss)
    gain = loss[np.lexsort((loss, cost))[0]] - loss.min()
    doublings = np.log2(np.maximum(cost / min(scored.costs_.positive_costs), 1))
    criterion = loss - gain * 3 * doublings / scored.n_validation_
    for budget in (0, 1.5, 2, 4, 30):
        model = scored.at_budget(budget)
        allowed = np.flatnonzero(cost <= budget)
        best = allowed[np.lexsort((cost[allowed], criterion[allowed]))[0]]
        assert model.frontier_.cost[model.choice_] == pytest.approx(cost[best])
        assert model.frontier_.loss[model.choice_] == pytest.approx(loss[best])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1000.0, 1e-3])
def test_the_unit_of_a_scorer_does_not_matter(scale):
    plain = boosted(scoring="neg_log_loss", budget=2).fit(X, y)
    scaled = boosted(scoring=lambda *data: 7 + scale * get_scorer("neg_log_loss")(*data), budget=2).fit(X, y)
    np.testing.assert_allclose(plain.frontier_.cost, scaled.frontier_.cost)
    assert plain.choice_ == scaled.choice_


def test_a_scorer_sees_labels_of_least_expected_cost():
    seen = []

    def scorer(model, X, y):
        seen.append((model.predict(X), model.predict_proba(X)))
        return balanced_accuracy_score(y, model.predict(X))

    boosted(scoring=scorer, class_costs=[[0, 1], [9, 0]]).fit(X, y)
    for labels, probability in seen:
        np.testing.assert_array_equal(labels, (9 * probability[:, 1] > probability[:, 0]).astype(int))


def test_a_scorer_may_look_at_costs():
    def frugal(model, X, y):
        return -float(model.cost(X).mean())

    model = boosted(scoring=frugal).fit(X, y)
    assert model.cost(X).max() == 0


@pytest.mark.slow
def test_several_estimators_are_scored_alike():
    estimators = [
        boosted(),
        BudgetForest(5, search=ForestSearch(regrow=False, n_lookahead=0, n_lambdas=2, n_prunings=1)),
        NestedCascade(RandomForestClassifier(5, random_state=0)),
        RandomForestClassifier(5, random_state=0),
    ]
    model = BudgetedClassifier(estimators, scoring="neg_log_loss", budget=3, random_state=0)
    model.fit(X, y, sample_weight=WEIGHT)
    for sessions, _, loss, labels in candidates(model):
        unseen = log_loss(labels, sessions.outputs[:, 1], sample_weight=1.0 + 3 * labels)
        assert loss >= unseen - 1e-9  # the worse of this and of rules that were fitted without the examples
    assert "best neg log loss, budget 3" in model.summary()
    assert not hasattr(model.estimators_[0], "_work") or "_held_out_weight" not in vars(model.estimators_[0])


def test_a_scorer_on_an_estimator_within_is_refused():
    model = BudgetedClassifier([boosted(scoring="roc_auc")])
    with pytest.raises(ValueError, match="scoring: expected none in BudgetBoost, for which they are given here"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"), [({"scoring": "auc"}, "scoring: expected the name of a scikit-learn scorer")]
)
def test_bad_scorers_are_refused_before_training(parameters, message):
    with pytest.raises(ValueError, match=message):
        boosted(n_estimators=10**9, **parameters).fit(X, y)


def test_one_class_in_validation_is_named():
    with pytest.raises(ValueError, match=r"scoring: expected a measure .* whose classes are \[1\], got nan"):
        boosted(scoring="roc_auc").fit(X, y, X[y == 1][:30], np.ones(30, dtype=int))


@pytest.mark.parametrize(
    "model",
    [
        EarlyExit(RandomForestClassifier(5, max_depth=4, random_state=0), stopping=ThresholdStopping(), random_state=0),
        NestedCascade(
            DecisionTreeClassifier(max_depth=3, random_state=0),
            stages=NestedStages(sizes=[1, 3, 9]),
            stopping=ThresholdStopping(),
        ),
    ],
    ids=["early exit", "nested cascade"],
)
def test_cascades_choose_their_level_by_a_scorer(model):
    model = clone(model).set_params(scoring="neg_brier_score").fit(X[:160], y[:160], X[160:], y[160:])
    for budget in (0, 1.2, 3, 30):
        chosen = model.at_budget(budget)
        place = int(np.flatnonzero(chosen.curve_.level == chosen.level_)[0])
        brier = brier_score_loss(y[160:], chosen.predict_proba(X[160:])[:, 1])
        assert chosen.curve_.error[place] == pytest.approx(brier)
        affordable = chosen.curve_.cost <= budget
        assert brier == pytest.approx(chosen.curve_.error[affordable].min())
    with pytest.raises(ValueError, match="scoring: expected the name"):
        clone(model).set_params(scoring="nothing").fit(X, y)


def test_a_cascade_of_regressors_is_scored():
    model = NestedCascade(
        DecisionTreeRegressor(max_depth=3, random_state=0), stages=NestedStages(sizes=[1, 4]), scoring="r2"
    )
    model.fit(X[:160], X[:160, 0], X[160:], X[160:, 0])
    place = int(np.flatnonzero(model.curve_.level == model.level_)[0])
    assert -model.curve_.error[place] <= r2_score(X[160:, 0], model.predict(X[160:])) + 1e-9


def test_regressors_are_scored():
    target = X[:, 0] + 100 * y
    model = BudgetBoostRegressor(scoring="neg_median_absolute_error", **SMALL).set_params(search__stopping=())
    model.fit(X, target, sample_weight=WEIGHT)
    for sessions, _, loss, labels in candidates(model):
        weight = np.where(labels > 100, 4.0, 1.0)
        assert loss == pytest.approx(median_absolute_error(labels, sessions.outputs[:, 0], sample_weight=weight))
    with pytest.raises(ValueError, match="scoring: expected a measure of 60 validation examples by roc auc, got"):
        model.set_params(scoring="roc_auc").fit(X, target)
