"""Problems that are the same written otherwise have the same path of optimal prunings, number by number."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipforest import FeatureCosts, Forest, PruningInstance, prune_path
from ipforest.testing.strategies import feature_costs, forests

SETTINGS = settings(max_examples=20)


class Problem(NamedTuple):
    """A forest, examples that pay, prices, and examples whose errors count, with their weights."""

    forest: Forest
    X: Any
    costs: FeatureCosts
    rows: Any
    y: Any
    weight: Any


def priced(costs: FeatureCosts, order: Any, factor: Fraction = Fraction(1)) -> FeatureCosts:
    """Bring prices into another order, and another unit."""
    prices = [factor * costs.prices[column] for column in order]
    return FeatureCosts(prices, costs.groups[order], [factor * fee for fee in costs.group_fees] or None)


def with_columns_permuted(problem: Problem, rng: np.random.Generator) -> Problem:
    order = rng.permutation(problem.costs.n_features)
    feature = problem.forest.feature
    moved = np.where(feature >= 0, np.argsort(order)[feature], feature).astype(feature.dtype)
    forest, costs = replace(problem.forest, feature=moved), priced(problem.costs, order)
    return problem._replace(forest=forest, X=problem.X[:, order], costs=costs, rows=problem.rows[:, order])


def with_rows_permuted(problem: Problem, rng: np.random.Generator) -> Problem:
    paying, counted = rng.permutation(len(problem.X)), rng.permutation(len(problem.y))
    others = {name: getattr(problem, name)[counted] for name in ("rows", "y", "weight")}
    return problem._replace(X=problem.X[paying], **others)


def with_classes_renamed(problem: Problem, rng: np.random.Generator) -> Problem:
    names = [np.array(["b", "é"]), np.array([-7, -2]), np.array([False, True]), np.array(["2001", "2002"], "M8[Y]")]
    classes = names[rng.integers(len(names))][: len(problem.forest.classes)]
    places = np.searchsorted(problem.forest.classes, problem.y)
    return problem._replace(forest=replace(problem.forest, classes=classes), y=classes[places])


def with_paying_rows_thrice(problem: Problem, rng: np.random.Generator) -> Problem:
    return problem._replace(X=np.repeat(problem.X, 3, axis=0))


def with_weights_as_repetitions(problem: Problem, rng: np.random.Generator) -> Problem:
    counted = np.repeat(np.arange(len(problem.y)), problem.weight)
    return problem._replace(rows=problem.rows[counted], y=problem.y[counted], weight=np.ones(counted.size))


def with_heavier_weights(problem: Problem, rng: np.random.Generator) -> Problem:
    return problem._replace(weight=problem.weight * int(rng.integers(2, 9)))


def without_rows_of_no_weight(problem: Problem, rng: np.random.Generator) -> Problem:
    counted = problem.weight > 0
    return problem._replace(rows=problem.rows[counted], y=problem.y[counted], weight=problem.weight[counted])


def with_a_column_that_no_tree_tests(problem: Problem, rng: np.random.Generator) -> Problem:
    X, rows = (np.column_stack([each, np.full(len(each), np.nan)]) for each in (problem.X, problem.rows))
    costs, n_features = problem.costs, problem.costs.n_features + 1
    more = FeatureCosts([*costs.prices, 99], [*costs.groups, -1], list(costs.group_fees) or None)
    return problem._replace(forest=replace(problem.forest, n_features=n_features), X=X, costs=more, rows=rows)


RELATIONS = {name: each for name, each in globals().items() if name.startswith(("with_", "without_"))}


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    forest, X = draw(forests())
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    rows = X[rng.integers(0, len(X), rng.integers(1, 12))]
    weight = rng.integers(0, 4, len(rows))
    weight[0] = 1
    return Problem(forest, X, draw(feature_costs(X.shape[1])), rows, rng.choice(forest.classes, len(rows)), weight)


def points(problem: Problem, factor: Fraction = Fraction(1)) -> list[tuple[Fraction, Fraction]]:
    """Find what the optimal prunings cost and lose."""
    error_data = (problem.rows, problem.y, problem.weight)
    path = prune_path(PruningInstance.from_forest(problem.forest, problem.X, problem.costs, error_data=error_data))
    return [(cost / factor, error) for cost, error in zip(path.costs, path.errors, strict=True)]


@pytest.mark.parametrize("name", RELATIONS)
@SETTINGS
@given(problem=problems(), seed=st.integers(0, 2**16))
def test_the_path_stays(name: str, problem: Problem, seed: int) -> None:
    assert points(RELATIONS[name](problem, np.random.default_rng(seed))) == points(problem)


@pytest.mark.parametrize("factor", [Fraction(1, 3), Fraction(10**9), Fraction(1, 10**9)], ids=str)
@SETTINGS
@given(problem=problems())
def test_costs_are_in_the_unit_of_the_prices(factor: Fraction, problem: Problem) -> None:
    costs = priced(problem.costs, np.arange(problem.costs.n_features), factor)
    assert points(problem._replace(costs=costs), factor) == points(problem)
