"""Turney's baseline: missing values, STreeD's trees as ours, and the table."""

from __future__ import annotations

import numpy as np
import pytest

from ipforest import FeatureCosts
from ipforest.experiments import streed
from ipforest.experiments.turney1995 import baseline


def test_a_missing_value_is_that_of_the_nearest_example_that_has_one():
    X = np.array([[0.0, 5.0, np.nan], [0.0, 6.0, np.nan], [1.0, 5.0, 7.0], [10.0, 25.0, 8.0]])
    filled = baseline._filled(X)
    assert filled[:2, 2].tolist() == [7, 7]
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_prices_are_given_in_turneys_form():
    costs = FeatureCosts.from_discounts([1, 7.27, 5.2], [1, 5.17, 3.1], [-1, 0, 0])
    assert [streed._prices_of(costs, feature) for feature in range(3)] == [
        (1.0, 1.0, "x"),
        (7.27, 5.17, "g0"),
        (5.2, 3.1, "g0"),
    ]


def test_trees_of_streed_predict_and_pay_as_theirs():
    pytest.importorskip("pystreed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = ((X[:, 0] > 0.3) & (X[:, 2] < 0.1)).astype(np.int64)
    costs = FeatureCosts([1, 1, 2, 3], delayed=[2])
    tree = streed.optimal_tree(X[:200], y[:200], costs, 100 * (1 - np.eye(2)), 4, 600, 0)
    assert np.mean(tree.predict(X[200:]) == y[200:]) > 0.9
    paid = tree.cost(X[200:], costs.with_delayed(None))
    assert set(paid.tolist()) <= {1.0, 2.0, 3.0}
    assert (tree.cost(X[200:], costs) >= paid).all()


def test_the_table_averages_mistakes_within_splits():
    shares = {(10, 0): 10.0, (100, 0): 30.0, (1000, 0): 80.0, (10, 1): 20.0, (100, 1): 40.0, (1000, 1): 60.0}
    records = [
        {"data": "bupa", "seed": seed, "mistake": mistake, "delays": delays, "method": "m", "share_of_standard": share}
        for (mistake, seed), share in shares.items()
        for delays in (False, True)
    ]
    (first, second) = baseline.summarise(records)
    assert (first["delays"], second["delays"], first["splits"]) == (False, True, 2)
    assert first["to_100"] == pytest.approx(25)
    assert first["to_100_se"] == pytest.approx(5)
    assert first["to_1000"] == pytest.approx(40)
