"""Losses of one score against one target, with their derivatives."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import expit

from ipforest._internal.arrays import Array


class SmoothLoss(Protocol):
    """Loss of scores, elementwise."""

    def value(self, score: Array, target: Array) -> Array:
        """Compute the loss of each score."""

    def derivative(self, score: Array, target: Array) -> Array:
        """Compute the derivative by the score."""


class SquaredLoss:
    """Half the squared difference."""

    def value(self, score: Array, target: Array) -> Array:
        """Compute the loss of each score."""
        return np.asarray(0.5 * (score - target) ** 2)

    def derivative(self, score: Array, target: Array) -> Array:
        """Compute the derivative by the score."""
        return np.asarray(score - target)


class LogisticLoss:
    """Minus the log-likelihood of a label -1 or 1, its log-odds being the score."""

    def value(self, score: Array, target: Array) -> Array:
        """Compute the loss of each score."""
        margin = target * score
        return np.asarray(np.log1p(np.exp(-np.abs(margin))) - np.minimum(margin, 0.0))

    def derivative(self, score: Array, target: Array) -> Array:
        """Compute the derivative by the score."""
        return np.asarray(-target * expit(-target * score))


LOSSES: dict[str, SmoothLoss] = {"squared": SquaredLoss(), "logistic": LogisticLoss()}
