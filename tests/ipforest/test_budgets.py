"""What a budget promises, on the examples on which it does so: at most that much, none for nothing, more for more."""

import inspect
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ipforest import BudgetForestRegressor, BudgetPrune, EarlyExit, FeatureCosts, NestedCascade, ensemble
from ipforest._internal.rational import nonnegative_fraction
from ipforest.deployment.reader import Model
from ipforest.wrappers.calibration import CalibratedClassifier

BUDGETS = (0, "1/2", 1, 3, 8, 30)
COSTS = FeatureCosts([0, 5, 1, 1, 4, 4], [-1, 0, -1, 0, 1, 1], [1, 2])
"""A free feature, a price that is paid alone, and groups."""
X, Y = make_classification(200, 6, n_informative=4, n_redundant=0, random_state=10)
TARGETS = X[:, 0] + X[:, 1] * X[:, 2] + np.random.default_rng(1).normal(size=200)
PROMISED = slice(0, 110)
MAKERS = CLASSIFIERS | {f"{name} of a target": make for name, make in REGRESSORS.items()}


def fitted(name: str) -> Any:
    """Fit on all examples; the budget holds on average over some of them."""
    model = MAKERS[name](COSTS)
    y = Y if is_classifier(model) else TARGETS
    takes = inspect.signature(model.fit).parameters
    if "X_cost" in takes:
        return model.fit(X, y, X_cost=X[PROMISED])
    return model.fit(X, y, X[PROMISED], y[PROMISED]) if "X_val" in takes else model.fit(X, y)


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
@pytest.mark.slow
@pytest.mark.parametrize("name", list(MAKERS))
def test_costs_are_within_the_budget_and_rise_with_it(name: str) -> None:
    model = fitted(name)
    paid = [0.0]
    for budget in BUDGETS:
        at = model.at_budget(budget)
        paid.append(float(at.cost(X[PROMISED]).mean()))
        assert paid[-1] <= float(nonnegative_fraction(budget, "budget")) + 1e-9
    assert all(low <= high + 1e-9 for low, high in pairwise(paid))


@pytest.mark.parametrize("name", ["BudgetPrune with a split cost", "CSCC of trees with a split cost"])
def test_where_tests_cost_something_a_budget_of_nothing_tests_nothing(name: str) -> None:
    """The first column is 0 in all examples that are paid for, so that none of these comes to what lies behind it."""
    rare = np.column_stack([np.r_[np.zeros(110), np.ones(90)], X[:, 1:]])
    others = np.random.default_rng(0).normal(size=(2000, 6))
    for costs in ([0, 5, 5, 5, 5, 5], [0] * 6):
        model = MAKERS[name](FeatureCosts(costs)).set_params(budget=0)
        held_out = {"X_cost": rare[PROMISED]} if "X_cost" in inspect.signature(model.fit).parameters else {}
        at = model.fit(rare, Y, **held_out)
        assert at.cost(others).max() == at.cost(rare).max() == 0
        assert at.session().next_unit is None


@pytest.mark.parametrize(
    "name", ["BudgetBoost with a cap, alternating", "Adapt-Lin before nearest neighbours, with a cap"]
)
def test_what_is_measured_of_models_with_a_cap_is_what_they_pay(name: str) -> None:
    """Gated pairs were judged as if their full model might pay any amount."""
    model = fitted(name).at_budget(30)
    assert model.cost(X[PROMISED]).max() <= model.max_cost + 1e-9
    np.testing.assert_allclose(model.frontier_.cost[model.choice_], model.cost(X[PROMISED]).mean())


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
@pytest.mark.parametrize("name", ["BudgetBoost", "BudgetForest with a cap"])
def test_regressors_stop_where_they_were_measured_to_stop(name: str) -> None:
    """Bounds on targets were summed in another order than in predicting, and levels lay between equal ones."""
    random = np.random.default_rng(1)
    examples = random.normal(size=(120, 6))
    targets = examples[:, 0] + examples[:, 1] * examples[:, 2] + examples[:, 3] / 2 + random.normal(size=120) / 3
    held_out = examples[90:]
    model = REGRESSORS[name](FeatureCosts([1, 2, 3, 4, 5, 2]))
    model.fit(examples[:90], targets[:90], held_out, targets[90:])
    for budget in (1, 2, 3, 4, 6, 8, 12):
        at = model.at_budget(budget)
        np.testing.assert_allclose(at.cost(held_out).mean(), at.frontier_.cost[at.choice_])


@pytest.mark.parametrize(
    "model",
    [
        BudgetPrune(RandomForestClassifier(10, random_state=0), validation_fraction=0.1),
        BudgetPrune(RandomForestRegressor(10, random_state=0)),
        NestedCascade(),
        BudgetForestRegressor(n_estimators=10),
    ],
    ids=lambda model: type(model).__name__,
)
def test_nothing_is_paid_for_a_budget_of_0_on_other_examples_either(model: Any) -> None:
    """Models that cost nothing on the examples they were chosen on paid on others."""
    seed = 6 if isinstance(model, BudgetForestRegressor) else 0
    random = np.random.default_rng(seed + 100)
    train = random.normal(size=(200, 4))
    share = 1 / (1 + np.exp(-3 * (train[:, 0] + 3 * train[:, 1] * (train[:, 0] > 1.5))))
    is_one, target = random.random(200) < share, share + random.normal(size=200) * 0.1
    y, other = is_one if is_classifier(model) else target, random.normal(size=(1000, 4)) * 2
    chosen = model.set_params(feature_costs=[0, 1, 1, 1], random_state=seed).fit(train, y).at_budget(0)
    assert chosen.cost(other).max() == 0
    reader, predicted = Model(json.loads(ensemble.write(chosen, "json"))), chosen.predict(other)
    for example, answer in zip(other[:20], predicted, strict=False):
        assert reader.predict_one(example.__getitem__).label == pytest.approx(answer)
        session = chosen.session()
        while (unit := session.next_unit) is not None:
            session.tell(example[unit.features[0]])
        assert (session.answer, session.paid) == (pytest.approx(answer), 0)


def test_what_costs_more_than_all_measured_examples_may_pay_is_not_bought_by_others() -> None:
    """A price that says "never" was paid by one example in 200, so that the mean cost was 10^10."""
    examples, y = make_classification(400, 8, n_informative=5, random_state=3)
    forest, prices = RandomForestClassifier(30, random_state=0), np.ones(8)
    prices[np.argmax(RandomForestClassifier(50, random_state=0).fit(examples, y).feature_importances_)] = 1e12
    stopped = EarlyExit(forest, feature_costs=prices, budget=2, random_state=0)
    for model in (stopped, CalibratedClassifier(stopped)):
        fitted = model.fit(examples[:200], y[:200])
        paid = fitted.cost(examples)
        assert 0 < paid.mean() < 2
        reader, predicted = Model(json.loads(ensemble.write(fitted, "json"))), fitted.predict(examples)
        for number in range(0, 400, 9):
            answer = reader.predict_one(examples[number].__getitem__)
            session = fitted.session()
            while (unit := session.next_unit) is not None:
                session.tell(examples[number, unit.features[0]])
            assert (session.answer, answer.label) == (predicted[number], predicted[number])
            assert session.paid == answer.paid == paid[number]
