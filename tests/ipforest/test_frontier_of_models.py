"""The frontier: what a budget takes of models, and that every estimator whose models are known has one."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from ipforest import FeatureCosts
from ipforest.choosing.frontier import Frontier
from ipforest.walks.purse import spending_limit
from tests.budgeted_estimators import CLASSIFIERS

COSTS, ERRORS = [0.0, 1.0, 2.0, 2.0, 3.0], [0.5, 0.2, 0.2, 0.1, 0.1]


@pytest.mark.parametrize(("budget", "place"), [(0, 0), (0.99, 0), (1, 1), (1.5, 1), (2, 3), ("5/2", 3), (None, 3)])
def test_the_least_error_within_a_budget_and_of_equals_the_cheapest(budget, place):
    assert Frontier(np.array(COSTS), np.array(ERRORS)).within(budget) == place


def test_a_sum_of_floats_may_exceed_its_budget_by_rounding_only():
    assert Frontier(np.array([0.1 + 0.2]), np.array([0.0])).within(0.3) == 0
    with pytest.raises(ValueError, match=r"expected at least 0\.301, the cost of the cheapest model, got 0\.3$"):
        Frontier(np.array([0.301]), np.array([0.0])).within(0.3)


def test_no_budget_allows_everything():
    assert spending_limit(None) == math.inf
    with pytest.raises(ValueError, match="budget"):
        spending_limit(-1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1.0, 2.0], [0.5]), r"^loss: expected one value for each of one or more models, got shape \(1,\)"),
        (([], []), r"^cost: expected one value for each of one or more models, got shape \(0,\)"),
        (([[1.0]], [[0.5]]), r"^cost: expected one value .*, got shape \(1, 1\)"),
        (([1.0, math.nan], [0.5, 0.1]), r"^cost: expected numbers, got NaN$"),
        (([-1.0, 1.0], [0.5, 0.1]), r"^cost: expected numbers >= 0, got -1$"),
        (([1.0, 2.0], [0.5, math.nan]), r"^loss: expected numbers, got NaN$"),
    ],
)
def test_a_frontier_is_checked_as_it_is_made(columns, message):
    with pytest.raises(ValueError, match=message):
        Frontier(*map(np.array, columns))


def test_a_frontier_is_not_written_into():
    frontier = Frontier.of_points([("1", 2), (3, 1)])
    assert frontier.only(np.array([1])).cost.tolist() == [3]
    with pytest.raises(ValueError, match="read-only"):
        frontier.cost[0] = 2


def test_in_money_the_sum_of_cost_and_loss_is_least():
    frontier = Frontier.of_points([(0, 5), (1, 4.5), (3, 1), (7, 0)])
    assert frontier.within(None) == 3
    assert [frontier.in_money().within(budget) for budget in (0, 2, None)] == [0, 0, 2]
    assert frontier.in_money(10).within(None) == 3


KNOWN = ("GreedyMiser", "CostComplexity", "BudgetPrune", "NestedCascade", "AdaBoostRS")


@pytest.mark.parametrize("name", KNOWN)
def test_a_choice_of_a_frontier_is_had_at_its_cost(name):
    X, y = load_breast_cancer(return_X_y=True)
    model = CLASSIFIERS[name](FeatureCosts([1, 2, 3, 1])).fit(X[:, :4], y)
    places = model.frontier_.undominated()
    assert places.size > 1
    for place in (places[0], places[-1]):
        at = model.at_choice(place)
        assert float(at.budget) == pytest.approx(model.frontier_.cost[place])
        assert at.frontier_ is model.frontier_
