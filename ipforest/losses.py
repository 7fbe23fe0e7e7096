"""Additive node losses: what it costs, in errors, to stop at a node."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ipforest.rational import INT64_SAFE, as_fraction

if TYPE_CHECKING:
    from ipforest.forest import Forest

ErrorData: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]
FloatArray: TypeAlias = npt.NDArray[np.float64]

CLASSIFICATION_LOSSES = ("misclassification", "gini", "entropy")
REGRESSION_LOSSES = ("squared_error",)

RESOLUTION_BITS = 16


@dataclass(frozen=True, slots=True, eq=False)
class NodeErrors:
    """Integer losses of the nodes and what one unit is worth.

    Parameters
    ----------
    errors : ndarray of int64, shape (n_nodes,)
        e_h in units of ``resolution``.
    unit : Fraction
        Loss of a forest = ``unit * sum of errors over its leaves``: resolution / (N_e T).
    resolution : Fraction
        1 for counts; the rounding step of a real-valued loss.
    """

    errors: npt.NDArray[np.int64]
    unit: Fraction
    resolution: Fraction


def node_errors(forest: Forest, loss: str, error_data: ErrorData | None, resolution: object | None) -> NodeErrors:
    """Compute e_h of every node.

    Parameters
    ----------
    forest : Forest
    loss : str
        "misclassification", "gini", "entropy" (bits) or "squared_error".
    error_data : tuple (X, y), optional
        Examples to count errors on; without them the in-bag examples of each tree. On other data a node predicts what
        it learnt: gini becomes the Brier score of its in-bag distribution, entropy its log loss with probabilities
        below 1 / (2 in-bag weight) raised to that.
    resolution : number, optional
        Rounding step of a real-valued loss; by default 2^-16 of the mean loss at the roots, as a power of two.

    Raises
    ------
    ValueError
        Unknown loss, a loss for the other task, labels the forest does not know, or losses too large for int64.
    """
    expected = CLASSIFICATION_LOSSES if forest.is_classifier else REGRESSION_LOSSES
    if loss not in expected:
        task = "classification" if forest.is_classifier else "regression"
        raise ValueError(f"loss: expected {' or '.join(map(repr, expected))} for {task}, got {loss!r}")
    if error_data is None:
        losses, weights = _in_bag(forest, loss), forest.weight[forest.tree_offsets[:-1]]
        total_weight = float(weights.sum())
    else:
        X, y = _checked_error_data(forest, error_data)
        losses = _held_out(forest, loss, X, y)
        total_weight = float(y.shape[0]) * forest.n_trees
    return _as_integers(losses, total_weight, forest, resolution)


def _in_bag(forest: Forest, loss: str) -> FloatArray:
    if loss == "squared_error":
        if forest.criterion not in ("squared_error", "friedman_mse"):
            raise ValueError(
                "error_data: expected (X, y), since a forest trained with criterion "
                f"{forest.criterion!r} does not store its squared errors, got None"
            )
        return forest.impurity * forest.weight
    counts = _tidy(forest.value * forest.weight[:, None])
    totals: FloatArray = counts.sum(axis=1)
    if loss == "misclassification":
        return _nonnegative(totals - counts.max(axis=1))
    if loss == "gini":
        return _nonnegative(totals - (counts * counts).sum(axis=1) / totals)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(counts > 0, counts * np.log2(totals[:, None] / counts), 0.0)
    return _nonnegative(bits.sum(axis=1))


def _held_out(forest: Forest, loss: str, X: npt.ArrayLike, y: npt.NDArray[Any]) -> FloatArray:
    if loss == "squared_error":
        target = y.astype(np.float64)
        n, total, squares = forest.reach_sums(X, np.column_stack([np.ones_like(target), target, target**2])).T
        prediction = forest.value[:, 0]
        return _nonnegative(squares - 2 * prediction * total + n * prediction**2)
    assert forest.classes is not None
    encoded = np.searchsorted(forest.classes, y)
    counts = forest.reach_counts(X, encoded, len(forest.classes)).astype(np.float64)
    totals: FloatArray = counts.sum(axis=1)
    if loss == "misclassification":
        predicted = np.argmax(forest.value, axis=1)
        return _nonnegative(totals - counts[np.arange(forest.n_nodes), predicted])
    if loss == "gini":
        norms = (forest.value**2).sum(axis=1)
        return _nonnegative(totals * (1 + norms) - 2 * (counts * forest.value).sum(axis=1))
    floor = 0.5 / np.maximum(forest.weight, 1.0)
    return _nonnegative(-(counts * np.log2(np.maximum(forest.value, floor[:, None]))).sum(axis=1))


def _checked_error_data(forest: Forest, error_data: ErrorData) -> tuple[npt.ArrayLike, npt.NDArray[Any]]:
    if not isinstance(error_data, tuple) or len(error_data) != 2:
        raise ValueError(f"error_data: expected a pair (X, y), got {type(error_data).__name__}")
    X = forest.checked_examples(error_data[0], "error_data X")
    y = np.asarray(error_data[1])
    if y.shape != (X.shape[0],):
        raise ValueError(f"error_data: expected one target an example, shape ({X.shape[0]},), got {y.shape}")
    if forest.classes is not None:
        unknown = y[~np.isin(y, forest.classes)]
        if unknown.size:
            raise ValueError(
                f"error_data: expected classes among {forest.classes.tolist()}, got {unknown.tolist()[0]!r}"
            )
    elif not np.issubdtype(y.dtype, np.number) or not np.isfinite(y).all():
        raise ValueError("error_data: expected finite numbers as targets, got others")
    return X, y


def _nonnegative(losses: FloatArray) -> FloatArray:
    """Clear the rounding errors of losses that cannot be negative."""
    return np.maximum(losses, 0.0)


def _tidy(values: FloatArray) -> FloatArray:
    """Restore integers that scikit-learn stores as fraction times weight."""
    rounded = np.rint(values)
    return rounded if np.allclose(values, rounded, rtol=1e-9, atol=1e-6) else values


def _as_integers(losses: FloatArray, total_weight: float, forest: Forest, resolution: object | None) -> NodeErrors:
    rounded = _tidy(losses)
    is_counts = bool(np.all(rounded == np.rint(rounded))) and total_weight == round(total_weight)
    if resolution is not None:
        step = as_fraction(resolution, "resolution")
        if step <= 0:
            raise ValueError(f"resolution: expected a number > 0, got {resolution!r}")
    elif is_counts:
        step = Fraction(1)
    else:
        step = _default_resolution(losses[forest.tree_offsets[:-1]].sum() / total_weight)
    if step == 1 and is_counts:
        return NodeErrors(rounded.astype(np.int64), 1 / Fraction(round(total_weight)), step)
    scaled = losses / float(step)
    if not scaled.max(initial=0.0) * forest.n_trees < INT64_SAFE:
        raise ValueError(f"resolution: expected a step that keeps losses below 2^62 units, got {step}")
    unit = step / Fraction(total_weight)
    return NodeErrors(np.rint(scaled).astype(np.int64), unit, step)


def _default_resolution(mean_loss: float) -> Fraction:
    if not np.isfinite(mean_loss):
        raise ValueError(f"loss: expected finite node losses, got {mean_loss!r}")
    exponent = int(np.floor(np.log2(mean_loss))) if mean_loss > 0 else 0
    return Fraction(2) ** (exponent - RESOLUTION_BITS)
