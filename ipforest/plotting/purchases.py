"""What examples buy, when they stop, and whether what is said then comes true."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.calibration import CalibrationDisplay
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest._internal.axes import (
    MARKERS,
    MAX_CLASSES,
    Axes,
    axes_or_new,
    ink,
    legend,
    legend_above,
    literal,
    short,
    short_for,
)
from ipforest._internal.examples import require_rows_in_order
from ipforest.choosing.measures import confidence

if TYPE_CHECKING:
    from ipforest.estimator import BudgetedEstimator

__all__ = ["draw_purchases", "draw_reliability", "plot_purchases", "plot_reliability", "plot_stops"]

MAX_SHOWN = 15
RELIABILITY_BINS = 8


def plot_stops(model: BudgetedEstimator, X: npt.ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw how many examples stop after how many features, by what is predicted.

    Of more than ten classes the nine that are predicted most are told apart.

    Parameters
    ----------
    model : BudgetedEstimator
        A classifier.
    X : array, shape (n_samples, n_features)
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure. Other figures leave room for the names of the bars, which stand
        above them, if they are made with ``layout="constrained"``.
    """
    bought, labels = model.acquired(X).sum(axis=1), model.predict(X)
    axes, bottom = axes_or_new(ax), np.zeros(int(bought.max()) + 1)
    told = _most_predicted(model.classes_, labels)
    parts = {f"predicted {name}": labels == label for name, label in zip(short_for(told.tolist()), told, strict=True)}
    rest = ~np.any([*parts.values()], axis=0)
    if len(parts) < model.classes_.size:
        parts["others"] = rest
    for name, rows in parts.items():
        counts = np.bincount(bought[rows], minlength=bottom.size)
        axes.bar(np.arange(bottom.size), counts, bottom=bottom, label=name)
        bottom += counts
    axes.set(xlabel="features bought", ylabel="examples", xlim=(-0.6, bottom.size - 0.4))
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axes.spines[["top", "right"]].set_visible(False)
    legend_above(axes)
    return axes


def _most_predicted(classes: Array, labels: Array) -> Array:
    if classes.size <= MAX_CLASSES:
        return classes
    counts = [np.count_nonzero(labels == label) for label in classes]
    return classes[np.sort(np.argsort(counts, kind="stable")[-MAX_CLASSES + 1 :])]


def plot_purchases(model: BudgetedEstimator, X: npt.ArrayLike, y: npt.ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw which features are bought by which share of each class, the most bought first.

    For regression, and with more than ten classes, one bar is drawn for all examples.

    Parameters
    ----------
    model : BudgetedEstimator
    X : array, shape (n_samples, n_features)
    y : array, shape (n_samples,)
        The classes, or the targets.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    """
    require_rows_in_order(X, y)
    acquired = model.acquired(X)
    names = getattr(model, "feature_names_in_", [f"feature {column}" for column in range(acquired.shape[1])])
    labels = column_or_1d(y, warn=True) if is_classifier(model) else None
    return draw_purchases(axes_or_new(ax), acquired, labels, names)


def draw_purchases(axes: Axes, acquired: BoolArray, labels: Array | None, names: Sequence[Any]) -> Axes:
    """Draw `plot_purchases` of what examples buy, shape (n_samples, n_features); without labels of all together."""
    order = np.argsort(-acquired.mean(axis=0), kind="stable")
    shown = order[acquired[:, order].any(axis=0)][:MAX_SHOWN]
    parts = {"all examples": np.ones(len(acquired), dtype=bool)}
    if labels is not None and (classes := np.unique(labels)).size <= MAX_CLASSES:
        parts = {
            f"class {name}": labels == label for name, label in zip(short_for(classes.tolist()), classes, strict=True)
        }
    height = 0.8 / len(parts)
    for place, (label, rows) in enumerate(parts.items()):
        shares = acquired[rows][:, shown].mean(axis=0)
        axes.barh(np.arange(shown.size) + place * height, shares, height, label=label)
    axes.set_yticks(np.arange(shown.size) + 0.4 - height / 2, [literal(short(names[column])) for column in shown])
    axes.invert_yaxis()
    axes.set(xlabel="share of examples that buy it", xlim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    if shown.size:
        legend_above(axes)
    else:
        axes.text(0.5, 0, "nothing is bought", ha="center", va="center")
    return axes


def plot_reliability(
    model: BudgetedEstimator,
    X: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    *,
    min_samples: int = 100,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often what a classifier says comes true, by how many features it has asked for.

    There is a curve for each number of features at which examples stop, those with few examples pooled. On the
    diagonal, probabilities are what they say. With more than two classes the probability is that of the likeliest one.

    Parameters
    ----------
    model : BudgetedEstimator
        A classifier.
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,), optional
        Examples that neither the classifier nor its calibration has seen. A `CalibratedClassifier` needs none: then its
        cross-fitted probabilities of the examples that it was calibrated on are drawn.
    min_samples : int, default=100
        Fewest examples of a curve.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.

    Raises
    ------
    ValueError
        Examples without labels, or none for a model that is not calibrated.
    """
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X, y: expected both or none, got one")
    if X is not None and y is not None:
        labels = model._checked_part(X, y)[1]
        outputs, asked = model.predict_proba(X), (model.feature_usage(X) > 0).sum(axis=1)
    elif hasattr(model, "cross_fitted_"):
        labels, outputs, asked = model._held_out[1], model.cross_fitted_, model.asked_
    else:
        raise ValueError("X: expected examples for a model that is not a CalibratedClassifier, got None")
    return draw_reliability(axes_or_new(ax), *confidence(outputs, labels, model.classes_), asked, min_samples)


def draw_reliability(
    axes: Axes, probability: FloatArray, came_true: BoolArray, asked: IntArray, min_samples: int = 100
) -> Axes:
    """Draw `plot_reliability` of probabilities, shape (n_samples,), whether they came true, and features asked for."""
    axes.plot([0, 1], [0, 1], ":", color=ink(), label="perfectly calibrated")
    first = _pooled(asked, min_samples)
    for marker, low, high in zip(cycle(MARKERS), first, [*first[1:], None], strict=False):
        here = (asked >= low) & (asked < (np.inf if high is None else high))
        most = int(asked[here].max())
        features = f"{int(asked[here].min())} to {most}" if most > asked[here].min() else f"{most}"
        unit = "feature" if features == "1" else "features"
        CalibrationDisplay.from_predictions(
            came_true[here],
            np.clip(probability[here], 0, 1),
            n_bins=RELIABILITY_BINS,
            strategy="quantile",
            pos_label=True,
            name=f"{features} {unit}: {int(here.sum())} examples",
            ref_line=False,
            marker=marker,
            clip_on=False,
            ax=axes,
        )
    axes.set(xlabel="predicted probability", ylabel="share that came true", xlim=(0, 1), ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    legend(axes, fontsize="small")
    return axes


def _pooled(asked: IntArray, min_samples: int) -> list[int]:
    """Pool numbers of features until there are enough examples; return the fewest of each pool."""
    first, count = [], min_samples
    for number, examples in zip(*(part.tolist() for part in np.unique(asked, return_counts=True)), strict=True):
        if count >= min_samples:
            first.append(number)
            count = 0
        count += examples
    return first[:-1] if count < min_samples and len(first) > 1 else first
