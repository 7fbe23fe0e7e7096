"""Error against cost: one pruning a lambda, evaluated on the data it was chosen on and on test data."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log10
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ipforest._records import records_to_csv
from ipforest.costs import FeatureCosts
from ipforest.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.path import prune_path
from ipforest.progress import ProgressCallback, silent
from ipforest.pruning import Pruning, PruningResult
from ipforest.rational import nonnegative_fraction

Solver: TypeAlias = Callable[[PruningInstance, Fraction], PruningResult]


@dataclass(frozen=True, slots=True)
class TradeoffPoint:
    """One pruning of the forest.

    Parameters
    ----------
    lam : Fraction
    training_error, validation_cost : Fraction
        What the integer program traded: error on the instance's error data (in-bag by default) and average cost on
        its cost examples.
    test_error, test_cost : float
        Error rate (mean squared error for regression) and average cost on test data.
    n_kept : int
        Internal nodes kept.
    gap : Fraction
        Objective minus proven bound.
    """

    lam: Fraction
    training_error: Fraction
    validation_cost: Fraction
    test_error: float
    test_cost: float
    n_kept: int
    gap: Fraction


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Prunings of one forest over a range of lambda.

    Parameters
    ----------
    unpruned : TradeoffPoint
        The whole forest, for comparison.
    points : tuple of TradeoffPoint
        By ascending lambda.
    cost_unit : str
        What costs are counted in.
    """

    unpruned: TradeoffPoint
    points: tuple[TradeoffPoint, ...]
    cost_unit: str

    def within(self, budget: object) -> TradeoffPoint:
        """Find the point of least training error that costs at most the budget on the validation data.

        Raises
        ------
        ValueError
            The budget is negative, or no point fits.
        """
        limit = nonnegative_fraction(budget, "budget")
        fitting = [point for point in (*self.points, self.unpruned) if point.validation_cost <= limit]
        if not fitting:
            cheapest = min(point.validation_cost for point in self.points)
            raise ValueError(
                f"budget: expected at least {float(cheapest):.4g} {self.cost_unit}, the cheapest pruning that was "
                f"solved for, got {budget}; solve for a larger lambda"
            )
        return min(fitting, key=lambda point: (point.training_error, point.validation_cost))

    def compare(self, point: TradeoffPoint) -> str:
        """Say how much cheaper a point is than the unpruned forest, and at what change of test error."""
        saved = 1 - point.test_cost / self.unpruned.test_cost if self.unpruned.test_cost else 0.0
        change = 100 * (point.test_error - self.unpruned.test_error)
        return (
            f"lambda {float(point.lam):.3g} keeps {point.n_kept} of {self.unpruned.n_kept} internal nodes; on test "
            f"data an example costs {point.test_cost:.4g} in place of {self.unpruned.test_cost:.4g} {self.cost_unit} "
            f"({100 * saved:.0f}% less) at error {100 * point.test_error:.2f}% in place of "
            f"{100 * self.unpruned.test_error:.2f}% ({change:+.2f} points)"
        )

    def records(self) -> list[dict[str, Any]]:
        """Give one plain record a pruning, the unpruned forest last; lambda and gap also exactly."""
        named = [*(("pruned", point) for point in self.points), ("unpruned", self.unpruned)]
        return [
            {
                "forest": name,
                "lambda": float(point.lam),
                "lambda_exact": str(point.lam),
                "training_error": float(point.training_error),
                "validation_cost": float(point.validation_cost),
                "test_error": point.test_error,
                "test_cost": point.test_cost,
                "internal_nodes": point.n_kept,
                "gap": float(point.gap),
                "gap_exact": str(point.gap),
            }
            for name, point in named
        ]

    def to_csv(self) -> str:
        """Give the records as CSV with a header."""
        return records_to_csv(self.records())

    def to_json(self) -> str:
        """Give the records as JSON."""
        return json.dumps({"cost_unit": self.cost_unit, "prunings": self.records()}, indent=1)


def lambda_grid(instance: PruningInstance, n_points: int = 10) -> list[Fraction]:
    """Choose lambdas whose optimal prunings spread evenly over the costs between pruning nothing and everything.

    Each is the shortest decimal between two breakpoints of the instance's path, so its smallest optimum is unique.

    Parameters
    ----------
    instance : PruningInstance
    n_points : int

    Returns
    -------
    list of Fraction
        Ascending and distinct, so perhaps fewer than `n_points`.
    """
    path = prune_path(instance)
    costs = np.array([float(cost) for cost in path.costs])
    levels = np.linspace(costs[0], costs[-1], n_points)
    chosen = {int(np.argmin(np.abs(costs - level))) for level in levels}
    ends = (Fraction(0), *path.breakpoints)
    return [_shortest_decimal(ends[index], ends[index + 1 :][:1]) for index in sorted(chosen)]


def _shortest_decimal(low: Fraction, high: Sequence[Fraction]) -> Fraction:
    """Find a number of few digits above `low` and below `high[0]`, if there is one."""
    if not high:
        return _shortest_decimal(low, [3 * low or Fraction(2)])
    step = Fraction(10) ** (floor(log10(high[0])) + 1)
    while (candidate := (low // step + 1) * step) >= high[0]:
        step /= 10
    return candidate


def solve_tradeoff(
    forest: Forest,
    instance: PruningInstance,
    costs: FeatureCosts,
    X_test: npt.ArrayLike,
    y_test: npt.ArrayLike,
    lambdas: Sequence[Fraction],
    solver: Solver,
    cost_unit: str = "features",
    progress: ProgressCallback = silent,
) -> Tradeoff:
    """Solve for each lambda and evaluate each pruning on test data.

    Parameters
    ----------
    forest : Forest
    instance : PruningInstance
        Of that forest.
    costs : FeatureCosts
    X_test, y_test : arrays, shapes (n_samples, n_features) and (n_samples,)
    lambdas : sequence of Fraction
    solver : callable
        ``solver(instance, lam)`` gives a PruningResult.
    cost_unit : str
    progress : callable

    Returns
    -------
    Tradeoff
    """
    targets = np.asarray(y_test)

    def point(pruning: Pruning, lam: Fraction, gap: Fraction) -> TradeoffPoint:
        error, cost = instance.evaluate(pruning)
        pruned = forest.prune(pruning)
        return TradeoffPoint(
            lam=lam,
            training_error=error,
            validation_cost=cost,
            test_error=_test_error(pruned, X_test, targets),
            test_cost=float(pruned.cost(X_test, costs).mean()),
            n_kept=pruning.n_kept,
            gap=gap,
        )

    points = []
    for number, lam in enumerate(sorted(lambdas)):
        progress(number / len(lambdas), f"lambda {float(lam):.3g}")
        result = solver(instance, lam)
        points.append(point(result.pruning, lam, result.gap))
    progress(1.0, "")
    return Tradeoff(point(instance.unpruned, Fraction(0), Fraction(0)), tuple(points), cost_unit)


def _test_error(forest: Forest, X: npt.ArrayLike, y: npt.NDArray[Any]) -> float:
    predicted = forest.predict(X)
    return float(np.mean(predicted != y) if forest.is_classifier else np.mean((predicted - y) ** 2))
