"""Errors and prices are rounded for a path only where products pass 64 bits, and as little as that needs."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import FeatureCosts, Forest, PruningInstance, prune_path
from ipforest.instance import FITS_PATH
from ipforest.losses import NodeErrors
from ipforest.resolution import joint_resolution

THIRDS = [2 / 3, 4 / 3, 1.0]
PUBLISHED = ["8.21288", "0.3487261940", "5.123456789"]
SPREAD = [Fraction("0.000001234567890123"), Fraction("1234567.89012345"), Fraction("1.00000000000001")]
CHAIN = np.array([-1, 0, 0, 1, 1], dtype=np.int32)


def problem(n: int) -> tuple[Forest, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    forest = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X, X[:, 0] + X[:, 1] * X[:, 2] > 0)
    return Forest.from_sklearn(forest), X


def of_errors(*numbers: int) -> NodeErrors:
    return NodeErrors(np.array(numbers), Fraction(1, 10), Fraction(1))


@pytest.mark.parametrize("loss", ["misclassification", "gini"])
@pytest.mark.parametrize("prices", [THIRDS, PUBLISHED, SPREAD])
def test_a_path_exists_at_any_prices(prices: list[object], loss: str) -> None:
    forest, X = problem(2000)
    costs = FeatureCosts(prices)
    instance = PruningInstance.from_forest(forest, X, costs, loss, resolution=FITS_PATH)
    path, step = prune_path(instance), instance.cost_unit * instance.n_examples
    assert path.is_complete
    assert step in (Fraction(1, costs.denominator), min(step, max(costs.prices) / 10**7))
    for index in range(0, len(path.costs), max(1, len(path.costs) // 5)):
        pruned = forest.prune(path.pruning_at(index))
        paid = costs.cost_of(pruned.feature_usage(X)).mean()
        assert paid <= float(path.costs[index]) * (1 + 1e-12)
        assert float(path.costs[index]) <= paid * (1 + 1e-12) + costs.n_units * float(step)


def test_nothing_is_rounded_where_all_of_it_fits() -> None:
    forest, X = problem(300)
    costs = FeatureCosts(["7.27", "1/3", 2])
    exact = PruningInstance.from_forest(forest, X, costs, "gini")
    assert (
        PruningInstance.from_forest(forest, X, costs, "gini", resolution=FITS_PATH).fingerprint() == exact.fingerprint()
    )


def test_without_it_prices_stay_exact_and_the_path_says_that_they_do_not_fit() -> None:
    forest, X = problem(2000)
    costs = FeatureCosts(PUBLISHED)
    instance = PruningInstance.from_forest(forest, X, costs, "gini")
    assert instance.cost_unit * instance.n_examples == Fraction(1, costs.denominator)
    with pytest.raises(OverflowError, match="use prices or a resolution of fewer digits, lower the highest"):
        prune_path(instance)


def test_errors_are_kept_and_prices_get_their_greatest_common_step() -> None:
    errors = of_errors(10, 3, 2, 1, 0)
    prices = [(Fraction(2**40 * k, 3**20), 10**6) for k in (3, 6, 7)]
    rounded, step = joint_resolution(errors, CHAIN, prices)
    assert rounded is errors
    assert step == Fraction(2**40, 3**20)


def test_many_errors_are_rounded_before_prices_are() -> None:
    errors = of_errors(2**40, 2**30, 2**20, 3, 0)
    rounded, step = joint_resolution(errors, CHAIN, [(Fraction(1), 2**34)])
    assert step == 1
    assert rounded.error_unit / errors.error_unit == rounded.resolution == 2**13
    assert rounded.errors.tolist() == [2**27, 2**17, 2**7, 0, 0]


def test_then_prices_are_rounded_to_a_power_of_ten() -> None:
    prices = [(Fraction(10**9 + 1, 10**3), 2**20), (Fraction(1, 2), 1)]
    rounded, step = joint_resolution(of_errors(2**22, 0, 0, 0, 0), CHAIN, prices)
    assert rounded.errors[0] == 2**22
    assert step == 10


@pytest.mark.parametrize("factor", [10**15, 10**30, Fraction(10**30, 7)])
def test_a_common_factor_of_prices_changes_nothing_but_the_unit(factor) -> None:
    """Prices of many digits that are multiples of one number were refused as too large, with no need to round."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, (100, 3)).astype(float)
    fitted = RandomForestClassifier(4, random_state=0).fit(X, X[:, 0] + X[:, 1] > 4)
    instances = [
        PruningInstance.from_forest(Forest.from_sklearn(fitted), X, FeatureCosts([unit, 3 * unit, 2 * unit]))
        for unit in (1, factor)
    ]
    paths = [*map(prune_path, instances)]
    np.testing.assert_array_equal(instances[1].acquisition_cost, instances[0].acquisition_cost)
    assert paths[1].breakpoints == tuple(lam / factor for lam in paths[0].breakpoints)
    assert paths[1].costs == tuple(cost * factor for cost in paths[0].costs)
