"""What a budget promises, on the examples on which it does so: at most that much, none for nothing, more for more."""

import inspect
from itertools import pairwise
from typing import Any

import pytest
from budgeted_estimators import CLASSIFIERS
from sklearn.datasets import make_classification

from ipforest import FeatureCosts
from ipforest._internal.rational import nonnegative_fraction

BUDGETS = (0, "1/2", 1, 3, 8, 30)
COSTS = FeatureCosts([0, 5, 1, 1, 4, 4], [-1, 0, -1, 0, 1, 1], [1, 2])
"""A free feature, a price that is paid alone, and groups."""
X, Y = make_classification(200, 6, n_informative=4, n_redundant=0, random_state=10)
PROMISED = slice(0, 110)


def fitted(name: str) -> Any:
    """Fit on all examples; the budget holds on average over some of them."""
    model = CLASSIFIERS[name](COSTS)
    takes = inspect.signature(model.fit).parameters
    if "X_cost" in takes:
        return model.fit(X, Y, X_cost=X[PROMISED])
    return model.fit(X, Y, X[PROMISED], Y[PROMISED]) if "X_val" in takes else model.fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_costs_are_within_the_budget_and_rise_with_it(name: str) -> None:
    model = fitted(name)
    paid = [0.0]
    for budget in BUDGETS:
        at = model.at_budget(budget)
        paid.append(float(at.cost(X[PROMISED]).mean()))
        assert paid[-1] <= float(nonnegative_fraction(budget, "budget")) + 1e-9
    assert all(low <= high + 1e-9 for low, high in pairwise(paid))
