"""Losses of margins, by the link that they belong to: values, gradients and Hessians, one row per example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp, softmax

from ipforest._arrays import FloatArray

__all__ = ["MARGIN_LOSSES", "MarginLoss", "encode_targets"]

Derivative = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class MarginLoss:
    """A loss that is smooth and convex in the margins.

    Parameters
    ----------
    value : callable (margins, targets) -> ndarray, shape (n_samples,)
        Loss of each example, >= 0 or bounded below; margins and targets have shape (n_samples, n_outputs).
    gradient, hessian : callable (margins, targets) -> ndarray, shape (n_samples, n_outputs)
        First and second derivatives, one output at a time.
    """

    value: Derivative
    gradient: Derivative
    hessian: Derivative


def _softmax_hessian(margins: FloatArray, targets: FloatArray) -> FloatArray:
    p = softmax(margins, axis=1)
    return np.asarray(p * (1 - p))


MARGIN_LOSSES: dict[str, MarginLoss] = {
    "identity": MarginLoss(
        value=lambda margins, targets: np.square(margins - targets).sum(axis=1) / 2,
        gradient=lambda margins, targets: margins - targets,
        hessian=lambda margins, targets: np.ones_like(margins),
    ),
    "log": MarginLoss(
        value=lambda margins, targets: (np.exp(margins) - targets * margins).sum(axis=1),
        gradient=lambda margins, targets: np.exp(margins) - targets,
        hessian=lambda margins, targets: np.exp(margins),
    ),
    "logit": MarginLoss(
        value=lambda margins, targets: (np.logaddexp(0, margins) - targets * margins).sum(axis=1),
        gradient=lambda margins, targets: expit(margins) - targets,
        hessian=lambda margins, targets: expit(margins) * expit(-margins),
    ),
    "half logit": MarginLoss(
        value=lambda margins, targets: (np.logaddexp(0, 2 * margins) - 2 * targets * margins).sum(axis=1),
        gradient=lambda margins, targets: 2 * (expit(2 * margins) - targets),
        hessian=lambda margins, targets: 4 * expit(2 * margins) * expit(-2 * margins),
    ),
    "multinomial logit": MarginLoss(
        value=lambda margins, targets: logsumexp(margins, axis=1) - (targets * margins).sum(axis=1),
        gradient=lambda margins, targets: softmax(margins, axis=1) - targets,
        hessian=_softmax_hessian,
    ),
}
"""Half the squared error, the Poisson loss without its constant, and the log loss."""


def encode_targets(y: npt.ArrayLike, classes: npt.NDArray[Any] | None) -> FloatArray:
    """Return targets as the losses take them, shape (n_samples, n_outputs).

    Two classes become 0 and 1 in one column, more classes a column each.

    Raises
    ------
    ValueError
        A label that is no class, or targets that are no finite numbers.
    """
    targets = np.asarray(y)
    if targets.ndim != 1:
        raise ValueError(f"y: expected one target per example, got shape {targets.shape}")
    if classes is None:
        if not np.issubdtype(targets.dtype, np.number) or not np.isfinite(targets).all():
            raise ValueError("y: expected finite numbers as targets, got others")
        return np.asarray(targets, dtype=np.float64)[:, None]
    unknown = targets[~np.isin(targets, classes)]
    if unknown.size:
        raise ValueError(f"y: expected classes among {classes.tolist()}, got {unknown.tolist()[0]!r}")
    indicators: FloatArray = np.equal(targets[:, None], classes).astype(np.float64)
    return indicators[:, 1:] if len(classes) == 2 else indicators
