"""Losses of one score against one target, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ipforest._internal.arrays import Array


class SmoothLoss(NamedTuple):
    """The loss of each score, and its derivative by the score: functions of scores and targets, elementwise."""

    value: Callable[[Array, Array], Array]
    derivative: Callable[[Array, Array], Array]


def _half_square(score: Array, target: Array) -> Array:
    return np.asarray(0.5 * (score - target) ** 2)


def _difference(score: Array, target: Array) -> Array:
    return np.asarray(score - target)


def _log_loss(score: Array, target: Array) -> Array:
    margin = target * score
    return np.asarray(np.log1p(np.exp(-np.abs(margin))) - np.minimum(margin, 0.0))


def _log_loss_slope(score: Array, target: Array) -> Array:
    return np.asarray(-target * expit(-target * score))


SQUARED = SmoothLoss(_half_square, _difference)
"""Half the squared difference."""

LOGISTIC = SmoothLoss(_log_loss, _log_loss_slope)
"""Minus the log-likelihood of a label -1 or 1, its log-odds being the score."""

LOSSES = {"squared": SQUARED, "logistic": LOGISTIC}
