"""Error against cost: along the path of optimal prunings, along a frontier, by a stopping rule, of several methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ipforest._internal.arrays import FloatArray, nearest_places
from ipforest._internal.axes import (
    HELD_OUT,
    OPTIMISED,
    Axes,
    Point,
    axes_or_new,
    draw_line,
    finish,
    read_budget,
    ring,
    show_budget,
)
from ipforest._internal.examples import require_rows_in_order
from ipforest.choosing.class_costs import TOTAL_COST
from ipforest.choosing.measures import name_of, read_scoring
from ipforest.estimator.checks import check_integer
from ipforest.estimator.model import trying_budgets

if TYPE_CHECKING:
    from ipforest.estimator import BudgetedEstimator
    from ipforest.frontiers.joint_frontier import JointFrontier
    from ipforest.learners.budget_prune import BudgetPrune
    from ipforest.path import PruningPath
    from ipforest.stopping.early_exit import EarlyExit
    from ipforest.stopping.staged_estimator import StagedEstimator

__all__ = ["Curve", "TradeoffDisplay", "plot_stopping"]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Prunings of one forest as points.

    Parameters
    ----------
    costs, errors : ndarray of float64, shape (n_points,)
    label : str
    error_name : str
        The kind of error, for the axis.
    chosen : tuple (cost, error), optional
        What was taken.
    chosen_name : str
        What it is called.
    mixed : tuple (costs, errors), optional
        The points between which a coin is worth tossing.
    """

    costs: FloatArray
    errors: FloatArray
    label: str
    error_name: str
    chosen: Point | None = None
    chosen_name: str = "pruning taken"
    mixed: tuple[FloatArray, FloatArray] | None = None


class TradeoffDisplay:
    """Error against cost along the path of optimal prunings, or along a frontier, one panel per kind of error.

    Make it by `from_estimator` or `from_path`.

    Parameters
    ----------
    curves : sequence of Curve
        The optimised one, then, perhaps, the same prunings on other data.
    budget : float, optional

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One per curve.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One per curve.
    budget_lines_ : list of matplotlib Line2D
        One per curve, or none.
    """

    def __init__(self, curves: Sequence[Curve], budget: float | None = None) -> None:
        self.curves = curves
        self.budget = budget

    @classmethod
    def from_path(cls, path: PruningPath, *, budget: object | None = None, ax: Axes | None = None) -> Self:
        """Draw a path as `ipforest.prune_path` gives it.

        Parameters
        ----------
        path : PruningPath
        budget : number, optional
            Drawn as a vertical line; the best pruning of the path within it is ringed.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        chosen = None
        if budget is not None:
            best = path.at_budget(budget)
            chosen = (float(best.cost), float(best.error))
        curve = _path_curve(path, "error of the trees, as optimised", chosen)
        return cls([curve], read_budget(budget)).plot(None if ax is None else [ax])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        max_points: int = 200,
        axes: Sequence[Axes] | None = None,
    ) -> Self:
        """Draw what a fitted estimator can choose from as it was optimised, and with it the same on other data.

        Of a `BudgetPrune` the first panel shows the mean error of the trees, what the path minimises, the second the
        error of their vote on the other data: two kinds of error, which have an axis each. Of an estimator that has a
        frontier, such as `BudgetedClassifier` or `BudgetedRegressor`, the first shows what its choices lose on the
        validation examples: for regression 1 - R^2, with the mean squared error in the second. With class costs the
        second shows what mistakes cost. Of any other estimator the first shows what may be taken, measured as `fit`
        did, of an estimator that stops examples all levels of the rule that it took; the second what a budget of each
        of these costs takes. A dotted line joins the choices that mixtures take; see
        `ipforest.estimator.BudgetedModel.mixture`.

        Parameters
        ----------
        estimator : fitted estimator of this package
        X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
            Test data.
        max_points : int, default=200
            At most so many prunings of the path, or choices of the frontier, are tried on the test data, evenly spread
            over cost.
        axes : sequence of two matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        check_is_fitted(estimator)
        check_integer(max_points, "max_points", 1)
        require_rows_in_order(X, y)
        y = column_or_1d(y, warn=True)
        if not hasattr(estimator, "path_"):
            made = _frontier_curves if hasattr(estimator, "members_") else _choice_curves
            return cls(made(estimator, X, y, max_points), read_budget(estimator.budget)).plot(axes)
        instance, path = estimator.instance_, estimator.path_
        error, cost = instance.evaluate(estimator.pruning_)
        optimised = _path_curve(
            path,
            f"{estimator.get_params()['pruning__errors']} error of the trees, as optimised",
            (float(cost), float(error)),
        )
        tried = _evaluated_curve(estimator, X, y, _spread(optimised.costs, max_points))
        return cls([optimised, tried], read_budget(estimator.budget)).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw the curves, the budget line and the prunings taken.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            Where to draw, one per curve; by default on a new figure. A scale, such as ``"symlog"`` where prices differ
            by orders of magnitude, is set before drawing.

        Raises
        ------
        ValueError
            Another number of axes.
        """
        self.axes_ = _panels(len(self.curves)) if axes is None else list(axes)
        if len(self.axes_) != len(self.curves):
            raise ValueError(f"axes: expected {len(self.curves)}, one per kind of error, got {len(self.axes_)}")
        self.lines_, self.budget_lines_ = [], []
        for panel, curve, colour in zip(self.axes_, self.curves, (OPTIMISED, HELD_OUT), strict=False):
            self.lines_.append(draw_line(panel, curve.costs, curve.errors, colour, curve.label))
            if curve.mixed is not None:
                panel.plot(*curve.mixed, ":", color="0.4", linewidth=1.2, label="mixtures of two")
            self.budget_lines_ += show_budget(panel, self.budget)
            if curve.chosen is not None:
                ring(panel, curve.chosen, curve.chosen_name)
            finish(panel, "cost per example", curve.error_name)
        self.figure_ = self.axes_[0].figure
        return self


def plot_stopping(model: EarlyExit | StagedEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw error against cost for all levels of a stopping rule, on the held-out examples from which it was learnt.

    Parameters
    ----------
    model : EarlyExit, NestedCascade or BranchingCascade
        The level that was taken is ringed; a star marks where no example stops.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    """
    check_is_fitted(model)
    axes, curve, paths = axes_or_new(ax), model.curve_, model.paths_
    draw_line(axes, curve.cost, curve.error, OPTIMISED, "with stopping")
    whole = (float(paths.cost[:, -1].mean()), float(paths.loss[:, -1].mean()))
    axes.plot(*whole, "*", color=HELD_OUT, markersize=11, clip_on=False, linestyle="none", label="no example stops")
    place = int(np.flatnonzero(curve.level == model.level_)[0])
    ring(axes, (float(curve.cost[place]), float(curve.error[place])), "level taken")
    show_budget(axes, read_budget(model.budget))
    finish(axes, "cost per example", f"{_badness_of(model)} on held-out examples")
    return axes


def _badness_of(model: Any) -> str:
    """Name what chooses among the models of an estimator, the less of it the better."""
    scoring = getattr(model, "scoring", None)
    return "error" if scoring is None else f"negative {name_of(scoring)}"


def _panels(number: int) -> list[Axes]:
    """Make a new figure of panels side by side."""
    import matplotlib.pyplot as plt

    _, panels = plt.subplots(1, number, figsize=(6.4 * number, 4.2), layout="constrained", squeeze=False)
    return list(panels[0])


def _path_curve(path: PruningPath, error_name: str, chosen: Point | None) -> Curve:
    costs, errors = (np.array([float(value) for value in values]) for values in (path.costs, path.errors))
    return Curve(costs, errors, "optimal prunings", error_name, chosen)


def _spread(costs: FloatArray, max_points: int) -> list[int]:
    """Choose indices of points about evenly spread over cost."""
    if costs.size <= max_points:
        return list(range(costs.size))
    return nearest_places(costs, np.linspace(costs.min(), costs.max(), max_points))


def _evaluated_curve(estimator: BudgetPrune, X: npt.ArrayLike, y: npt.ArrayLike, indices: Iterable[int]) -> Curve:
    """Try prunings of the path, by their place in it, on data."""
    starts = [Fraction(0), *estimator.path_.breakpoints]
    points = np.array([_on_data(estimator.at_lambda(starts[index]), X, y) for index in indices])
    of = "vote" if is_classifier(estimator) else "average"
    error_name = f"{_test_error_of(estimator)} of the {of}"
    return Curve(points[:, 0], points[:, 1], "the same on test data", error_name, _on_data(estimator, X, y))


def _frontier_curves(model: JointFrontier, X: npt.ArrayLike, y: npt.ArrayLike, max_points: int) -> list[Curve]:
    """Give the choices of a frontier by what they lose on validation examples, and on data."""
    frontier, points = model.frontier_, []
    for place in _spread(frontier.cost, max_points):
        chosen = copy(model)
        chosen.choice_ = place
        points.append(_on_data(chosen, X, y))
    scorer = None if model.scoring == TOTAL_COST else model.scoring
    values = frontier.loss if scorer is None else -frontier.loss
    taken = float(frontier.cost[model.choice_]), float(values[model.choice_])
    kind = "softened error" if is_classifier(model) else "1 - R^2"
    if model.class_costs_ is not None:
        kind = "softened cost of mistakes, as a share of one"
    name = f"{kind if scorer is None else name_of(scorer)} on validation examples"
    tried, on_data = np.array(points), _on_data(model, X, y)
    return [
        Curve(frontier.cost, values, "choices of the frontier", name, taken, "choice taken", _mixed(model)),
        Curve(tried[:, 0], tried[:, 1], "the same on test data", _test_error_of(model), on_data, "choice taken"),
    ]


def _choice_curves(model: Any, X: npt.ArrayLike, y: npt.ArrayLike, max_points: int) -> list[Curve]:
    """Give what an estimator may take, as far as no cheaper choice is as good, and what budgets of so much come to."""
    frontier = model.curve_.frontier if hasattr(model, "curve_") else model.frontier_
    kept, points = frontier.undominated(), []
    cost, loss = frontier.cost[kept], frontier.loss[kept]
    with trying_budgets():
        for place in _spread(cost, max_points):
            points.append(_on_data(model.at_budget(cost[place]), X, y))
    tried, on_data = np.array(points), _on_data(model, X, y)
    return [
        Curve(cost, loss, "choices", f"{_badness_of(model)}, as it was measured in fit", mixed=_mixed(model)),
        Curve(
            tried[:, 0], tried[:, 1], "budgets of so much, on test data", _test_error_of(model), on_data, "model taken"
        ),
    ]


def _mixed(model: Any) -> tuple[FloatArray, FloatArray] | None:
    """Give cost and loss of the choices that mixtures take; None where there are none, or a scorer chooses."""
    frontier = model.frontier_
    if frontier is None or model.scoring is not None:
        return None
    corners = frontier.hull()
    return frontier.cost[corners], frontier.loss[corners]


def _test_error_of(model: BudgetedEstimator) -> str:
    """Name what `_on_data` measures."""
    scoring = getattr(model, "scoring", None)
    if scoring is not None:
        return f"test {name_of(scoring)}"
    if model.class_costs_ is not None:
        return "test cost of mistakes"
    return "test error rate" if is_classifier(model) else "mean squared test error"


def _on_data(estimator: BudgetedEstimator, X: npt.ArrayLike, y: npt.ArrayLike) -> Point:
    """Measure average cost, and what `_test_error_of` names."""
    scoring, cost = getattr(estimator, "scoring", None), float(estimator.cost(X).mean())
    if scoring is not None:
        return cost, float(read_scoring(scoring)(estimator, X, y))
    if estimator.class_costs_ is not None:
        return cost, estimator.misclassification_cost(X, y)
    predicted, target = estimator.predict(X), np.asarray(y)
    return cost, float(np.mean(predicted != target if is_classifier(estimator) else (predicted - target) ** 2))
