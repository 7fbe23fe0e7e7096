"""Budgets that hold: a bound that is wrong no more often than it says, and the model that it lets pass."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import t
from sklearn.datasets import load_breast_cancer

from ipforest import FeatureCosts
from ipforest.choosing.safe_budgets import _capital, keeps
from tests.budgeted_estimators import CLASSIFIERS

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :6]
COSTS = FeatureCosts([1, 2, 3, 1, 2, 3])


@pytest.mark.parametrize("budget", [0.1, 0.4, 0.8])
def test_a_gambler_gains_nothing_on_average_where_the_budget_is_just_kept(budget: float) -> None:
    """All sequences of costs 0 and 1 with the budget as their mean: the expected capital stays 1."""
    sequences = np.array(list(product([0.0, 1.0], repeat=8)))
    chances = np.prod(np.where(sequences == 1, budget, 1 - budget), axis=1)
    capital = np.array([_capital(sequence, budget, 0.9) for sequence in sequences])
    assert capital.min() > 0
    np.testing.assert_allclose(chances @ capital, 1, rtol=1e-12)
    assert chances[(capital >= 10).any(axis=1)].sum() <= 0.1


@pytest.mark.parametrize("pays", [(0, 10), (3.9, 4.2), (0, 4.1)])
def test_a_budget_that_is_exceeded_seldom_passes(pays: tuple[float, float]) -> None:
    """Two amounts, of mean 4.05 for a budget of 4: at most 1 in 20 draws may pass."""
    low, high = pays
    rng = np.random.default_rng(0)
    costs = np.where(rng.random((300, 60)) < (4.05 - low) / (high - low), high, low)
    assert np.mean([keeps(line, 4, 10) for line in costs]) <= 0.05


def test_a_budget_that_is_kept_clearly_passes() -> None:
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 6, (50, 200))
    for bound, budget in (("betting", 3.7), ("student", 3.4)):
        assert np.mean([keeps(line, budget, 10, bound=bound) for line in costs]) > 0.9
        assert not any(keeps(line[:3], budget, 10, bound=bound) for line in costs if line[:3].mean() > budget)
    assert keeps([9.0, 10.0], 10, 10)
    assert not keeps([1.0], 4, 10)
    assert not keeps([1.0], 4, 10, bound="student")
    bound = np.mean(costs[0]) + t.ppf(0.95, 199) * np.std(costs[0], ddof=1) / np.sqrt(200)
    assert keeps(costs[0], bound + 1e-9, 10, bound="student")
    assert not keeps(costs[0], bound - 1e-9, 10, bound="student")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
def test_more_confidence_buys_less() -> None:
    model = CLASSIFIERS["NestedCascade"](COSTS).fit(X[::2], y[::2])
    fresh = X[1::2]
    sure = [model.at_safe_budget(1.5, fresh, confidence) for confidence in (0.5, 0.95, 0.999)]
    assert 1.5 == sure[0].budget >= sure[1].budget > sure[2].budget
    for safe in sure:
        np.testing.assert_array_equal(safe.cost(fresh), model.at_budget(safe.budget).cost(fresh))
    assert keeps(np.random.default_rng(0).permutation(sure[1].cost(fresh)), 1.5, sum(map(float, COSTS.unit_costs)))
    assert model.at_safe_budget(100, fresh).budget == 100


@pytest.mark.slow
def test_too_few_examples_make_nothing_sure() -> None:
    model = CLASSIFIERS["NestedCascade"](COSTS).fit(X, y)
    with pytest.raises(
        ValueError, match=r"^budget: expected one that a model keeps with confidence 0.95 on 2 examples, "
    ):
        model.at_safe_budget(4, X[:2])


def test_what_cannot_be_made_sure_is_refused() -> None:
    model = CLASSIFIERS["BudgetPrune with a split cost"](COSTS).fit(X, y)
    with pytest.raises(ValueError, match=r"^confidence: expected a number between 0 and 1, got 95$"):
        model.at_safe_budget(4, X, 95)
    with pytest.raises(ValueError, match=r"^bound: expected 'betting' or 'student', got 'normal'$"):
        model.at_safe_budget(4, X, bound="normal")
    with pytest.raises(ValueError, match=r"^bound: expected 'student' where a test costs something, got 'betting'$"):
        model.at_safe_budget(4, X)
    assert model.at_safe_budget(2, X[:100], bound="student").cost(X[:100]).mean() <= 2
