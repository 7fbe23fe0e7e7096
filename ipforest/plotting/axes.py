"""Axes, and what the pictures of costs and errors draw on them."""

from __future__ import annotations

from typing import Any, TypeAlias

from ipforest._internal.arrays import FloatArray
from ipforest._internal.rational import nonnegative_fraction

Axes: TypeAlias = Any
Point: TypeAlias = tuple[float, float]

OPTIMISED, HELD_OUT, BUDGET = "tab:blue", "tab:orange", "tab:red"
LARGE_DOTS_UP_TO = 80


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def draw_line(axes: Axes, costs: FloatArray, errors: FloatArray, colour: str, label: str) -> Any:
    """Draw points joined by a line."""
    size = 3.5 if costs.size <= LARGE_DOTS_UP_TO else 2
    style = {"color": colour, "linewidth": 1.2, "clip_on": False, "label": label}
    return axes.plot(costs, errors, marker="o", markersize=size, **style)[0]


def show_budget(axes: Axes, budget: float | None) -> list[Any]:
    """Draw a budget as a vertical line, if there is one; return the lines."""
    if budget is None:
        return []
    return [axes.axvline(budget, color=BUDGET, linestyle="--", linewidth=1.2, label=f"budget {budget:.4g}")]


def read_budget(budget: object | None) -> float | None:
    """Read a budget as a float."""
    return None if budget is None else float(nonnegative_fraction(budget, "budget"))


def ring(axes: Axes, point: Point, label: str) -> None:
    """Ring what was taken."""
    axes.plot(*point, "o", markersize=11, markerfacecolor="none", markeredgecolor="black", label=label)


def finish(axes: Axes, xlabel: str, ylabel: str) -> None:
    """Name the axes, and begin them at 0."""
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if axes.dataLim.ymin >= 0:
        axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(facecolor="white", edgecolor="none", framealpha=1)


def literal(name: object) -> str:
    """Write a name so that dollar signs in it begin no formula."""
    return str(name).replace("$", r"\$")
