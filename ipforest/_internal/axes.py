"""Axes, and what the pictures of costs and errors draw on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ipforest._internal.arrays import FloatArray
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.words import plain

Axes: TypeAlias = Any
Point: TypeAlias = tuple[float, float]

OPTIMISED, HELD_OUT, BUDGET = "tab:blue", "tab:orange", "tab:red"
LARGE_DOTS_UP_TO = 80
MAX_CLASSES = 10
"""As many as there are colours."""
MAX_NAME = 36
MAX_IN_A_ROW, MAX_NAME_OF_MANY = 4, 18
"""Of a legend above the axes, and of the names where they take more than a row."""
MARKERS = "osD^vPX*<>"
"""So that lines differ without colour, too."""


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def draw_line(axes: Axes, costs: FloatArray, errors: FloatArray, colour: str, label: str, marker: str = "o") -> Any:
    """Draw points joined by a line, those on the edge whole; a logarithmic scale cuts what it cannot show."""
    size = 3.5 if costs.size <= LARGE_DOTS_UP_TO else 2
    style = {"color": colour, "linewidth": 1.2, "label": label}
    style["clip_on"] = "log" in (axes.get_xscale(), axes.get_yscale())
    return axes.plot(costs, errors, marker=marker, markersize=size, **style)[0]


def show_budget(axes: Axes, budget: float | None) -> list[Any]:
    """Draw a budget as a vertical line, if there is one; return the lines."""
    if budget is None:
        return []
    return [axes.axvline(budget, color=BUDGET, linestyle="--", linewidth=1.2, label=f"budget {plain(budget)}")]


def read_budget(budget: object | None) -> float | None:
    """Read a budget as a float."""
    return None if budget is None else float(nonnegative_fraction(budget, "budget"))


def ring(axes: Axes, point: Point, label: str) -> None:
    """Ring what was taken."""
    style = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": ink(), "clip_on": False}
    axes.plot(*point, "o", linestyle="none", label=label, **style)


def ink() -> str:
    """Return the colour of letters, black by default and white in dark styles."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def finish(axes: Axes, xlabel: str, ylabel: str) -> None:
    """Name the axes, and begin them at 0 unless their scale has none."""
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if axes.dataLim.ymin >= 0 and axes.get_yscale() != "log":
        axes.set_ylim(bottom=0)
    if axes.get_xscale() != "log":
        axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    legend(axes)


def legend(axes: Axes, **options: Any) -> None:
    """Name what is drawn, readable where it lies on something."""
    axes.legend(edgecolor="none", framealpha=1, **options)


def legend_above(axes: Axes) -> None:
    """Name bars, which fill the axes, above them: in as many columns as there is room for."""
    labels = axes.get_legend_handles_labels()[1]
    size = 10 if len(labels) <= MAX_IN_A_ROW else 8
    characters = axes.get_position().width * axes.figure.get_figwidth() * 72 / (0.55 * size)
    columns = int(characters // (max(map(len, labels)) + 6))
    axes.legend(
        frameon=False,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=max(1, min(columns, len(labels), MAX_IN_A_ROW)),
        fontsize=size,
    )


def literal(name: object) -> str:
    """Write a name so that dollar signs in it begin no formula."""
    return str(name).replace("$", r"\$")


def short(name: object, most: int = MAX_NAME) -> str:
    """Write a name on one line, without its middle if it is long: what differs is often at the end."""
    words = " ".join(str(name).split())
    half = most // 2
    return words if len(words) <= most else f"{words[: half - 1]}…{words[-half:]}"


def short_for(names: Sequence[Any]) -> list[str]:
    """Write names for `legend_above`, shorter where there are many, and whole where they would be the same."""
    most = MAX_NAME if len(names) <= MAX_IN_A_ROW else MAX_NAME_OF_MANY
    shortened = [literal(short(name, most)) for name in names]
    return shortened if len({*shortened}) == len(names) else [literal(name) for name in names]
