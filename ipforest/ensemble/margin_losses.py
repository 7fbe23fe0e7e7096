"""Losses of margins, by the link that they belong to: values, gradients and Hessians, one row per example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from ipforest._internal.arrays import Array, FloatArray, in_rows
from ipforest._internal.kernels import inner_njit, njit

__all__ = ["MARGIN_LOSSES", "Course", "MarginLoss", "checked_targets", "checked_weights", "encode_targets"]

Values = Callable[[FloatArray, FloatArray], FloatArray]

ALL = slice(None)


class Derivatives(Protocol):
    """First and second derivatives of a loss by some of the outputs, by default all."""

    def __call__(
        self, margins: FloatArray, targets: FloatArray, outputs: slice = ALL, /
    ) -> tuple[FloatArray, FloatArray]:
        """Compute them, each of shape (n_samples, n_of_these_outputs)."""


@dataclass(frozen=True, slots=True)
class MarginLoss:
    """A loss that is smooth and convex in the margins.

    Parameters
    ----------
    value : callable (margins, targets) -> ndarray, shape (n_samples,)
        Loss of each example, >= 0 or bounded below; margins and targets have shape (n_samples, n_outputs).
    derivatives : Derivatives
    course : callable (loss, margins, targets) -> Course, optional
    """

    value: Values
    derivatives: Derivatives
    course: Callable[[MarginLoss, FloatArray, FloatArray], Course] | None = None

    def course_from(self, margins: FloatArray, targets: FloatArray) -> Course:
        """Begin where margins stand before trees are added to them one after another."""
        return (self.course or Course)(self, margins, targets)


class Course:
    """Margins to which trees are added, one after another, and the derivatives of their loss.

    Parameters
    ----------
    loss : MarginLoss
    margins : ndarray of float64, shape (n_samples, n_outputs)
        Changed as trees are added.
    targets : ndarray of float64, shape (n_samples, n_outputs)
    """

    def __init__(self, loss: MarginLoss, margins: FloatArray, targets: FloatArray) -> None:
        self._loss, self.margins, self.targets = loss, margins, targets

    def derivatives(self, outputs: slice) -> tuple[FloatArray, FloatArray]:
        """Compute those by some outputs, shape (n_samples, n_of_these_outputs)."""
        return self._loss.derivatives(self.margins, self.targets, outputs)

    def add(self, amounts: FloatArray, outputs: slice) -> None:
        """Add what a tree says, shape (n_samples, n_of_these_outputs)."""
        self.margins[:, outputs] += amounts


def _square_derivatives(
    margins: FloatArray, targets: FloatArray, outputs: slice = ALL, /
) -> tuple[FloatArray, FloatArray]:
    distance = margins[:, outputs] - targets[:, outputs]
    return distance, np.ones_like(distance)


def _log_derivatives(
    margins: FloatArray, targets: FloatArray, outputs: slice = ALL, /
) -> tuple[FloatArray, FloatArray]:
    mean = np.exp(margins[:, outputs])
    return mean - targets[:, outputs], mean


def _logit_derivatives(
    margins: FloatArray, targets: FloatArray, outputs: slice = ALL, /
) -> tuple[FloatArray, FloatArray]:
    p = expit(margins[:, outputs])
    return p - targets[:, outputs], p * (1 - p)


def _half_logit_derivatives(
    margins: FloatArray, targets: FloatArray, outputs: slice = ALL, /
) -> tuple[FloatArray, FloatArray]:
    gradient, hessian = _logit_derivatives(2 * margins, targets, outputs)
    return 2 * gradient, 4 * hessian


def _softmax_derivatives(
    margins: FloatArray, targets: FloatArray, outputs: slice = ALL, /
) -> tuple[FloatArray, FloatArray]:
    first, past, _ = outputs.indices(margins.shape[1])
    return _derivatives_at(np.ascontiguousarray(margins), in_rows(targets), first, past)


LEAST_TOTAL, MOST_TOTAL = 1e-100, 1e100
"""Exponentials of an example are taken anew, from its largest margin, where their sum is not within these bounds."""


BLOCK = 32
"""Classes whose exponentials are summed up together: after a tree of one class, only its block is summed up anew."""


def n_blocks(n_classes: int) -> int:
    """Count the blocks of so many classes, the last of which may be smaller."""
    return -(-n_classes // BLOCK)


class _SoftmaxCourse(Course):
    """Keeps the exponential of each margin, so that a tree takes one per example and output that it adds to.

    Their sums by blocks of classes are kept, too: one sum over all classes for each tree of one class would take time
    quadratic in the number of classes. Up to `BLOCK` classes have the same sums, to the bit, as without blocks.

    What a tree of one class reads lies together in memory: margins and targets column by column, exponentials block by
    block, shape (n_blocks, n_samples, classes of a block), with zeros after the last class.
    """

    def __init__(self, loss: MarginLoss, margins: FloatArray, targets: FloatArray) -> None:
        super().__init__(loss, np.asfortranarray(margins), np.asfortranarray(targets))
        n_samples, n_classes = margins.shape
        self._reference = margins.max(axis=1)
        width = min(n_classes, BLOCK)
        exponentials = np.zeros((n_samples, n_blocks(n_classes) * width))
        exponentials[:, :n_classes] = np.exp(margins - self._reference[:, None])
        self._exponentials = np.ascontiguousarray(exponentials.reshape(n_samples, -1, width).swapaxes(0, 1))
        self._sums = np.empty((n_samples, n_blocks(n_classes)))
        _sum_up(self._exponentials, self._sums, 0, n_classes)

    def derivatives(self, outputs: slice) -> tuple[FloatArray, FloatArray]:
        first, past, _ = outputs.indices(self.margins.shape[1])
        kept = self._exponentials, self._sums, self._reference
        return _derivatives_so_far(self.margins.T, in_rows(self.targets.T), first, past, *kept)

    def add(self, amounts: FloatArray, outputs: slice) -> None:
        first, past, _ = outputs.indices(self.margins.shape[1])
        _move_on(self.margins.T, in_rows(amounts), first, past, self._exponentials, self._reference)
        _sum_up(self._exponentials, self._sums, first, past)


@njit
def _sum_up(exponentials: FloatArray, sums: FloatArray, first: int, past: int) -> None:
    """Sum up the blocks that some of the classes are in."""
    for block in range(first // BLOCK, (past - 1) // BLOCK + 1):
        for i in range(sums.shape[0]):
            sums[i, block] = _total(exponentials[block, i])


@inner_njit
def _total(terms: FloatArray) -> float:
    total = 0.0
    for term in terms:
        total += term
    return total


@njit
def _derivatives_so_far(
    margins: FloatArray,
    targets: FloatArray,
    first: int,
    past: int,
    exponentials: FloatArray,
    sums: FloatArray,
    reference: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Compute derivatives from exponentials of margins less an example's reference, taken anew where they are 0.

    Margins and targets have shape (n_classes, n_samples).
    """
    n_classes, n = margins.shape
    gradient, hessian = np.empty((n, past - first)), np.empty((n, past - first))
    for i in range(n):
        total = _total(sums[i])
        if not LEAST_TOTAL < total < MOST_TOTAL:
            reference[i] = margins[:, i].max()
            for k in range(n_classes):
                exponentials[k // BLOCK, i, k % BLOCK] = exp(margins[k, i] - reference[i])
            _sum_up(exponentials[:, i : i + 1], sums[i : i + 1], 0, n_classes)
            total = _total(sums[i])
        for k in range(first, past):
            p = exponentials[k // BLOCK, i, k % BLOCK] / total
            gradient[i, k - first], hessian[i, k - first] = p - targets[k, i], p * (1.0 - p)
    return gradient, hessian


@njit
def _move_on(
    margins: FloatArray, amounts: FloatArray, first: int, past: int, exponentials: FloatArray, reference: FloatArray
) -> None:
    """Add to some margins (n_classes, n_samples), and take their exponentials."""
    for k in range(first, past):
        for i in range(reference.size):
            margins[k, i] += amounts[i, k - first]
            exponentials[k // BLOCK, i, k % BLOCK] = exp(margins[k, i] - reference[i])


@njit
def _derivatives_at(margins: FloatArray, targets: FloatArray, first: int, past: int) -> tuple[FloatArray, FloatArray]:
    """Compute derivatives at margins (n_samples, n_classes), with sums by blocks as in a course."""
    n, n_classes = margins.shape
    gradient, hessian = np.empty((n, past - first)), np.empty((n, past - first))
    exponentials = np.empty(n_classes)
    for i in range(n):
        largest = margins[i].max()
        for k in range(n_classes):
            exponentials[k] = exp(margins[i, k] - largest)
        total = 0.0
        for start in range(0, n_classes, BLOCK):
            total += _total(exponentials[start : start + BLOCK])
        for k in range(first, past):
            p = exponentials[k] / total
            gradient[i, k - first], hessian[i, k - first] = p - targets[i, k], p * (1.0 - p)
    return gradient, hessian


MARGIN_LOSSES: dict[str, MarginLoss] = {
    "identity": MarginLoss(
        value=lambda margins, targets: np.square(margins - targets).sum(axis=1) / 2, derivatives=_square_derivatives
    ),
    "log": MarginLoss(
        value=lambda margins, targets: (np.exp(margins) - targets * margins).sum(axis=1), derivatives=_log_derivatives
    ),
    "logit": MarginLoss(
        value=lambda margins, targets: (np.logaddexp(0, margins) - targets * margins).sum(axis=1),
        derivatives=_logit_derivatives,
    ),
    "half logit": MarginLoss(
        value=lambda margins, targets: (np.logaddexp(0, 2 * margins) - 2 * targets * margins).sum(axis=1),
        derivatives=_half_logit_derivatives,
    ),
    "multinomial logit": MarginLoss(
        value=lambda margins, targets: logsumexp(margins, axis=1) - (targets * margins).sum(axis=1),
        derivatives=_softmax_derivatives,
        course=_SoftmaxCourse,
    ),
}
"""Half the squared error, the Poisson loss without its constant, and the log loss."""


def encode_targets(y: npt.ArrayLike, classes: Array | None, n_samples: int | None = None) -> FloatArray:
    """Return targets as the losses take them, shape (n_samples, n_outputs); see `checked_targets`.

    Two classes become 0 and 1 in one column, more classes a column each.
    """
    targets = checked_targets(y, classes, n_samples)
    if classes is None:
        return np.asarray(targets, dtype=np.float64)[:, None]
    indicators: FloatArray = np.equal(targets[:, None], classes).astype(np.float64)
    return indicators[:, 1:] if len(classes) == 2 else indicators


def checked_targets(y: npt.ArrayLike, classes: Array | None, n_samples: int | None = None, name: str = "y") -> Array:
    """Return labels or targets as an array, shape (n_samples,).

    Parameters
    ----------
    y : array
    classes : ndarray or None
        None for regression.
    n_samples : int, optional
        How many there have to be; by default any number.
    name : str
        What they are, for the error message.

    Raises
    ------
    ValueError
        A label that is no class, targets that are no finite numbers, or more or fewer than examples.
    """
    targets = np.asarray(y)
    if targets.ndim != 1 or n_samples not in (None, targets.size):
        wanted = "" if n_samples is None else f", shape ({n_samples},)"
        raise ValueError(f"{name}: expected one target per example{wanted}, got {targets.shape}")
    if classes is None:
        if not np.issubdtype(targets.dtype, np.number) or not np.isfinite(targets).all():
            raise ValueError(f"{name}: expected finite numbers as targets, got other values")
        return targets
    unknown = targets[~np.isin(targets, classes)]
    if unknown.size:
        raise ValueError(f"{name}: expected classes among {classes.tolist()}, got {unknown.tolist()[0]!r}")
    return targets


def checked_weights(sample_weight: npt.ArrayLike | None, n_samples: int) -> FloatArray:
    """Return the weights of examples, finite and not negative, 1 each by default, shape (n_samples,)."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight: expected one per example, shape ({n_samples},), got {weights.shape}")
    wrong = weights[~((weights >= 0) & (weights < np.inf))]
    if wrong.size:
        raise ValueError(f"sample_weight: expected finite numbers >= 0, got {wrong[0]:g}")
    return weights
