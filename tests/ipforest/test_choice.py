import math

import pytest

from ipforest.choosing.choice import best_affordable, spending_limit

COSTS, ERRORS = [0.0, 1.0, 2.0, 2.0, 3.0], [0.5, 0.2, 0.2, 0.1, 0.1]


@pytest.mark.parametrize(("budget", "place"), [(0, 0), (0.99, 0), (1, 1), (1.5, 1), (2, 3), ("5/2", 3), (None, 3)])
def test_the_least_error_within_a_budget_and_of_equals_the_cheapest(budget, place):
    assert best_affordable(COSTS, ERRORS, budget) == place


def test_a_sum_of_floats_may_exceed_its_budget_by_rounding_only():
    assert best_affordable([0.1 + 0.2], [0.0], 0.3) == 0
    with pytest.raises(ValueError, match=r"expected at least 0\.301, the cost of the cheapest model, got 0\.3$"):
        best_affordable([0.301], [0.0], 0.3)


def test_no_budget_allows_everything():
    assert spending_limit(None) == math.inf
    with pytest.raises(ValueError, match="budget"):
        spending_limit(-1)
