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

from ipforest._internal.arrays import Array, FloatArray, nearest_places
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.records import records_to_csv
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.results import BudgetResult, Pruning, PruningResult
from ipforest.solvers import solve_budget

Solver: TypeAlias = Callable[[PruningInstance, Fraction], PruningResult]
BudgetSolver: TypeAlias = Callable[[PruningInstance, Fraction], BudgetResult]


@dataclass(frozen=True, slots=True)
class TradeoffPoint:
    """One pruning of the forest.

    Parameters
    ----------
    lam : Fraction or None
        None for the unpruned forest and for the pruning of a budget, which may be optimal for no lambda.
    training_error, validation_cost : Fraction
        What the integer program traded: error on the instance's error data (in-bag by default) and average cost on
        its cost examples.
    test_error, test_cost : float
        Error rate (mean squared error for regression) and average cost on test data, in the currency of the
        validation cost; both costs include what tests cost.
    n_kept : int
        Internal nodes kept.
    gap : Fraction
        Objective minus proven bound; for the pruning of a budget, error minus proven bound.
    """

    lam: Fraction | None
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
    currency : str
        What costs are counted in.
    budget : Fraction, optional
        What an example may cost on average on the cost examples.
    within_budget : TradeoffPoint, optional
        The best pruning found within it.
    """

    unpruned: TradeoffPoint
    points: tuple[TradeoffPoint, ...]
    currency: str
    budget: Fraction | None = None
    within_budget: TradeoffPoint | None = None

    def compare(self, point: TradeoffPoint) -> str:
        """Say how much cheaper a point is than the unpruned forest, and at what change of test error."""
        saved = 1 - point.test_cost / self.unpruned.test_cost if self.unpruned.test_cost else 0.0
        change = 100 * (point.test_error - self.unpruned.test_error)
        before = self.unpruned
        return (
            f"{point.n_kept} of {before.n_kept} internal nodes stay; on test data an example costs "
            f"{point.test_cost:.4g} in place of {before.test_cost:.4g} {self.currency} ({100 * saved:.0f}% less) at "
            f"error {100 * point.test_error:.2f}% in place of {100 * before.test_error:.2f}% ({change:+.2f} points)"
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one plain record per pruning; the one within the budget and the unpruned forest come last."""
        named = [*(("pruned", point) for point in self.points), ("unpruned", self.unpruned)]
        if self.within_budget is not None:
            named.insert(-1, ("within budget", self.within_budget))
        return [
            {
                "forest": name,
                "lambda": "" if point.lam is None else float(point.lam),
                "lambda_exact": "" if point.lam is None else str(point.lam),
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
        """Return the records as CSV with a header."""
        return records_to_csv(self.records())

    def to_json(self) -> str:
        """Return the records as JSON."""
        budget = None if self.budget is None else str(self.budget)
        return json.dumps({"currency": self.currency, "budget": budget, "prunings": self.records()}, indent=1)


def lambda_grid(instance: PruningInstance, n_points: int = 10) -> list[Fraction]:
    """Choose lambdas whose optimal prunings spread evenly over the costs between pruning nothing and everything.

    Each is the shortest decimal between two breakpoints of the instance's path, so its smallest optimum is unique.

    Returns
    -------
    list of Fraction
        Ascending and distinct, so perhaps fewer than `n_points`.
    """
    path = prune_path(instance)
    costs = np.array([float(cost) for cost in path.costs])
    chosen = nearest_places(costs, np.linspace(costs[0], costs[-1], n_points))
    ends = (Fraction(0), *path.breakpoints)
    return [_shortest_decimal(ends[index], ends[index + 1 :][:1]) for index in chosen]


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
    currency: str = "features",
    progress: ProgressCallback = silent,
    budget: object | None = None,
    budget_solver: BudgetSolver = solve_budget,
) -> Tradeoff:
    """Solve for each lambda and for a budget, and evaluate each pruning on test data.

    Parameters
    ----------
    forest : Forest
    instance : PruningInstance
        Of that forest, built by `PruningInstance.from_forest`.
    costs : FeatureCosts
    X_test, y_test : arrays, shapes (n_samples, n_features) and (n_samples,)
    lambdas : sequence of Fraction
    solver : callable
        ``solver(instance, lam)`` gives a PruningResult.
    currency : str
    progress : callable
    budget : number, optional
        What an example may cost on average on the instance's examples.
    budget_solver : callable
        ``budget_solver(instance, budget)`` gives a BudgetResult.

    Raises
    ------
    ValueError
        The budget is negative.
    """
    limit = None if budget is None else nonnegative_fraction(budget, "budget")
    targets, split_cost = np.asarray(y_test), _split_cost(instance)

    def point(pruning: Pruning, lam: Fraction | None, gap: Fraction) -> TradeoffPoint:
        error, cost = instance.evaluate(pruning)
        pruned = forest.prune(pruning).without_bare_roots()
        return TradeoffPoint(
            lam=lam,
            training_error=error,
            validation_cost=cost,
            test_error=_test_error(pruned, X_test, targets),
            test_cost=float(pruned.cost(X_test, costs, split_cost).mean()),
            n_kept=pruning.n_kept,
            gap=gap,
        )

    points = []
    for number, lam in enumerate(sorted(lambdas)):
        progress(number / len(lambdas), f"lambda {float(lam):.3g}")
        result = solver(instance, lam)
        points.append(point(result.pruning, lam, result.gap))
    within_budget = None
    if limit is not None:
        progress(1.0, f"budget {float(limit):.4g}")
        best = budget_solver(instance, limit)
        within_budget = point(best.pruning, None, best.gap)
    progress(1.0, "")
    return Tradeoff(point(instance.unpruned, None, Fraction(0)), tuple(points), currency, limit, within_budget)


def measure_path(
    forest: Forest, path: PruningPath, costs: FeatureCosts, X_test: npt.ArrayLike, y_test: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Measure every pruning of a path on test data: average costs and error rates, shape (k + 1,) each."""
    pruned = [forest.prune(path.pruning_at(place)).without_bare_roots() for place in range(len(path.costs))]
    split_cost, targets = _split_cost(path.instance), np.asarray(y_test)
    return (
        np.array([one.cost(X_test, costs, split_cost).mean() for one in pruned]),
        np.array([_test_error(one, X_test, targets) for one in pruned]),
    )


def _split_cost(instance: PruningInstance) -> Fraction:
    """Read what one test costs off a root, where every example is tested."""
    return instance.cost_unit * int(instance.split_cost[instance.parent < 0].max(initial=0))


def _test_error(forest: Forest, X: npt.ArrayLike, y: Array) -> float:
    predicted = forest.predict(X)
    return float(np.mean(predicted != y) if forest.is_classifier else np.mean((predicted - y) ** 2))
