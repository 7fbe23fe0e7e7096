"""The pictures of a report, as SVG."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from sklearn.metrics import roc_curve

from ipforest._internal.arrays import Array, BoolArray
from ipforest._internal.axes import Axes, ink, legend, literal, short, show_budget
from ipforest._internal.words import plain
from ipforest.choosing.measures import confidence
from ipforest.plotting.purchases import draw_purchases, draw_reliability
from ipforest.reporting.measured import Answered, Measure

SIZE = (5.2, 3.6)
MAX_BARS = 30


class Picture(NamedTuple):
    """A picture of the page.

    Parameters
    ----------
    title : str
    description : str
        What it shows, in words, for readers that cannot see it.
    svg : str
    """

    title: str
    description: str
    svg: str

    @property
    def source(self) -> str:
        """The picture as the address of an image."""
        return f"data:image/svg+xml;base64,{b64encode(self.svg.encode()).decode()}"


def pictures_of(
    answered: Answered,
    bought: BoolArray,
    names: list[str],
    budget: float | None,
    budgets: list[tuple[float, float, float]],
    lost: Measure,
) -> tuple[Picture, ...]:
    """Draw what a report shows.

    Parameters
    ----------
    answered : Answered
    bought : ndarray of bool, shape (n_samples, n_prices)
    names : list of str, shape (n_prices,)
        Of what has prices.
    budget : float, optional
    budgets : list of (budget, cost, loss)
        What other budgets come to.
    lost : Measure
        What the losses are.
    """
    drawn: list[Picture] = []

    def draw(title: str, description: str, on: Callable[..., Any], *what: Any) -> None:
        drawn.append(Picture(title, description, _svg(on, *what)))

    classes = answered.classes
    if classes is not None:
        of = f"{classes[1]}" if classes.size == 2 else "the likeliest class"
        says = (
            f"Share of examples whose class is {of} against its predicted probability, by how many features were asked "
            "for; a calibrated model lies on the diagonal."
        )
        draw("Calibration", says, draw_reliability, *confidence(answered.outputs, answered.y, classes), answered.asked)
        if classes.size == 2 and np.unique(answered.y[answered.weight > 0]).size == 2:
            draw("ROC curve", "Sensitivity against 1 - specificity of all thresholds.", _roc, answered, classes)
    quartiles = np.quantile(answered.cost, [0.25, 0.5, 0.75])
    says = f"Histogram of costs; the quartiles are {', '.join(map(plain, quartiles))}."
    draw("Cost per example", says, _costs, answered, budget)
    if budgets:
        says = f"How {lost.name} depends on the mean cost, at other budgets; the values are in the table."
        draw("Other budgets", says, _budgets, budgets, lost.name, budget)
    if bought.any():
        says = "Share of examples for which each feature is bought; the values are in the table."
        draw("What is bought", says, draw_purchases, bought, None if classes is None else answered.y, names)
    return tuple(drawn)


def _svg(draw: Callable[..., Any], *what: Any) -> str:
    """Draw on a figure of its own, the same for the same data."""
    figure = Figure(figsize=SIZE, layout="constrained")
    draw(figure.subplots(), *what)
    written = io.StringIO()
    with rc_context({"svg.hashsalt": "ipforest"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _roc(axes: Axes, answered: Answered, classes: Array) -> None:
    positive = answered.y == classes[1]
    alarms, sensitivity, _ = roc_curve(positive, answered.outputs[:, 1], sample_weight=answered.weight)
    axes.plot(
        alarms,
        sensitivity,
        color="tab:blue",
        clip_on=False,
        label=f"class {literal(short(classes[1]))} against the other",
    )
    called = answered.labels == classes[1]
    point = [np.average(called[part], weights=answered.weight[part]) for part in (~positive, positive)]
    axes.plot(*point, "o", color=ink(), clip_on=False, label="as predicted")
    axes.plot([0, 1], [0, 1], color="0.7", linestyle="--", linewidth=1)
    axes.set(xlabel="1 - specificity", ylabel="sensitivity", xlim=(0, 1), ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    legend(axes, loc="lower right")


def _costs(axes: Axes, answered: Answered, budget: float | None) -> None:
    values, counts = np.unique(answered.cost, return_counts=True)
    if values.size <= MAX_BARS:
        axes.bar(values, counts, width=(values[-1] or 1.0) / 50, color="tab:blue")
    else:
        axes.hist(answered.cost, bins=MAX_BARS, color="tab:blue")
    mean = np.average(answered.cost, weights=answered.weight)
    axes.axvline(mean, color=ink(), linewidth=1.2, label=f"mean {plain(mean)}")
    show_budget(axes, budget)
    axes.set(xlabel="cost", ylabel="examples")
    axes.set_xlim(0, None if values[-1] else 1)
    axes.spines[["top", "right"]].set_visible(False)
    legend(axes)


def _budgets(axes: Axes, budgets: list[tuple[float, float, float]], name: str, budget: float | None) -> None:
    nominal, cost, loss = map(list, zip(*budgets, strict=True))
    axes.plot(cost, loss, marker="o", color="tab:blue", label="as realised on these examples", clip_on=False)
    axes.plot(
        nominal, loss, marker="|", color="0.6", linestyle="none", markersize=10, label="the budget", clip_on=False
    )
    show_budget(axes, budget)
    axes.set(xlabel="mean cost", ylabel=name)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    legend(axes)
