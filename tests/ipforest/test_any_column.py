"""What all estimators promise of any column and any price: prices of any digits, columns that are always the same."""

from fractions import Fraction

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS

from ipforest import FeatureCosts

MAKERS = {
    **{name: (make, True) for name, make in CLASSIFIERS.items()},
    **{f"{name} of a target": (make, False) for name, make in REGRESSORS.items()},
}
N_FEATURES = 6


def examples(seed: int, n: int = 220) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, N_FEATURES))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=n)


def log_uniform_prices(seed: int) -> list[Fraction]:
    decades = (1, 3, 6)[seed % 3]
    prices = 10 ** np.random.default_rng(seed).uniform(-decades, decades, N_FEATURES)
    return [Fraction(price).limit_denominator(10**15) for price in prices.tolist()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:feature_costs. prices are counted in multiples:UserWarning")
@pytest.mark.parametrize("name", MAKERS)
def test_prices_of_any_digits_end_no_training(name: str) -> None:
    make, classify = MAKERS[name]
    place = [*MAKERS].index(name)
    for seed in (place % 12, (place + 7) % 12):
        prices = log_uniform_prices(seed)
        X, target = examples(seed)
        model = make(FeatureCosts(prices)).fit(X, target > 0 if classify else target)
        paid = model.acquired(X) @ np.array([float(price) for price in prices])
        tests = 0 if model.split_cost_ == 0 else model.cost(X) - paid
        np.testing.assert_allclose(model.cost(X), paid + tests, rtol=1e-9)
        assert np.all(tests >= 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_a_column_that_is_always_the_same_is_bought_for_no_example(name: str) -> None:
    make, classify = MAKERS[name]
    X, target = examples(0)
    X, unseen = np.column_stack([X, np.ones(len(X))]), np.column_stack([examples(1)[0], np.ones(len(X))])
    model = make(FeatureCosts([1] * (N_FEATURES + 1))).fit(X, target > 0 if classify else target)
    assert not model.acquired(unseen)[:, -1].any()
