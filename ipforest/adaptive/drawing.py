"""Pictures of adaptive approximations: regions in the plane, and error over cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.colors import ListedColormap

from ipforest._internal.arrays import Array
from ipforest.adaptive.approximation import AdaptiveApproximation

CLASS_COLOURS = ("tab:blue", "tab:red")
REGION_COLOURS = ("#cfe0f3", "#f6cfcc", "#f5e6c8")
"""Light blue and red: answered by the cheap model; beige: sent to the full model."""

RESOLUTION = 200


def plot_regions(model: Any, X: npt.ArrayLike, y: npt.ArrayLike, axes: Any) -> Any:
    """Draw what a classifier of two features and two classes answers where, and examples.

    Parameters
    ----------
    model : fitted classifier
        Of an adaptive approximation, what goes to the full model is beige.
    X, y : arrays, shapes (n_samples, 2) and (n_samples,)
    axes : matplotlib axes
    """
    examples, labels = np.asarray(X), np.asarray(y)
    low, high = examples.min(axis=0), examples.max(axis=0)
    ticks = [np.linspace(least, most, RESOLUTION) for least, most in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*ticks), axis=-1)
    region = _regions(model, grid.reshape(-1, 2)).reshape(RESOLUTION, RESOLUTION)
    axes.pcolormesh(*ticks, region, cmap=ListedColormap(REGION_COLOURS), vmin=0, vmax=2, rasterized=True)
    for number, label in enumerate(model.classes_):
        here = examples[labels == label]
        axes.plot(here[:, 0], here[:, 1], ".", color=CLASS_COLOURS[number], markersize=3)
    axes.set(xticks=[], yticks=[])
    return axes


def _regions(model: Any, points: Array) -> Array:
    answers = (model.predict(points) == model.classes_[1]).astype(int)
    return np.where(model.goes_to_full(points), 2, answers) if isinstance(model, AdaptiveApproximation) else answers


def plot_frontier(model: AdaptiveApproximation, axes: Any, **style: Any) -> Any:
    """Draw all candidates on held-out examples and the frontier among them.

    Parameters
    ----------
    model : AdaptiveApproximation
        Fitted.
    axes : matplotlib axes
    **style
        Of the frontier's line.
    """
    cost, error = np.array([(candidate.cost, candidate.error) for candidate in model.candidates_]).T
    (line,) = axes.plot(*np.array([(point.cost, point.error) for point in model.hull_]).T, marker="o", **style)
    axes.plot(cost, error, ".", color=line.get_color(), alpha=0.25, markersize=4, zorder=0)
    axes.set(xlabel="average cost, held-out examples", ylabel="error")
    return axes
