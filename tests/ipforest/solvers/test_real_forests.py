"""Unrelated methods on forests fitted to real data with dollar prices: one exact optimum."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import FeatureCosts, Forest, PruningInstance, Status, datasets, solve

EXACT = ("min-cut", "highs-lp", "highs-mip", "networkx", "dantzig-wolfe")
LAMBDAS = ("0.0003", "0.002", "0.01", "0.03")
DOLLARS_BY_KIND = ("0.50", "3.75", "1.25")
"""Breast cancer has no published prices: the mean, the spread and the worst value of a cell measure cost these."""


def real_instance(name: str, n_trees: int) -> PruningInstance:
    """Two thirds to grow the forest, the rest to pay; heart has dollar prices, sonar is given 1.10 dollars an angle."""
    if name not in datasets.names():
        pytest.skip(f"{name} needs the data folder that IPFOREST_DATA names")
    data = datasets.load(name)
    costs = {
        "breast_cancer": FeatureCosts([price for price in DOLLARS_BY_KIND for _ in range(10)]),
        "sonar": FeatureCosts(["1.10"] * 60),
    }.get(name, data.costs)
    order = np.random.default_rng(0).permutation(data.y.size)
    train, paid = order[: 2 * data.y.size // 3], order[2 * data.y.size // 3 :]
    model = RandomForestClassifier(n_trees, random_state=0).fit(data.X[train], data.y[train])
    return PruningInstance.from_forest(Forest.from_sklearn(model), data.X[paid], costs)


def check_agreement(instance: PruningInstance, lam: str) -> None:
    results = {method: solve(instance, lam, method) for method in EXACT}
    optimum = results["min-cut"].objective
    for method, result in results.items():
        assert result.status is Status.OPTIMAL, method
        assert result.objective == result.bound == optimum, method
        assert instance.objective(result.pruning, lam) == optimum, method
    assert results["networkx"].pruning == results["min-cut"].pruning
    dual = solve(instance, lam, "primal-dual", max_iterations=300)
    assert dual.bound <= optimum <= dual.objective
    assert dual.gap <= optimum / 200
    assert all(bound * dual.trace.unit <= optimum for bound in dual.trace.dual_value)
    individual = solve(instance, lam, "tree-dp")
    assert individual.bound <= optimum <= individual.objective


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast_cancer", "sonar", "heart_statlog"])
def test_methods_agree_on_ten_trees(name):
    check_agreement(real_instance(name, 10), LAMBDAS[1])


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("name", ["breast_cancer", "sonar", "heart_statlog"])
def test_methods_agree_on_forty_trees(name, lam):
    check_agreement(real_instance(name, 40), lam)


def test_the_optimum_is_not_the_individual_one():
    """Sharing features between trees pays: the ensemble's optimum is strictly better than tree by tree."""
    instance = real_instance("breast_cancer", 10)
    assert solve(instance, "0.002").objective < solve(instance, "0.002", "tree-dp").objective


def test_masters_columns_reach_the_same_optimum():
    instance = real_instance("breast_cancer", 10)
    result = solve(instance, Fraction(1, 100), "dantzig-wolfe", master="columns")
    assert result.status is Status.OPTIMAL
    assert result.objective == solve(instance, Fraction(1, 100)).objective
