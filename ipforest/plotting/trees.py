"""One tree with all its optimal prunings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array
from ipforest._internal.axes import Axes, axes_or_new, literal, short
from ipforest._internal.rational import as_fraction
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import LEAF

__all__ = ["children_lists", "draw_tree", "tree_layout"]

FADED = "0.85"
LIGHTEST = 0.05


def draw_tree(
    forest: Forest,
    tree: int,
    node_lambda: Sequence[Any] | Array,
    *,
    lam: object | None = None,
    feature_names: Sequence[str] | None = None,
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one tree with all its optimal prunings: the colour of a test is the lambda at which it goes.

    Prunings are nested, so this one picture holds them all: at lambda, the tests of larger ``node_lambda`` stay. White
    are those that no lambda > 0 keeps; those that every lambda keeps, as they cost nothing, have the colour of the
    largest. Squares are leaves.

    Parameters
    ----------
    forest : Forest
    tree : int
        Which tree of the forest, from 0.
    node_lambda : sequence of numbers, shape (n_internal,)
        Largest lambda at which each internal node of the forest is kept; ``path.node_lambda``.
    lam : number, optional
        Fade what is pruned at this lambda.
    feature_names : sequence of str, optional
        Written at the tests of the three upper levels.
    colorbar : bool, default=True
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    """
    values = np.array([float(value) for value in node_lambda])
    if values.shape != (forest.n_internal,):
        raise ValueError(f"node_lambda: expected {forest.n_internal} numbers, one an internal node, got {values.size}")
    if not 0 <= tree < forest.n_trees:
        raise ValueError(f"tree: expected 0..{forest.n_trees - 1}, got {tree}")
    axes = axes_or_new(ax)
    start, stop = forest.tree_offsets[tree : tree + 2]
    lambda_of = np.full(forest.n_nodes, np.nan)
    lambda_of[forest.internal_nodes] = values
    picture = _TreePicture(
        places=tree_layout(_left_to_right(forest, int(start), int(stop)), 0),
        parent=forest.parent[start:stop] - start,
        feature=forest.feature[start:stop],
        node_lambda=lambda_of[start:stop],
        level=-1.0 if lam is None else float(as_fraction(lam, "lam")),
    )
    _draw_edges(axes, picture)
    proper = values[(values > 0) & np.isfinite(values)]
    _draw_nodes(axes, picture, _lambda_scale(proper), colorbar and proper.size > 0)
    if feature_names is not None:
        _label_tests(axes, picture, feature_names)
    axes.set_axis_off()
    return axes


@dataclass(frozen=True, slots=True, eq=False)
class _TreePicture:
    """One tree on paper: nodes numbered within the tree.

    `places` (n_nodes, 2), `parent`, `feature`, `node_lambda` (n_nodes,), NaN at leaves; nodes of `node_lambda` up to
    `level` are pruned.
    """

    places: FloatArray
    parent: Int32Array
    feature: Int32Array
    node_lambda: FloatArray
    level: float

    @property
    def is_internal(self) -> BoolArray:
        return np.not_equal(self.feature, LEAF, dtype=bool)

    @property
    def splits(self) -> BoolArray:
        """Nodes that test a feature in the pruned tree."""
        return self.is_internal & (self.node_lambda > self.level)

    @property
    def stays(self) -> BoolArray:
        """Nodes of the pruned tree, its leaves included."""
        return np.concatenate([[True], self.splits[self.parent[1:]]])


def children_lists(parent: Array) -> list[list[int]]:
    """List the children of each node, ascending, from the parents (-1 at a root)."""
    children: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent.tolist()):
        if above >= 0:
            children[above].append(node)
    return children


def tree_layout(children: Sequence[Sequence[int]], root: int) -> FloatArray:
    """Put leaves side by side from left to right, parents over the middle of their children, deeper nodes lower.

    Parameters
    ----------
    children : sequence of sequences of int
        The children of each node, from left to right.
    root : int

    Returns
    -------
    ndarray of float64, shape (n_nodes, 2)
        Across, from 0, and minus the depth; zeros for nodes of other trees.
    """
    places, n_leaves = np.zeros((len(children), 2)), 0
    stack = [(root, 0, False)]
    while stack:
        node, depth, children_done = stack.pop()
        if not children[node]:
            places[node] = n_leaves, -depth
            n_leaves += 1
        elif children_done:
            places[node] = places[children[node], 0].mean(), -depth
        else:
            stack += [(node, depth, True), *((child, depth + 1, False) for child in reversed(children[node]))]
    return places


def _left_to_right(forest: Forest, start: int, stop: int) -> list[list[int]]:
    """List the children of each node of one tree, numbered from its root."""
    pairs = zip(forest.left[start:stop].tolist(), forest.right[start:stop].tolist(), strict=True)
    return [[] if left == LEAF else [left - start, right - start] for left, right in pairs]


def _draw_edges(axes: Axes, picture: _TreePicture) -> None:
    from matplotlib.collections import LineCollection

    below = np.arange(1, picture.parent.size)
    segments = np.stack([picture.places[picture.parent[below]], picture.places[below]], axis=1)
    stays = picture.stays[below]
    for chosen, colour, width in ((~stays, FADED, 0.6), (stays, "0.45", 1.0)):
        axes.add_collection(LineCollection(list(segments[chosen]), colors=colour, linewidths=width, zorder=1))


def _draw_nodes(axes: Axes, picture: _TreePicture, scale: Any, colorbar: bool) -> None:
    from matplotlib import colormaps

    places, splits = picture.places, picture.splits
    values = picture.node_lambda[splits]
    colours = np.where(values > 0, np.minimum(values, scale.vmax), np.nan)
    size = float(np.clip(5000 / picture.parent.size, 12, 90))
    cut = picture.stays & ~splits
    gone = ~picture.stays & picture.is_internal
    axes.scatter(*places[gone].T, s=size / 2, color=FADED, zorder=2)
    axes.scatter(*places[cut].T, s=size / 3, color="0.45", marker="s", zorder=2, label="leaf")
    shown = axes.scatter(
        *places[splits].T,
        s=size,
        c=colours,
        norm=scale,
        cmap=colormaps["viridis_r"].with_extremes(bad="white"),
        plotnonfinite=True,
        edgecolors="0.2",
        linewidths=0.5,
        zorder=3,
    )
    if colorbar:
        extend = "both" if np.isinf(values).any() else "min"
        axes.figure.colorbar(shown, ax=axes, label="$\\lambda$ up to which a test is kept", extend=extend, shrink=0.8)


def _lambda_scale(proper: FloatArray) -> Any:
    """Logarithmic scale over the nodes of the forest that some lambda drops; the lowest few share one colour."""
    from matplotlib.colors import LogNorm

    low, high = np.quantile(proper, [LIGHTEST, 1]) if proper.size else (0.5, 2.0)
    return LogNorm(low, high if high > low else 2 * low)


def _label_tests(axes: Axes, picture: _TreePicture, feature_names: Sequence[str]) -> None:
    for node in np.flatnonzero(picture.is_internal & (picture.places[:, 1] >= -2)):
        axes.annotate(
            literal(fill(short(feature_names[picture.feature[node]]), width=12)),
            picture.places[node],
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
            linespacing=0.95,
            color="black" if picture.splits[node] else "0.6",
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
            zorder=2.5,
        )
    axes.margins(y=0.12)
