"""Additive node losses: what it costs, in errors, to stop at a node."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from ipforest._internal.arrays import Array, FloatArray, Int32Array, IntArray, places_in
from ipforest._internal.examples import require_rows_in_order
from ipforest._internal.rational import INT64_SAFE, as_fraction
from ipforest.choosing.class_costs import read_class_costs
from ipforest.ensemble.margin_losses import Course, checked_targets, encode_targets

if TYPE_CHECKING:
    from ipforest.ensemble.boosted import BoostedTrees
    from ipforest.ensemble.forest import Forest

ErrorData: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike] | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""Examples, targets and perhaps weights, shape (n_samples,) or (n_samples, n_trees)."""

CLASSIFICATION_LOSSES = ("misclassification", "gini", "entropy")
REGRESSION_LOSSES = ("squared_error",)
STAGE_LOSSES = ("second-order", "stage")

STORED_TOLERANCE = 1e-6
"""Share of a tree's squared error by which stored errors may differ from those of what its nodes predict."""

ROUNDING_TOLERANCE = 1e-4
"""Share of a tree's squared error that rounding may have changed."""

EXAMPLE_BITS, TOTAL_BITS = 16, 28
MAX_COUNT = 2**53
"""From here on every float is an integer, so that integers are no sign of counts."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeErrors:
    """Integer losses of the nodes and what 1 of them is worth.

    Parameters
    ----------
    errors : ndarray of int64, shape (n_nodes,)
        e_h in multiples of ``resolution``.
    error_unit : Fraction
        Loss of a forest = ``error_unit * sum of errors over its leaves``: resolution / (N_e T).
    resolution : Fraction
        1 for counts; the rounding step of a real-valued loss.
    """

    errors: IntArray
    error_unit: Fraction
    resolution: Fraction


def node_errors(
    forest: Forest,
    loss: str,
    error_data: ErrorData | None,
    resolution: object | None,
    class_costs: npt.ArrayLike | None = None,
) -> NodeErrors:
    """Compute e_h of every node.

    Parameters
    ----------
    forest : Forest
    loss : str
        "misclassification", "gini", "entropy" (bits) or "squared_error".
    error_data : tuple (X, y) or (X, y, weights), optional
        Examples to count errors on; without them the in-bag examples of each tree. On other data a node predicts what
        it learnt: gini becomes the Brier score of its in-bag distribution, entropy its log loss with probabilities
        below 1 / (2 examples at the node) raised to that. Weights are one per example, or one per example and tree
        (an out-of-bag mask).
    resolution : number, optional
        Rounding step of a real-valued loss; by default 1 for counts, else the power of two
        that gives an example at the roots up to 2^16 steps on average and all of them up to 2^28 steps: what the exact
        path can multiply by costs of as many digits.
    class_costs : array, shape (n_classes, n_classes), optional
        What predicting class j costs where i is true, row i, column j, for misclassification; by default 1 off the
        diagonal. A node predicts the class of the least expected cost, and the error of a forest is what an example's
        prediction costs on average.

    Raises
    ------
    ValueError
        Unknown loss, a loss for the other task, labels the forest does not know, or losses too large for int64.
    """
    loss = loss_for(loss, forest.is_classifier)
    matrix = None if class_costs is None else checked_class_costs(class_costs, loss, forest.classes)
    roots = forest.tree_offsets[:-1]
    if error_data is None:
        losses = _in_bag(forest, loss, matrix)
        total_weight, n_examples = float(forest.weight[roots].sum()), int(forest.n_samples[roots].sum())
    else:
        examples, y, weights = _checked_error_data(forest, error_data)
        losses = _held_out(forest, loss, examples, y, weights, matrix)
        n_examples = int(np.count_nonzero(weights))
        total_weight = float(weights.sum())
    step = _step(losses, float(losses[roots].sum()), n_examples, resolution)
    return _as_integers(losses, step, total_weight, forest.n_trees)


def stage_errors(
    trees: BoostedTrees,
    loss: str,
    error_data: ErrorData,
    resolution: object | None = None,
    leaves: Int32Array | None = None,
) -> NodeErrors:
    r"""Compute e_h of every node of boosted trees, each tree judged at the margins of all trees before it.

    With v_h what node h adds as a leaf, and g_i, h_i the derivatives of example i's loss at its margin F_i before the
    tree,

    - "stage" is the loss itself, :math:`e_h = \sum_{i \in h} \ell(y_i, F_i + v_h)`;
    - "second-order" is its expansion, :math:`e_h = \sum_{i \in h} (g_i v_h + h_i v_h^2 / 2 + c_i)`, where c_i depends
      on the tree and the example only and makes every term nonnegative. It needs a pass per tree, not one per level.

    **What is exact, what is a surrogate.** The sum over the leaves of a tree is exactly what that tree's step loses
    ("stage"), so for one tree, or for the last one with the others left as they are, the optimal pruning is optimal for
    the loss. Of several trees, pruning one moves the margins at which later ones were judged: the sum over trees is a
    surrogate for the loss of the whole. The pruning is optimal, and certified, for the surrogate; refit the leaves
    after it (`ipforest.ensemble.refitting`).

    Parameters
    ----------
    trees : BoostedTrees
        With values at internal nodes.
    loss : {"second-order", "stage"}
    error_data : tuple (X, y) or (X, y, weights)
        Training or held-out examples; weights have shape (n_samples,).
    resolution : number, optional
        Rounding step; see `node_errors`.
    leaves : ndarray of int32, shape (n_trees, n_samples), optional
        Where the examples end, if it is known; see `Trees.leaves`.

    Returns
    -------
    NodeErrors
        ``error_unit`` makes the sum over all trees an average over the examples, so that lambda is what a unit of cost
        is worth in loss.

    Raises
    ------
    ValueError
        Unknown loss, targets the trees do not know, or losses too large for int64.
    """
    if loss not in STAGE_LOSSES:
        raise ValueError(f"loss: expected one of {', '.join(map(repr, STAGE_LOSSES))} for boosted trees, got {loss!r}")
    X, y, weights = _parts_of(error_data)
    if leaves is None:
        leaves = trees.leaves(trees.checked_examples(X, "error_data X"))
    n_samples = leaves.shape[1]
    targets = encode_targets(y, trees.classes)
    weight = np.asarray(np.ones(n_samples) if weights is None else weights, dtype=np.float64)
    if targets.shape[0] != n_samples or weight.shape != (n_samples,):
        raise ValueError(f"error_data: expected {n_samples} targets and weights, got {targets.shape[0]}, {weight.size}")
    _require_some_weight(weight)
    losses = np.empty(trees.n_nodes)
    course = trees.margin_loss.course_from(np.tile(trees.base_score, (n_samples, 1)), targets)
    judge = _stage_losses if loss == "stage" else _second_order_losses
    for number, (columns, (start, stop)) in enumerate(zip(trees.output_columns(), trees, strict=True)):
        losses[start:stop] = judge(trees, number, columns, leaves[number], course, weight)
        course.add(trees.value[leaves[number]], columns)
    roots = trees.tree_offsets[:-1]
    losses = _nonnegative(losses)
    step = _step(losses, float(losses[roots].sum()), n_samples * trees.n_trees, resolution)
    return _as_integers(losses, step, float(weight.sum()), trees.n_trees)


def _second_order_losses(
    trees: BoostedTrees, number: int, columns: slice, reached: Int32Array, course: Course, weight: FloatArray
) -> FloatArray:
    value = trees.value[slice(*trees.tree_offsets[number : number + 2].tolist())]
    gradient, hessian = course.derivatives(columns)
    largest = np.abs(value).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        deepest = np.where(gradient == 0, 0.0, np.square(gradient) / (2 * hessian))
    offset = np.minimum(deepest, np.abs(gradient) * largest)
    G, H, C = trees.sums_of_tree(number, reached, weight, gradient, hessian, offset)
    return np.asarray((G * value + H * np.square(value) / 2 + C).sum(axis=1))


def _stage_losses(
    trees: BoostedTrees, number: int, columns: slice, reached: Int32Array, course: Course, weight: FloatArray
) -> FloatArray:
    loss = trees.margin_loss
    start, stop = trees.tree_offsets[number : number + 2].tolist()
    losses = np.zeros(stop - start)
    rows, node = np.arange(reached.size), reached
    while rows.size:
        moved = course.margins[rows]
        moved[:, columns] += trees.value[node]
        lost = weight[rows] * (loss.value(moved, course.targets[rows]) - _least_loss(trees.link, course.targets[rows]))
        losses += np.bincount(node - start, lost, stop - start)
        above = trees.parent[node]
        rows, node = rows[above >= 0], above[above >= 0]
    return losses


def _least_loss(link: str, targets: FloatArray) -> FloatArray | float:
    """Return what no margin can undercut: only the Poisson loss may be negative."""
    return (targets - xlogy(targets, targets)).sum(axis=1) if link == "log" else 0.0


def loss_for(loss: str | None, is_classification: bool) -> str:
    """Check the name of a loss for a task; None is the task's own, misclassification or squared error.

    Raises
    ------
    ValueError
        Unknown loss, or a loss for the other task.
    """
    known = CLASSIFICATION_LOSSES if is_classification else REGRESSION_LOSSES
    if loss is None:
        return known[0]
    if not isinstance(loss, str) or loss not in known:
        task = "classification" if is_classification else "regression"
        raise ValueError(f"loss: expected {' or '.join(map(repr, known))} for {task}, got {loss!r}")
    return loss


def checked_class_costs(class_costs: Any, loss: str, classes: Array | None) -> FloatArray:
    """Read misclassification costs for a loss of nodes; see `ipforest.choosing.class_costs.read_class_costs`.

    Raises
    ------
    ValueError
        Another loss than misclassification, another shape, or costs that are not finite numbers >= 0.
    """
    if loss != "misclassification" or classes is None:
        raise ValueError(f"class_costs: expected none with loss {loss!r}, got a value")
    return read_class_costs(class_costs, classes)


def _in_bag(forest: Forest, loss: str, class_costs: FloatArray | None) -> FloatArray:
    if loss == "squared_error":
        if forest.criterion not in ("squared_error", "friedman_mse"):
            raise ValueError(
                "estimator: expected criterion 'squared_error', which stores the in-bag errors, or error_data = (X, y) "
                f"with it, got criterion {forest.criterion!r} alone"
            )
        return _in_bag_squares(forest)
    counts = _in_bag_counts(forest)
    totals: FloatArray = counts.sum(axis=1)
    if class_costs is not None:
        return np.asarray((counts @ class_costs).min(axis=1))
    if loss == "misclassification":
        return _nonnegative(totals - counts.max(axis=1))
    if loss == "gini":
        return _nonnegative(totals - (counts * counts).sum(axis=1) / totals)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(counts > 0, counts * np.log2(totals[:, None] / counts), 0.0)
    return _nonnegative(bits.sum(axis=1))


def _in_bag_squares(forest: Forest) -> FloatArray:
    """Take the in-bag squared errors that scikit-learn stores, if they are those of what the nodes predict.

    They are where the squares within the children and between them make up the parent's, and its value is their mean:
    from the root on, each value is then the mean of the node's targets. A tree whose draws have equal targets stores
    what rounding leaves, less or more than 0: that is measured by the mean errors of trees.
    """
    inner = forest.internal_nodes
    children = np.stack([forest.left[inner], forest.right[inner]])
    squares, weight, value = forest.impurity * forest.weight, forest.weight, forest.value[:, 0]
    moved = value[children] - value[inner]
    of_root = squares[forest.tree_offsets[:-1]]
    scale = np.repeat(np.maximum(of_root, of_root.mean()), np.diff(forest.tree_offsets))
    of_tree = scale[inner]
    unexplained = np.abs((squares[children] + weight[children] * moved**2).sum(axis=0) - squares[inner])
    off_mean = np.abs((weight[children] * moved).sum(axis=0))
    spread = np.sqrt(np.maximum(of_tree, 0) * weight[inner])
    rounding = np.finfo(np.float64).eps * weight[inner] * value[inner] ** 2  # scikit-learn subtracts squares
    if (
        np.any(squares < -STORED_TOLERANCE * scale)
        or np.any(unexplained > STORED_TOLERANCE * of_tree)
        or np.any(off_mean > STORED_TOLERANCE * spread)
        or np.any(rounding > ROUNDING_TOLERANCE * of_tree)
    ):
        raise ValueError(
            "estimator: expected in-bag means of the targets at the nodes, to which the stored errors belong, or "
            "error_data = (X, y) with it, got other values alone (as under monotonic constraints, or where targets "
            "differ by much less than their size: subtract a constant); BudgetPrune takes "
            "pruning=PruningSettings(errors='training')"
        )
    return _nonnegative(squares)


def _in_bag_counts(forest: Forest) -> FloatArray:
    """Weight of each class at each node, shape (n_nodes, n_classes): scikit-learn stores fractions of the total."""
    counts = forest.value * forest.weight[:, None]
    inner = forest.internal_nodes
    below = counts[forest.left[inner]] + counts[forest.right[inner]]
    if not np.allclose(counts[inner], below, rtol=1e-6, atol=1e-9 * forest.weight.max()):
        raise ValueError(
            "estimator: expected in-bag class fractions at the nodes, or error_data = (X, y) with it, "
            "got other values (as under monotonic constraints) alone; BudgetPrune takes "
            "pruning=PruningSettings(errors='training')"
        )
    rounded = np.rint(counts)
    return rounded if np.allclose(counts, rounded, rtol=1e-9, atol=0) else counts


def _held_out(
    forest: Forest, loss: str, examples: Array, y: Array, weights: FloatArray, class_costs: FloatArray | None
) -> FloatArray:
    leaves = forest.leaves(examples)
    if loss == "squared_error":
        centre = float(y.mean())
        target, prediction = y - centre, forest.value[:, 0] - centre
        n, total, squares = forest.reach_sums(leaves, [weights, target * weights, target**2 * weights]).T
        return _nonnegative(squares - 2 * prediction * total + n * prediction**2)
    assert forest.classes is not None
    encoded = places_in(forest.classes, y)
    counts = forest.reach_sums(leaves, [weights * (encoded == label) for label in range(len(forest.classes))])
    totals: FloatArray = counts.sum(axis=1)
    nodes = np.arange(forest.n_nodes)
    if class_costs is not None:
        return np.asarray((counts @ class_costs)[nodes, np.argmin(forest.value @ class_costs, axis=1)])
    if loss == "misclassification":
        return _nonnegative(totals - counts[nodes, np.argmax(forest.value, axis=1)])
    if loss == "gini":
        norms = (forest.value**2).sum(axis=1)
        return _nonnegative(totals * (1 + norms) - 2 * (counts * forest.value).sum(axis=1))
    least = 0.5 / forest.n_samples
    return _nonnegative(-(counts * np.log2(np.maximum(forest.value, least[:, None]))).sum(axis=1))


def _parts_of(error_data: Any) -> tuple[Any, Any, Any]:
    """Give examples, targets and weights, None where there are none."""
    if not isinstance(error_data, tuple) or len(error_data) not in (2, 3):
        raise ValueError(f"error_data: expected a pair (X, y) or (X, y, weights), got {type(error_data).__name__}")
    X, y, weights = error_data if len(error_data) == 3 else (*error_data, None)
    require_rows_in_order(X, y, "y")
    require_rows_in_order(X, weights, "weights")
    return X, y, weights


def _checked_error_data(forest: Forest, error_data: ErrorData) -> tuple[Array, Array, FloatArray]:
    """Check examples and targets; give them with weights per tree and example."""
    examples, targets, weights = _parts_of(error_data)
    X = forest.checked_examples(examples, "error_data X")
    y = checked_targets(targets, forest.classes, X.shape[0], "error_data")
    return X, y, _checked_weights(np.ones(y.size) if weights is None else weights, y.size, forest.n_trees)


def _checked_weights(weights: npt.ArrayLike, n_samples: int, n_trees: int) -> FloatArray:
    """Check weights per example, or per example and tree; give them with shape (n_trees, n_samples)."""
    numbers = np.asarray(weights, dtype=np.float64)
    if numbers.shape not in ((n_samples,), (n_samples, n_trees)):
        raise ValueError(
            f"error_data: expected weights of shape ({n_samples},) or ({n_samples}, {n_trees}), got {numbers.shape}"
        )
    _require_some_weight(numbers)
    return np.broadcast_to(numbers if numbers.ndim == 1 else numbers.T, (n_trees, n_samples))


def _require_some_weight(weights: FloatArray) -> None:
    if not np.all(np.isfinite(weights) & (weights >= 0)) or not weights.any():
        raise ValueError("error_data: expected finite weights >= 0, some > 0, got other values")


def _nonnegative(losses: FloatArray) -> FloatArray:
    """Clear the rounding errors of losses that cannot be negative."""
    return np.maximum(losses, 0.0)


def _step(losses: FloatArray, total: float, n_examples: int, resolution: object | None) -> Fraction:
    """Choose the rounding step of the losses."""
    if resolution is not None:
        step = as_fraction(resolution, "resolution")
        if step <= 0:
            raise ValueError(f"resolution: expected a number > 0, got {resolution!r}")
        return step
    if not np.isfinite(losses).all():
        raise ValueError("loss: expected finite losses at all nodes, got an infinite one")
    if total == 0 or (total < MAX_COUNT and np.all(losses == np.rint(losses))):
        return Fraction(1)
    return Fraction(2) ** max(ceil(log2(total / n_examples)) - EXAMPLE_BITS, ceil(log2(total)) - TOTAL_BITS)


def _as_integers(losses: FloatArray, step: Fraction, total_weight: float, n_trees: int) -> NodeErrors:
    scaled = losses / float(step)
    if not scaled.max() * n_trees < INT64_SAFE:
        raise ValueError(
            f"resolution: expected a step that keeps losses below 2^62 units, got {step}; take a larger one"
        )
    return NodeErrors(np.rint(scaled).astype(np.int64), step / Fraction(total_weight), step)
