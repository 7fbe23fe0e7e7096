"""Pictures of the tradeoff: error against cost, nested prunings on one tree, and rules to read."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.calibration import CalibrationDisplay
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.rational import as_fraction, nonnegative_fraction
from ipforest.choosing.class_costs import TOTAL_COST
from ipforest.choosing.measures import name_of, read_scoring
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import LEAF

if TYPE_CHECKING:
    from ipforest.estimator import BudgetedEstimator
    from ipforest.experiments.comparison import Comparison
    from ipforest.frontiers.joint_frontier import JointFrontier
    from ipforest.learners.budget_prune import BudgetPrune
    from ipforest.path import PruningPath
    from ipforest.rules import Rules
    from ipforest.stopping.early_exit import EarlyExit
    from ipforest.stopping.stages import StagedEstimator

__all__ = [
    "Curve",
    "TradeoffDisplay",
    "draw_purchases",
    "draw_reliability",
    "draw_rules",
    "draw_tree",
    "plot_comparison",
    "plot_purchases",
    "plot_reliability",
    "plot_stopping",
    "plot_stops",
]

Axes: TypeAlias = Any
Point: TypeAlias = tuple[float, float]

OPTIMISED, HELD_OUT, BUDGET, FADED = "tab:blue", "tab:orange", "tab:red", "0.85"
LARGE_DOTS_UP_TO = 80
LIGHTEST = 0.05
MAX_SHOWN = 15
MAX_IN_A_ROW = 4
RELIABILITY_BINS = 8
MAX_FONT_SIZE = 9.0
COLUMN_OF_WORDS, EM_PER_CHARACTER, LINE_HEIGHT = 30, 0.66, 1.3
"""Of a picture of rules: characters in a line, and the room for each, in sizes of the font."""


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
    """

    costs: FloatArray
    errors: FloatArray
    label: str
    error_name: str
    chosen: Point | None = None
    chosen_name: str = "pruning taken"


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
        return cls([curve], _budget(budget)).plot(None if ax is None else [ax])

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
        of these costs takes.

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
        if not hasattr(estimator, "path_"):
            made = _frontier_curves if hasattr(estimator, "members_") else _choice_curves
            return cls(made(estimator, X, y, max_points), _budget(estimator.budget)).plot(axes)
        instance, path = estimator.instance_, estimator.path_
        error, cost = instance.evaluate(estimator.pruning_)
        optimised = _path_curve(
            path,
            f"{estimator.get_params()['pruning__errors']} error of the trees, as optimised",
            (float(cost), float(error)),
        )
        tried = _evaluated_curve(estimator, X, y, _spread(optimised.costs, max_points))
        return cls([optimised, tried], _budget(estimator.budget)).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw the curves, the budget line and the prunings taken.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            Where to draw, one per curve; by default on a new figure.

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
            self.lines_.append(_line(panel, curve.costs, curve.errors, colour, curve.label))
            if self.budget is not None:
                self.budget_lines_.append(_budget_line(panel, self.budget))
            if curve.chosen is not None:
                _ring(panel, curve.chosen, curve.chosen_name)
            _finish(panel, "cost per example", curve.error_name)
        self.figure_ = self.axes_[0].figure
        return self


def plot_comparison(
    comparison: Comparison, *, path: tuple[FloatArray, FloatArray] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw test error within budgets for several methods: means over seeds, bands of one standard error.

    Parameters
    ----------
    comparison : Comparison
    path : tuple (costs, errors), optional
        Test costs and test errors of every pruning on one path, drawn as small dots behind the means.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    """
    axes = axes_or_new(ax)
    if path is not None:
        axes.plot(*path, ".", color="0.75", markersize=2.5, label="every optimal pruning of one forest")
    for number, method in enumerate(comparison.methods):
        errors, spread = comparison.curve(method)
        _line(axes, np.array(comparison.budgets), errors, f"C{number}", method)
        axes.fill_between(
            comparison.budgets, errors - spread, errors + spread, color=f"C{number}", alpha=0.2, linewidth=0
        )
    _finish(axes, f"budget: average cost of an example ({comparison.currency})", "test error")
    axes.set_title(f"{comparison.data}: means over {comparison.n_seeds} seeds, bands of one standard error", fontsize=9)
    return axes


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
    _line(axes, curve.cost, curve.error, OPTIMISED, "with stopping")
    whole = (float(paths.cost[:, -1].mean()), float(paths.loss[:, -1].mean()))
    axes.plot(*whole, "*", color=HELD_OUT, markersize=11, clip_on=False, linestyle="none", label="no example stops")
    place = int(np.flatnonzero(curve.level == model.level_)[0])
    _ring(axes, (float(curve.cost[place]), float(curve.error[place])), "level taken")
    if model.budget is not None:
        _budget_line(axes, float(as_fraction(model.budget, "budget")))
    _finish(axes, "cost per example", f"{_badness_of(model)} on held-out examples")
    return axes


def _badness_of(model: Any) -> str:
    """Name what chooses among the models of an estimator, the less of it the better."""
    scoring = getattr(model, "scoring", None)
    return "error" if scoring is None else f"negative {name_of(scoring)}"


def plot_stops(model: BudgetedEstimator, X: npt.ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw how many examples stop after how many features, by what is predicted.

    Parameters
    ----------
    model : BudgetedEstimator
        A classifier.
    X : array, shape (n_samples, n_features)
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    """
    bought, labels = model.acquired(X).sum(axis=1), model.predict(X)
    axes, bottom = axes_or_new(ax), np.zeros(int(bought.max()) + 1)
    for label in model.classes_:
        counts = np.bincount(bought[labels == label], minlength=bottom.size)
        axes.bar(np.arange(bottom.size), counts, bottom=bottom, label=f"predicted {_literal(label)}")
        bottom += counts
    _finish(axes, "features bought", "examples")
    return axes


def plot_purchases(model: BudgetedEstimator, X: npt.ArrayLike, y: npt.ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw which features are bought by which share of each class, the most bought first.

    Parameters
    ----------
    model : BudgetedEstimator
    X : array, shape (n_samples, n_features)
    y : array, shape (n_samples,)
        The classes.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    """
    acquired = model.acquired(X)
    names = getattr(model, "feature_names_in_", [f"feature {column}" for column in range(acquired.shape[1])])
    return draw_purchases(axes_or_new(ax), acquired, np.asarray(y), names)


def draw_purchases(axes: Axes, acquired: BoolArray, labels: Array | None, names: Sequence[Any]) -> Axes:
    """Draw `plot_purchases` of what examples buy, shape (n_samples, n_features); without labels of all together."""
    order = np.argsort(-acquired.mean(axis=0), kind="stable")
    shown = order[acquired[:, order].any(axis=0)][:MAX_SHOWN]
    parts = {"all": np.ones(len(acquired), dtype=bool)}
    if labels is not None:
        parts = {_literal(label): labels == label for label in np.unique(labels)}
    height = 0.8 / len(parts)
    for place, (label, rows) in enumerate(parts.items()):
        shares = acquired[rows][:, shown].mean(axis=0)
        axes.barh(np.arange(shown.size) + place * height, shares, height, label=label)
    axes.set_yticks(np.arange(shown.size) + 0.4 - height / 2, [_literal(names[column]) for column in shown])
    axes.invert_yaxis()
    axes.set(xlabel="share of examples that buy it", xlim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=min(len(parts), MAX_IN_A_ROW))
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
        labels = model._checked_part(X, y, model.classes_, "y")[1]
        outputs, asked = model.predict_proba(X), (model.feature_usage(X) > 0).sum(axis=1)
    elif hasattr(model, "cross_fitted_"):
        labels, outputs, asked = model._held_out[1], model.cross_fitted_, model.asked_
    else:
        raise ValueError("X: expected examples for a model that is not a CalibratedClassifier, got None")
    number = np.ones(len(labels), dtype=np.int64) if len(model.classes_) == 2 else np.argmax(outputs, axis=1)
    probability, came_true = outputs[np.arange(number.size), number], labels == model.classes_[number]
    return draw_reliability(axes_or_new(ax), probability, came_true, asked, min_samples)


def draw_reliability(
    axes: Axes, probability: FloatArray, came_true: BoolArray, asked: IntArray, min_samples: int = 100
) -> Axes:
    """Draw `plot_reliability` of probabilities, shape (n_samples,), whether they came true, and features asked for."""
    first = _pooled(asked, min_samples)
    for low, high in zip(first, [*first[1:], None], strict=True):
        here = (asked >= low) & (asked < (np.inf if high is None else high))
        most = int(asked[here].max())
        features = f"{int(asked[here].min())} to {most}" if most > asked[here].min() else f"{most}"
        CalibrationDisplay.from_predictions(
            came_true[here],
            np.clip(probability[here], 0, 1),
            n_bins=RELIABILITY_BINS,
            strategy="quantile",
            pos_label=True,
            name=f"{features} features: {int(here.sum())} examples",
            ref_line=low == first[0],
            ax=axes,
        )
    axes.set(xlabel="predicted probability", ylabel="share that came true", xlim=(0, 1), ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False, fontsize="small")
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
    are those that no lambda > 0 keeps. Squares are leaves.

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
    _draw_nodes(axes, picture, _lambda_scale(values), colorbar)
    if feature_names is not None:
        _label_tests(axes, picture, feature_names)
    axes.set_axis_off()
    return axes


def draw_rules(rules: Rules, *, ax: Axes | None = None) -> Axes:
    """Draw rules from left to right: what is ordered in turn, under which conditions, and the answers at the ends.

    Parameters
    ----------
    rules : Rules
        From `ipforest.rules.read_rules`.
    ax : matplotlib Axes, optional
        Where to draw, in letters as large as fit; by default on a new figure, as large as the rules need.
    """
    from ipforest.rules.wording import summary

    boxes = _boxes(rules)
    tops, places = _stacked(boxes)
    n_lines, n_columns = max(top + box.height for top, box in zip(tops, boxes, strict=True)), 1 + max(places)
    axes = _axes_for_words(n_columns, n_lines) if ax is None else ax
    width, height = axes.get_window_extent().size / axes.figure.dpi * 72
    width_of_box, pitch = COLUMN_OF_WORDS * EM_PER_CHARACTER, (COLUMN_OF_WORDS + 4) * EM_PER_CHARACTER
    font = min(MAX_FONT_SIZE, width / (n_columns * pitch), height / (n_lines * LINE_HEIGHT))
    axes.set(xlim=(0, width / font), ylim=(height / font / LINE_HEIGHT, 0))
    labels = [] if rules.seller.classes is None else rules.seller.classes.tolist()
    for place, (box, top) in enumerate(zip(boxes, tops, strict=True)):
        left = places[place] * pitch
        colour = f"C{labels.index(box.answer)}" if box.answer in labels else "0.5"
        axes.add_patch(_rectangle(left, top + 0.25, width_of_box, box.height - 0.5, colour))
        for number, (line, style) in enumerate(box.lines):
            axes.text(left + 0.5, top + 1 + number, _literal(line), fontsize=font * 0.92, va="center", **style)
        if box.above is not None:
            start = places[box.above] * pitch + width_of_box, tops[box.above] + boxes[box.above].height / 2
            middle = left - (pitch - width_of_box) / 2
            end = top + box.height / 2
            axes.plot([start[0], middle, middle, left], [start[1], start[1], end, end], color="0.6", linewidth=0.8)
    axes.set_axis_off()
    title = "\n".join(fill(line, width=max(COLUMN_OF_WORDS, n_columns * COLUMN_OF_WORDS)) for line in summary(rules))
    axes.set_title(_literal(title), fontsize=font, loc="left")
    return axes


@dataclass(frozen=True, slots=True)
class _Box:
    """A step on paper: its lines with their styles, what it answers, and the number of the box before it."""

    lines: tuple[tuple[str, dict[str, Any]], ...]
    answer: Any
    above: int | None

    @property
    def height(self) -> int:
        return len(self.lines) + 1


def _boxes(rules: Rules) -> list[_Box]:
    """Put each step into words, a step before those below it."""
    from ipforest.rules.wording import sentences

    boxes: list[_Box] = []
    path: list[int] = []
    for depth, step, sentence in sentences(rules):
        parts = (
            (sentence.when, {"style": "italic"}),
            (sentence.does, {"weight": "bold"}),
            *((fact, {"color": "0.35"}) for fact in sentence.facts),
        )
        lines = [(line, style) for text, style in parts for line in wrap(text, COLUMN_OF_WORDS)]
        boxes.append(_Box(tuple(lines), step.answer if step.is_end else None, path[depth - 1] if depth else None))
        path[depth:] = [len(boxes) - 1]
    return boxes


def _stacked(boxes: Sequence[_Box]) -> tuple[list[float], list[int]]:
    """Give each box its top and its column: none overlaps another, each stands over the middle of those after it."""
    room = [float(box.height) for box in boxes]
    after = children_lists(np.array([-1 if box.above is None else box.above for box in boxes]))
    columns = [0] * len(boxes)
    for place, box in enumerate(boxes):
        columns[place] = 0 if box.above is None else columns[box.above] + 1
    for place in reversed(range(len(boxes))):
        room[place] = max(room[place], sum(room[child] for child in after[place]))
    start = [0.0] * len(boxes)
    for place, children in enumerate(after):
        top = start[place] + (room[place] - sum(room[child] for child in children)) / 2
        for child in children:
            start[child] = top
            top += room[child]
    return [start[place] + (room[place] - box.height) / 2 for place, box in enumerate(boxes)], columns


def _axes_for_words(n_columns: int, n_lines: float) -> Axes:
    """Make a figure as large as rules need in the largest letters."""
    import matplotlib.pyplot as plt

    inch = MAX_FONT_SIZE / 72
    width = n_columns * (COLUMN_OF_WORDS + 4) * EM_PER_CHARACTER * inch
    height = n_lines * LINE_HEIGHT * inch
    figure = plt.figure(figsize=(width + 0.2, height + 0.8))
    return figure.add_axes((0.1 / (width + 0.2), 0.1 / (height + 0.8), width / (width + 0.2), height / (height + 0.8)))


def _rectangle(left: float, top: float, width: float, height: float, colour: str) -> Any:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    return Rectangle((left, top), width, height, facecolor=to_rgba(colour, 0.15), edgecolor=colour, linewidth=0.8)


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
        axes.figure.colorbar(shown, ax=axes, label="$\\lambda$ up to which a test is kept", extend="min", shrink=0.8)


def _lambda_scale(values: FloatArray) -> Any:
    """Logarithmic scale over the nodes of the forest that some lambda drops; the lowest few share one colour."""
    from matplotlib.colors import LogNorm

    proper = values[(values > 0) & np.isfinite(values)]
    low, high = np.quantile(proper, [LIGHTEST, 1]) if proper.size else (0.5, 2.0)
    return LogNorm(low, high if high > low else 2 * low)


def _literal(name: object) -> str:
    """Write a name so that dollar signs in it begin no formula."""
    return str(name).replace("$", r"\$")


def _label_tests(axes: Axes, picture: _TreePicture, feature_names: Sequence[str]) -> None:
    for node in np.flatnonzero(picture.is_internal & (picture.places[:, 1] >= -2)):
        axes.annotate(
            _literal(fill(str(feature_names[picture.feature[node]]), width=12)),
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


def _path_curve(path: PruningPath, error_name: str, chosen: Point | None) -> Curve:
    costs, errors = (np.array([float(value) for value in values]) for values in (path.costs, path.errors))
    return Curve(costs, errors, "optimal prunings", error_name, chosen)


def _spread(costs: FloatArray, max_points: int) -> list[int]:
    """Choose indices of points about evenly spread over cost."""
    if costs.size <= max_points:
        return list(range(costs.size))
    wanted = np.linspace(costs.min(), costs.max(), max_points)
    return sorted({int(np.argmin(np.abs(costs - cost))) for cost in wanted})


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
        Curve(frontier.cost, values, "choices of the frontier", name, taken, "choice taken"),
        Curve(tried[:, 0], tried[:, 1], "the same on test data", _test_error_of(model), on_data, "choice taken"),
    ]


def _choice_curves(model: Any, X: npt.ArrayLike, y: npt.ArrayLike, max_points: int) -> list[Curve]:
    """Give what an estimator may take, as far as no cheaper choice is as good, and what budgets of so much come to."""
    frontier = model.curve_.frontier if hasattr(model, "curve_") else model.frontier_
    kept, points = frontier.undominated(), []
    cost, loss = frontier.cost[kept], frontier.loss[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that nothing is bought within a small budget
        for place in _spread(cost, max_points):
            points.append(_on_data(model.at_budget(cost[place]), X, y))
    tried, on_data = np.array(points), _on_data(model, X, y)
    return [
        Curve(cost, loss, "choices", f"{_badness_of(model)}, as it was measured in fit"),
        Curve(
            tried[:, 0], tried[:, 1], "budgets of so much, on test data", _test_error_of(model), on_data, "model taken"
        ),
    ]


def _test_error_of(model: BudgetedEstimator) -> str:
    """Name what `_on_data` measures."""
    scoring = getattr(model, "scoring", None)
    if scoring is not None:
        return f"test {name_of(scoring)}"
    if model.class_costs_ is not None:
        return "test cost of mistakes"
    return "test error rate" if is_classifier(model) else "mean squared test error"


def _on_data(estimator: BudgetedEstimator, X: npt.ArrayLike, y: npt.ArrayLike) -> Point:
    scoring = getattr(estimator, "scoring", None)
    if scoring is not None:
        return float(estimator.cost(X).mean()), float(read_scoring(scoring)(estimator, X, y))
    if estimator.class_costs_ is not None:
        return float(estimator.cost(X).mean()), estimator.misclassification_cost(X, y)
    predicted, target = estimator.predict(X), np.asarray(y)
    error = np.mean(predicted != target) if is_classifier(estimator) else np.mean((predicted - target) ** 2)
    return float(estimator.cost(X).mean()), float(error)


def _budget(budget: object | None) -> float | None:
    return None if budget is None else float(nonnegative_fraction(budget, "budget"))


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def _panels(number: int) -> list[Axes]:
    """Make a new figure of panels side by side."""
    import matplotlib.pyplot as plt

    _, panels = plt.subplots(1, number, figsize=(6.4 * number, 4.2), layout="constrained", squeeze=False)
    return list(panels[0])


def _line(axes: Axes, costs: FloatArray, errors: FloatArray, colour: str, label: str) -> Any:
    size = 3.5 if costs.size <= LARGE_DOTS_UP_TO else 2
    style = {"color": colour, "linewidth": 1.2, "clip_on": False, "label": label}
    return axes.plot(costs, errors, marker="o", markersize=size, **style)[0]


def show_budget(axes: Axes, budget: float | None) -> None:
    """Draw a budget as a vertical line, if there is one."""
    if budget is not None:
        _budget_line(axes, budget)


def _budget_line(axes: Axes, budget: float) -> Any:
    return axes.axvline(budget, color=BUDGET, linestyle="--", linewidth=1.2, label=f"budget {budget:.4g}")


def _ring(axes: Axes, point: Point, label: str) -> None:
    axes.plot(*point, "o", markersize=11, markerfacecolor="none", markeredgecolor="black", label=label)


def _finish(axes: Axes, xlabel: str, ylabel: str) -> None:
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if axes.dataLim.ymin >= 0:
        axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(facecolor="white", edgecolor="none", framealpha=1)
