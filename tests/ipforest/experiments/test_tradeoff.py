"""The demonstration's table: points on the tradeoff, choice within a budget, CSV and JSON."""

import csv
import json
from bisect import bisect
from dataclasses import replace
from fractions import Fraction
from io import StringIO

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ipforest import FeatureCosts, PruningInstance, datasets, solve
from ipforest.experiments.parts import split, train_and_split
from ipforest.experiments.tradeoff import Tradeoff, TradeoffPoint, lambda_grid, measure_path, solve_tradeoff
from ipforest.path_search import prune_path


@pytest.fixture(scope="module")
def iris_tradeoff():
    data = datasets.load("iris")
    forest, parts = train_and_split(data, 5, 0)
    instance = PruningInstance.from_forest(forest, parts.X_validation, data.costs)
    tradeoff = solve_tradeoff(
        forest,
        instance,
        data.costs,
        parts.X_test,
        parts.y_test,
        lambda_grid(instance),
        lambda problem, lam: solve(problem, lam, method="tree-dp"),
        budget="1.5",
    )
    return instance, tradeoff


def test_split_halves_then_quarters():
    parts = split(datasets.load("iris"), 0)
    assert [len(parts.y_train), len(parts.y_validation), len(parts.y_test)] == [75, 37, 38]
    assert parts.X_train.shape == (75, 4)


def test_cost_falls_and_error_rises_with_lambda(iris_tradeoff):
    _, tradeoff = iris_tradeoff
    costs = [point.validation_cost for point in tradeoff.points]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] <= tradeoff.unpruned.validation_cost
    assert all(point.gap >= 0 for point in tradeoff.points)


def test_the_budget_is_kept_and_no_solved_point_within_it_errs_less(iris_tradeoff):
    _, tradeoff = iris_tradeoff
    chosen = tradeoff.within_budget
    assert chosen.validation_cost <= tradeoff.budget == Fraction(3, 2)
    assert chosen.lam is None
    fitting = [point for point in tradeoff.points if point.validation_cost <= tradeoff.budget]
    assert chosen.training_error <= min(point.training_error for point in fitting)


def test_a_point_is_compared_with_the_whole_forest_in_words():
    whole = TradeoffPoint(None, Fraction(0), Fraction(8), 0.125, 8.0, 40, Fraction(0))
    point = replace(whole, test_error=0.15, test_cost=6.0, n_kept=10)
    assert Tradeoff(whole, (point,), "dollars").compare(point) == (
        "10 of 40 internal nodes stay; on test data an example costs 6 in place of 8 dollars (25% less) at error "
        "15.00% in place of 12.50% (+2.50 points)"
    )
    free = replace(whole, test_cost=0.0)
    assert "0 in place of 0 dollars (0% less)" in Tradeoff(free, (free,), "dollars").compare(free)


def test_a_negative_budget_is_refused(iris_tradeoff):
    instance, _ = iris_tradeoff
    with pytest.raises(ValueError, match="budget: expected a number >= 0, got -1"):
        solve_tradeoff(None, instance, None, [], [], [], solve, budget=-1)


def test_every_pruning_of_the_path_is_measured_on_test_data(iris_tradeoff):
    instance, tradeoff = iris_tradeoff
    data = datasets.load("iris")
    forest, parts = train_and_split(data, 5, 0)
    path = prune_path(instance)
    costs, errors = measure_path(forest, path, data.costs, parts.X_test, parts.y_test)
    assert costs.shape == errors.shape == (len(path.costs),)
    assert list(costs) == sorted(costs, reverse=True)
    for point in tradeoff.points:
        if path.pruning(point.lam).n_kept == point.n_kept:
            place = bisect(path.breakpoints, point.lam)
            assert (costs[place], errors[place]) == (point.test_cost, point.test_error)


def test_csv_and_json_hold_every_point(iris_tradeoff):
    _, tradeoff = iris_tradeoff
    rows = list(csv.DictReader(StringIO(tradeoff.to_csv())))
    assert [row["forest"] for row in rows] == ["pruned"] * len(tradeoff.points) + ["within budget", "unpruned"]
    assert [Fraction(row["lambda_exact"]) for row in rows[:-2]] == [point.lam for point in tradeoff.points]
    assert json.loads(tradeoff.to_json())["prunings"][0]["test_cost"] == tradeoff.points[0].test_cost


def test_costs_on_test_data_include_what_tests_cost():
    data = datasets.load("iris")
    forest, parts = train_and_split(data, 5, 0)
    instance = PruningInstance.from_forest(forest, parts.X_validation, data.costs, split_cost="0.25")
    tradeoff = solve_tradeoff(
        forest, instance, data.costs, parts.X_validation, parts.y_validation, lambda_grid(instance), solve
    )
    for point in (*tradeoff.points, tradeoff.unpruned):
        assert point.test_cost == pytest.approx(float(point.validation_cost))


def test_lambda_grid_lies_between_breakpoints_and_spreads_over_the_costs(iris_tradeoff):
    instance, _ = iris_tradeoff
    grid = lambda_grid(instance, 4)
    breakpoints = prune_path(instance).breakpoints
    assert grid == sorted(set(grid))
    assert not set(grid) & set(breakpoints)
    places = [bisect(breakpoints, lam) for lam in grid]
    assert len(set(places)) == len(places)
    assert places[0] == 0
    assert places[-1] == len(breakpoints)


def test_lambda_grid_of_a_forest_that_costs_nothing():
    data = datasets.load("iris")
    forest, parts = train_and_split(data, 3, 0)
    instance = PruningInstance.from_forest(forest, parts.X_validation, FeatureCosts([0] * 4))
    assert lambda_grid(instance) == [1]


def test_compare_names_both_forests(iris_tradeoff):
    _, tradeoff = iris_tradeoff
    text = tradeoff.compare(tradeoff.points[-1])
    assert "in place of" in text
    assert "% less" in text


def test_split_uses_the_source_split(tmp_path, monkeypatch):
    import numpy as np

    X, y = load_iris(return_X_y=True)
    order = np.arange(150) % 3
    np.savez(
        tmp_path / "parted.npz",
        X=X,
        y=y,
        feature_names=list("abcd"),
        class_names=list("xyz"),
        split=order.astype(np.uint8),
    )
    monkeypatch.setenv("IPFOREST_DATA", str(tmp_path))
    parts = split(datasets.load("parted"), 0)
    assert np.array_equal(parts.X_validation, X[order == 1])


@pytest.mark.parametrize("place", [None, np.arange(150) % 3])
def test_forests_are_trained_on_single_precision_with_gaps(place):
    """As heart_cleveland and hepatitis are; parts are read-only, and scikit-learn refuses such arrays of float32."""
    iris = datasets.load("iris")
    X = iris.X.astype(np.float32)
    X[::9, 1] = np.nan
    forest, parts = train_and_split(replace(iris, X=X, split=place), 2, 0)
    assert not parts.X_train.flags.writeable
    assert forest.n_features == 4
