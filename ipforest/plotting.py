"""Pictures of the tradeoff: error against cost, and nested prunings on one tree."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from ipforest.rational import nonnegative_fraction

if TYPE_CHECKING:
    from ipforest.tradeoff import Tradeoff

Axes: TypeAlias = Any

OPTIMISED, HELD_OUT, BUDGET = "tab:blue", "tab:orange", "tab:red"


def plot_tradeoff(tradeoff: Tradeoff, budget: object | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw error against cost for prunings that were solved for, on the data of the programme and on test data.

    Parameters
    ----------
    tradeoff : Tradeoff
    budget : number, optional
        Drawn as a vertical line; the best point within it is ringed.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes
    """
    axes = _axes(ax)
    points, whole = tradeoff.points, tradeoff.unpruned
    series = (
        ("training error, validation cost", OPTIMISED, "training_error", "validation_cost"),
        ("test error, test cost", HELD_OUT, "test_error", "test_cost"),
    )
    for label, colour, error_of, cost_of in series:
        errors = [float(getattr(point, error_of)) for point in points]
        costs = [float(getattr(point, cost_of)) for point in points]
        axes.plot(costs, errors, "o-", color=colour, markersize=4, linewidth=1.2, clip_on=False, label=label)
        ends = float(getattr(whole, cost_of)), float(getattr(whole, error_of))
        axes.plot(*ends, "*", color=colour, markersize=11, clip_on=False)
    axes.plot([], [], "*", color="0.4", markersize=11, linestyle="none", label="unpruned forest")
    if budget is not None:
        limit = nonnegative_fraction(budget, "budget")
        _budget_line(axes, limit, tradeoff.cost_unit)
        chosen = tradeoff.within(limit)
        _ring(axes, float(chosen.validation_cost), float(chosen.training_error))
        _ring(axes, chosen.test_cost, chosen.test_error, label=None)
    _finish(axes, f"cost an example ({tradeoff.cost_unit})", "error")
    return axes


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def _budget_line(axes: Axes, budget: Fraction, unit: str) -> None:
    axes.axvline(float(budget), color=BUDGET, linestyle="--", linewidth=1.2, label=f"budget {float(budget):.4g} {unit}")


def _ring(axes: Axes, cost: float, error: float, label: str | None = "within the budget") -> None:
    axes.plot(
        cost, error, "o", markersize=12, markerfacecolor="none", markeredgecolor="black", linestyle="none", label=label
    )


def _finish(axes: Axes, xlabel: str, ylabel: str) -> None:
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
